import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { WhileAsking } from "../../src/kernel/host-tools.ts";
import type { ClientPeer } from "../../src/upstream/client-peer.ts";
import { type Answer, asking, call, ERAS, FORMS, say, tools, withClient } from "../helpers/approval-rig.ts";
import { callsRun, connectModern } from "../helpers/relay-rig.ts";
import { createJournal, createRig, faultOf, soon, until } from "./harness.ts";

const refusal = (rest: string) =>
  `BridgeError: tool "del-all" of server "fx" was not called: by "del*" of --ask it needs the user's approval, ${rest}`;

describe.each(ERAS)("a tool that is to be asked for, with a client of the %s kind", (era) => {
  test("is called once the user allows it, and the next call is asked for anew", async () => {
    await withClient(
      era,
      () => say("once"),
      async (client, { forms, called }) => {
        expect(await client.run([call("del-all", { a: 1 }), call("get"), call("del-all", { a: 2 })])).toEqual(
          [{ a: 1 }, {}, { a: 2 }],
        );
        expect(forms).toHaveLength(2);
        expect(forms[0]).toEqual({
          message: [
            'Code in Sandpy wants to call the tool "del-all" of the server "fx".',
            "The server says of this tool: nothing.",
            "Arguments, as the code gives them:",
            '    {"a":1}',
            'You are asked because of "del*" of --ask. Names and arguments are not Sandpy\'s words.',
          ].join("\n\n"),
          requestedSchema: {
            type: "object",
            properties: {
              decision: {
                type: "string",
                title: "Decision",
                oneOf: [
                  { const: "once", title: "Allow this call" },
                  { const: "run", title: "Allow all calls of this tool until this run ends" },
                  { const: "session", title: "Allow all calls of this tool in this session" },
                  { const: "deny", title: "Deny" },
                ],
              },
            },
            required: ["decision"],
          },
        } as never);
        expect(called()).toHaveLength(3);
      },
    );
  });

  test.each([
    ["run", [1, 2]],
    ["session", [1, 1]],
  ] as const)("is not asked for again where the user allows it for the %s", async (choice, asked) => {
    await withClient(
      era,
      ({ message }) => say(message.includes("del-all") ? choice : "deny"),
      async (client, { forms }) => {
        const loop = [call("del-all"), call("del-all"), call("del-all")];
        expect(await client.run(loop)).toEqual([{}, {}, {}]);
        expect(forms).toHaveLength(asked[0]);
        expect(await client.run(loop)).toEqual([{}, {}, {}]);
        expect(forms).toHaveLength(asked[1]);
        expect(JSON.stringify(await client.run([call("wipe")]))).toContain("the user denied it"); // another tool
      },
    );
  });

  test.each<[string, Answer, string]>([
    ["denies", say("deny"), "and the user denied it"],
    ["declines the form", { action: "decline" }, "and the user denied it"],
    ["closes the form", { action: "cancel" }, "and the user closed the question"],
  ])("is not called where the user %s", async (_title, answer, what) => {
    await withClient(
      era,
      () => answer,
      async (client, { called }) => {
        expect(await client.run([call("del-all"), call("get")])).toEqual([refusal(what), {}]);
        expect(called()).toHaveLength(1); // get
      },
    );
  });

  test("is one question with a count where many calls come at once", async () => {
    await withClient(
      era,
      () => say("once"),
      async (client, { forms, called }) => {
        const all = Array.from({ length: 200 }, (_, n) => call("del-all", { n }));
        const [results] = await client.run([all]);

        expect(results).toEqual(all.map(({ arguments: args }) => args));
        expect(forms).toHaveLength(1);
        expect(forms[0]?.message).toContain('of the server "fx" 200 times.');
        expect(forms[0]?.message).toContain('\n    1. {"n":0}\n    2. {"n":1}\n');
        expect(forms[0]?.message).toContain("\n    … NOT ALL ARE SHOWN: 190 calls more\n");
        expect(JSON.stringify(forms[0]?.requestedSchema)).toContain("Allow these 200 calls");
        expect(called()).toHaveLength(200);
      },
    );
  });

  test("is asked for after the question about another, never beside it", async () => {
    let open = 0;
    let most = 0;
    await withClient(
      era,
      async () => {
        open += 1;
        most = Math.max(most, open);
        await Bun.sleep(20);
        open -= 1;
        return say("once");
      },
      async (client, { forms }) => {
        expect(await client.run([[call("del-all"), call("wipe"), call("get")]])).toEqual([[{}, {}, {}]]);
        expect([forms.length, most]).toEqual([2, 1]);
      },
    );
  });

  test.each<[string, Record<string, object>]>([
    ["does not support elicitation", {}],
    ["only opens addresses", { elicitation: { url: {} } }],
  ])("is refused at once where the client %s", async (_title, capabilities) => {
    await withClient(
      era,
      () => say("once"),
      async (client, { forms, called }) => {
        expect(await client.run([call("del-all"), call("get")])).toEqual([
          refusal("and this client cannot ask for it: it does not support elicitation"),
          {},
        ]);
        expect([forms.length, called().length]).toEqual([0, 1]);
      },
      { capabilities },
    );
  });

  test("is refused where the client fails to ask", async () => {
    await withClient(
      era,
      () => {
        throw Object.assign(new Error("no screen"), { code: -32000 });
      },
      async (client) => {
        const failed = client.run([call("del-all")]).then(JSON.stringify, String);
        expect(await failed).toContain("no screen");
      },
    );
  });

  test("is asked for only so often in one run", async () => {
    const most = era === "older" ? 20 : 8; // such a client gives up after ten rounds
    await withClient(
      era,
      () => say("once"),
      async (client, { forms }) => {
        const results = await client.run(Array.from({ length: most + 2 }, () => call("del-all")));

        expect(results.slice(0, most)).toEqual(Array(most).fill({}));
        expect(results.slice(most)).toEqual(
          Array(2).fill(refusal(`and this run has asked ${most} times already`)),
        );
        expect(forms).toHaveLength(most);
        expect(await client.run([call("del-all")])).toEqual([{}]); // the next run begins anew
      },
    );
  }, 30_000);

  test("NBR-11: is not asked for any more in a run whose user has denied three calls", async () => {
    const answers: Answer[] = [say("deny"), { action: "cancel" }, { action: "decline" }];
    await withClient(
      era,
      () => answers.shift() ?? say("once"),
      async (client, { forms, called }) => {
        const results = await client.run([
          ...Array.from({ length: 3 }, (_, n) => call("del-all", { n })),
          [call("del-all"), call("del-all", { n: 9 })],
          call("get"),
          call("wipe"),
        ]);

        expect(forms).toHaveLength(3);
        const more = "and the user has denied 3 calls of this run, so that no more are asked for";
        expect(results.slice(3, 5)).toEqual([[refusal(more), refusal(more)], {}]);
        expect(String(results[5])).toContain(more); // another tool is none that they would rather allow
        expect(called()).toEqual([{}]);
        expect(await client.run([call("del-all")])).toEqual([{}]); // the next run begins anew
      },
    );
  });

  test("is not called when it is forbidden while the user is asked", async () => {
    let forbid = async () => {};
    await withClient(
      era,
      async () => {
        await forbid();
        return say("once");
      },
      async (client, { called, rig }) => {
        forbid = async () => {
          const deny = [{ glob: "del*", rule: '"del*" of --deny-tool', where: "--deny-tool" }];
          const [server] = rig.discovery.servers;
          if (server?.tools.policy === undefined) throw new Error("no policy");
          const tools = { ...server.tools, policy: { ...server.tools.policy, deny } };
          rig.discovery = { servers: [{ ...server, tools }], problems: [] };
          await rig.upstream.refresh();
        };

        expect(JSON.stringify(await client.run([call("del-all")]))).toContain("may not be used");
        expect(called()).toEqual([]);
      },
    );
  });
});

