import { describe, expect, test } from "bun:test";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { startEverything } from "../helpers/everything-server.ts";
import { connectModern, connectOlder, toolRun } from "../helpers/relay-rig.ts";
import { createJournal, createRig, define, remote, SERVERS, scripted, until } from "../upstream/harness.ts";

const FORM = { type: "object" as const, properties: { name: { type: "string" as const } } };
const ELICIT = { method: "elicitation/create", params: { message: "Who?", requestedSchema: FORM } };
const SAMPLE = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "2+2?" } }], maxTokens: 9 },
};
const ROOTS = { method: "roots/list" };
const ANSWERS = {
  "elicitation/create": { action: "accept" as const, content: { name: "Ann" } },
  "sampling/createMessage": {
    role: "assistant" as const,
    model: "m",
    content: { type: "text" as const, text: "4" },
  },
  "roots/list": { roots: [{ uri: "file:///w", name: "w" }] },
};
const ALL = { elicitation: {}, sampling: {}, roots: { listChanged: true } };
const tools = {
  elicit: { asks: ELICIT },
  sample: { asks: SAMPLE },
  roots: { asks: ROOTS },
  ping: { asks: { method: "ping" } },
};
const modern = define("fx", { args: [`${SERVERS}/modern-server.ts`] });

type Seen = { method: string; params?: { message?: string } | undefined }[];

function answerAll(seen: Seen = []) {
  const take = <T>(request: { method: string; params?: object | undefined }, answer: T): T => {
    seen.push(request as Seen[number]);
    return answer;
  };
  return {
    older: (client: Awaited<ReturnType<typeof connectOlder>>) => {
      client.setRequestHandler(ElicitRequestSchema, (request) =>
        take(request, ANSWERS["elicitation/create"]),
      );
      client.setRequestHandler(CreateMessageRequestSchema, (request) =>
        take(request, ANSWERS["sampling/createMessage"]),
      );
      client.setRequestHandler(ListRootsRequestSchema, (request) => take(request, ANSWERS["roots/list"]));
    },
    modern: (client: Awaited<ReturnType<typeof connectModern>>) => {
      client.setRequestHandler("elicitation/create", (request) =>
        take(request, ANSWERS["elicitation/create"]),
      );
      client.setRequestHandler("sampling/createMessage", (request) =>
        take(request, ANSWERS["sampling/createMessage"]),
      );
      client.setRequestHandler("roots/list", (request) => take(request, ANSWERS["roots/list"]));
    },
  };
}

const ERAS = ["older", "modern"] as const;
type Caller = { callTool(params: ReturnType<typeof toolRun>): Promise<unknown>; close(): Promise<void> };

async function connect(
  era: (typeof ERAS)[number],
  rig: ReturnType<typeof createRig>,
  seen: Seen,
): Promise<Caller> {
  if (era === "older") return connectOlder(rig, ALL, answerAll(seen).older);
  return connectModern(rig, ALL, answerAll(seen).modern);
}

/** What the tool gave, as `run_python` shows it. */
function shownBy(reply: unknown): unknown {
  const { content } = reply as { content: { text: string }[] };
  const text = content[0]?.text ?? "";
  const line = text.split("\n").find((each) => each.startsWith("{"));
  return line === undefined ? text : JSON.parse(line);
}

describe.each(ERAS)("a client of the %s kind", (era) => {
  test.each([
    ["elicit", "elicitation/create"],
    ["sample", "sampling/createMessage"],
    ["roots", "roots/list"],
  ] as const)("answers %s for a server", async (tool, method) => {
    await using rig = createRig([scripted("fx", { tools })]);
    const seen: Seen = [];
    const client = await connect(era, rig, seen);

    const reply = await client.callTool(toolRun("fx", tool));

    expect(shownBy(reply)).toMatchObject({ structuredContent: { result: ANSWERS[method] } });
    expect(seen.map((request) => request.method)).toEqual([method]);
    if (tool === "elicit") expect(seen[0]?.params?.message).toBe("[fx] Who?");
    await client.close();
  });

  test("answers a server of the newest revision", async () => {
    await using rig = createRig([modern]);
    const seen: Seen = [];
    const client = await connect(era, rig, seen);

    const reply = await client.callTool(toolRun("fx", "ask"));

    expect(shownBy(reply)).toMatchObject({
      content: [{ text: JSON.stringify(ANSWERS["elicitation/create"]) }],
    });
    expect(seen[0]?.params?.message).toBe("[fx] Who are you?");
    await client.close();
  });
});