describe("a question that nobody answers", () => {
  /** Never answers; tells of the first question by the signal that takes it back. */
  const neverAnswer = () => {
    const asked = Promise.withResolvers<AbortSignal | undefined>();
    const answer = (_form: unknown, signal?: AbortSignal) => {
      asked.resolve(signal);
      return new Promise<never>(() => undefined);
    };
    return { asked: asked.promise, answer };
  };

  test("is taken back when its time is over", async () => {
    const { asked, answer } = neverAnswer();
    await withClient(
      "older",
      answer,
      async (client, { called }) => {
        const results = client.run([call("del-all"), call("del-all")]);
        const signal = await asked;

        const late = refusal(
          "which did not come within the 0.2 s that a run has for that (MCP_BRIDGE_APPROVAL_TIMEOUT)",
        );
        expect(await results).toEqual([late, late]); // the run's time for questions is used up
        await until(() => signal?.aborted === true);
        expect(called()).toEqual([]);
      },
      { approvalMs: 200 },
    );
  });

  test("is taken back when the client cancels the run", async () => {
    const { asked, answer } = neverAnswer();
    await withClient("older", answer, async (client, { called }) => {
      const stop = new AbortController();
      const run = client.run([[call("del-all"), call("del-all")]], stop.signal).catch(() => "cancelled");
      const question = await asked;
      stop.abort();

      expect(await run).toBe("cancelled");
      await until(() => question?.aborted === true);
      expect(called()).toEqual([]);
    });
  });

  test("lets the run end where a client of the newest revision never calls again", async () => {
    using journal = createJournal();
    await using rig = createRig([asking({ tools, journal: journal.path })], { approvalMs: 200 });
    const client = await connectModern(rig, FORMS);
    const ask = (more: object) =>
      client.request(
        { method: "tools/call", params: { ...callsRun([call("del-all"), call("get")]), ...more } },
        { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) } } as never,
        { allowInputRequired: true },
      ) as Promise<{ inputRequests: Record<string, object>; requestState: string }>;

    const first = await ask({});
    expect(Object.values(first.inputRequests)).toMatchObject([{ method: "elicitation/create" }]);
    await until(() => journal.lines().some((line) => line.includes('"get"')));

    // Whoever comes late gets the result, and no call is made by it.
    const late = await ask({
      requestState: first.requestState,
      inputResponses: Object.fromEntries(Object.keys(first.inputRequests).map((id) => [id, say("once")])),
    });
    expect(JSON.stringify(late)).toContain("did not come within");
    expect(journal.lines().some((line) => line.includes('"del-all","arguments"'))).toBe(false);
    await client.close();
  });
});

test("UPS-15: a question of an earlier run is none of the next, whose client may be another", async () => {
  await using rig = createRig([asking()]);
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  const peerOf = (name: string): ClientPeer => ({
    client: {},
    capabilities: () => FORMS,
    revision: () => "2025-11-25",
    logSeverity: () => undefined,
    wantsProgress: () => false,
    progress: () => undefined,
    notify: () => undefined,
    onRootsChanged: () => undefined,
    async request({ params }) {
      asked.push(`${name}: ${/"n":\d/.exec(JSON.stringify(params).replaceAll("\\", ""))?.[0]}`);
      if (name === "one") await gate.promise;
      return { ...say("once") };
    },
  });
  let current = peerOf("one");
  const tools = rig.upstream.openSession(() => current);
  tools.beginRun();
  // The first is being answered when the second waits for its turn.
  const first = tools.callTool(call("wipe", { n: 1 }), soon());
  await until(() => asked.length === 1);
  let waiting = 0;
  const waits: WhileAsking = (work) => {
    waiting += 1;
    return work();
  };
  const second = tools.callTool(call("wipe", { n: 2 }), soon(), waits);
  await until(() => waiting === 1);
  current = peerOf("other");
  tools.beginRun();
  const third = tools.callTool(call("wipe", { n: 3 }), soon(), waits);
  await until(() => waiting === 2);
  gate.resolve();

  const results = await Promise.all([first, second, third]);
  expect(results.map((result) => result["structuredContent"])).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(asked).toEqual(['one: "n":1', 'one: "n":2', 'other: "n":3']);
});

describe("without a client", () => {
  test("nobody can be asked, and the refusal says what to do", async () => {
    await using rig = createRig([asking()]);

    expect(await faultOf(rig.upstream.callTool(call("wipe"), soon()))).toEqual({
      code: "APPROVAL_DENIED",
      message:
        'tool "wipe" of server "fx" was not called: by "destructive" of --ask it needs the user\'s approval, and there is nobody to ask here',
      hint: "Do without it, or ask the user to change --ask.",
    });
    expect(await rig.upstream.callTool(call("get"), soon())).toMatchObject({ structuredContent: {} });
  });
});

test("the audit says by which rule the user was asked, and what came of it", async () => {
  using folder = createJournal();
  const file = join(folder.path, "../audit.jsonl");
  const answers = ["once", "run", "deny"];
  await withClient(
    "older",
    () => say(answers.shift() ?? ""),
    async (client) => {
      await client.run([call("del-all"), call("del-all"), call("del-all"), call("wipe"), call("get")]);
    },
    { audit: { file, arguments: "hash" } },
  );

  const lines = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ tool, outcome, code, asked, answer }) => [tool, outcome, code, asked, answer])).toEqual(
    [
      ["del-all", "ok", undefined, '"del*" of --ask', "once"],
      ["del-all", "ok", undefined, '"del*" of --ask', "run"],
      ["del-all", "ok", undefined, '"del*" of --ask', "run"],
      ["wipe", "refused", "APPROVAL_DENIED", '"destructive" of --ask', "deny"],
      ["get", "ok", undefined, undefined, undefined],
    ],
  );
});