describe("what a client cannot do", () => {
  test("UPS-15: is not declared to servers, and refused", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { tools, journal: journal.path })]);
    const client = await connectOlder(rig, { sampling: {} }, (each) =>
      each.setRequestHandler(CreateMessageRequestSchema, () => ANSWERS["sampling/createMessage"]),
    );

    for (const tool of ["elicit", "roots"]) {
      const reply = await client.callTool(toolRun("fx", tool));
      expect(shownBy(reply)).toMatchObject({ structuredContent: { error: { code: -32601 } } });
    }
    const initialize = journal.lines().find((line) => line.includes('"initialize"')) ?? "{}";
    expect(JSON.parse(initialize).params.capabilities).toEqual({ sampling: {} });
    await client.close();
  });

  test.each([
    [
      "a URL",
      {
        method: "elicitation/create",
        params: { mode: "url", url: "https://x", elicitationId: "1", message: "?" },
      },
    ],
    ["tools", { ...SAMPLE, params: { ...SAMPLE.params, tools: [] } }],
  ])("is refused in its parts: %s", async (_what, asks) => {
    await using rig = createRig([scripted("fx", { tools: { ask: { asks } } })]);
    const seen: Seen = [];
    const client = await connectOlder(rig, ALL, answerAll(seen).older);

    const reply = await client.callTool(toolRun("fx", "ask"));

    expect(shownBy(reply)).toMatchObject({ structuredContent: { error: {} } });
    expect(seen).toEqual([]);
    await client.close();
  });

  test("or does not want, it says to the server itself", async () => {
    await using rig = createRig([scripted("fx", { tools })]);
    const client = await connectOlder(rig, { elicitation: {} }, (each) =>
      each.setRequestHandler(ElicitRequestSchema, () => {
        throw Object.assign(new Error("not today"), { code: -32042 });
      }),
    );

    const reply = await client.callTool(toolRun("fx", "elicit"));

    const { error } = (shownBy(reply) as { structuredContent: { error: { code: number; message: string } } })
      .structuredContent;
    expect([error.code, error.message]).toEqual([-32042, expect.stringContaining("not today")]);
    await client.close();
  });
});

test("a question ends with the run that it is part of", async () => {
  await using rig = createRig([scripted("fx", { tools })]);
  const asked = Promise.withResolvers<AbortSignal>();
  const client = await connectOlder(rig, { elicitation: {} }, (each) =>
    each.setRequestHandler(ElicitRequestSchema, (_request, { signal }) => {
      asked.resolve(signal);
      return new Promise(() => undefined);
    }),
  );
  const stop = new AbortController();
  const call = client
    .callTool(toolRun("fx", "elicit"), undefined, { signal: stop.signal })
    .catch(() => "cancelled");
  const question = await asked.promise;

  stop.abort();

  expect(await call).toBe("cancelled");
  await until(() => question.aborted);
  await client.close();
});

describe("a server that two sessions share", () => {
  test("asks the client whose call is under way, and none where that is not clear", async () => {
    const slow = { ...tools, wait: { delayMs: 600 } };
    await using rig = createRig([scripted("fx", { tools: slow })]);
    const seen: [Seen, Seen] = [[], []];
    const one = await connectOlder(rig, ALL, answerAll(seen[0]).older);
    const other = await connectOlder(rig, ALL, answerAll(seen[1]).older);

    await one.callTool(toolRun("fx", "elicit"));
    await other.callTool(toolRun("fx", "elicit"));
    expect(seen.map((each) => each.length)).toEqual([1, 1]);

    const waiting = one.callTool(toolRun("fx", "wait"));
    await Bun.sleep(0);
    const reply = await other.callTool(toolRun("fx", "elicit"));
    await waiting;

    expect(shownBy(reply)).toMatchObject({
      structuredContent: {
        error: { code: -32601, message: expect.stringContaining("not clear which client") },
      },
    });
    expect(seen.map((each) => each.length)).toEqual([1, 1]);
    await Promise.all([one.close(), other.close()]);
  });
});

test("a server may ask for roots as soon as it is ready", async () => {
  using journal = createJournal();
  await using rig = createRig([
    scripted("fx", { tools: { a: {} }, asksAtStart: ROOTS, journal: journal.path }),
  ]);
  const client = await connectOlder(rig, ALL, answerAll().older);

  await client.callTool(toolRun("fx", "a"));

  await until(() => journal.lines().some((line) => line.includes("file:///w")));
  await client.close();
});

test("a server hears that roots changed, and gets the new ones", async () => {
  using journal = createJournal();
  await using rig = createRig([scripted("fx", { tools, journal: journal.path })]);
  let uri = "file:///old";
  const client = await connectOlder(rig, ALL, (each) =>
    each.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri }] })),
  );
  await client.callTool(toolRun("fx", "roots"));
  uri = "file:///new";

  for (let times = 0; times < 50; times++) await client.sendRootsListChanged();

  await until(() => journal.lines().some((line) => line.includes("notifications/roots/list_changed")));
  expect(JSON.stringify(await client.callTool(toolRun("fx", "roots")))).toContain("file:///new");
  expect(journal.lines().filter((line) => line.includes("roots/list_changed")).length).toBeLessThan(3);
  await client.close();
});

test("pings are answered, in both directions", async () => {
  await using rig = createRig([scripted("fx", { tools })]);
  const client = await connectOlder(rig, {});

  expect(shownBy(await client.callTool(toolRun("fx", "ping")))).toMatchObject({
    structuredContent: { result: {} },
  });
  expect(await client.ping()).toEqual({});
  await client.close();
});

describe("in the newest revision", () => {
  test("a state that we did not give out resumes nothing", async () => {
    await using rig = createRig([scripted("fx", { tools })]);
    const client = await connectModern(rig, ALL, answerAll().modern);

    const reply = await client.callTool({ ...toolRun("fx", "elicit"), requestState: "forged" } as never);

    expect(JSON.stringify(reply)).toContain("The run that this answers is over");
    await client.close();
  });

  test("an answer that is missing is asked for again, and the program runs once", async () => {
    using journal = createJournal();
    await using rig = createRig([scripted("fx", { tools, journal: journal.path })]);
    const client = await connectModern(rig, ALL);
    const ask = (more: object) =>
      client.request(
        { method: "tools/call", params: { ...toolRun("fx", "elicit"), ...more } },
        { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as never,
        { allowInputRequired: true },
      ) as Promise<{ inputRequests: Record<string, object>; requestState: string }>;

    const first = await ask({});
    const second = await ask({ requestState: first.requestState, inputResponses: { other: {} } });
    expect(Object.keys(second.inputRequests)).toEqual(Object.keys(first.inputRequests));
    const [key = ""] = Object.keys(first.inputRequests);
    const last = await ask({
      requestState: second.requestState,
      inputResponses: { [key]: ANSWERS["elicitation/create"] },
    });

    expect(shownBy(last)).toMatchObject({ structuredContent: { result: ANSWERS["elicitation/create"] } });
    expect(journal.lines().filter((line) => line.includes("tools/call")).length).toBe(1);
    expect(JSON.stringify(await ask({ requestState: second.requestState }))).toContain("is over");
    await client.close();
  });
});

describe("a real server that is reached by URL", () => {
  test.each(["streamableHttp", "sse"] as const)(
    "asks and reports its progress as one over stdio does: %s",
    async (mode) => {
      await using server = await startEverything(mode);
      await using rig = createRig([remote("fx", server.url)]);
      const seen: Seen = [];
      const client = await connectOlder(rig, ALL, answerAll(seen).older);
      const heard: string[] = [];

      const reply = await client.callTool(toolRun("fx", "trigger-elicitation-request"));
      const run = {
        server: "fx",
        tool: "trigger-long-running-operation",
        arguments: { duration: 0.5, steps: 2 },
      };
      await client.callTool({ name: "run_python", arguments: { code: JSON.stringify(run) } }, undefined, {
        onprogress: ({ message = "" }) => void heard.push(message),
      });

      expect(JSON.stringify(reply)).toContain("Name: Ann");
      expect(seen.some(({ params }) => params?.message?.startsWith("[fx] Please provide"))).toBe(true);
      expect(heard.join("")).toContain("fx.trigger-long-running-operation: 1/2");
      await client.close();
    },
  );
});
