import { describe, expect, test } from "bun:test";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";
import { startEverything } from "../helpers/everything-server.ts";
import { connectOlder, toolRun } from "../helpers/relay-rig.ts";
import { createRig, define, remote, SERVERS, scripted } from "../upstream/harness.ts";

const FORM = { type: "object" as const, properties: { name: { type: "string" as const } } };
const ELICIT = { method: "elicitation/create", params: { message: "Who?", requestedSchema: FORM } };

/** Has two clients make the same call at once, each of whom answers only when both were asked. */
async function askBoth(server: ServerDefinition, tool: string): Promise<readonly string[]> {
  await using rig = createRig([server]);
  let asked = 0;
  const both = Promise.withResolvers<void>();
  const connect = (name: string) =>
    connectOlder(rig, { elicitation: {} }, (client) =>
      client.setRequestHandler(ElicitRequestSchema, async () => {
        asked += 1;
        if (asked === 2) both.resolve();
        await both.promise;
        return { action: "accept", content: { name } };
      }),
    );
  const clients = await Promise.all(["Ann", "Bob"].map(connect));
  const replies = await Promise.all(clients.map((client) => client.callTool(toolRun("fx", tool))));
  await Promise.all(clients.map((client) => client.close()));
  return replies.map((reply) => JSON.stringify(reply));
}

describe("a server that two clients use at once", () => {
  test("asks each of them in its own call, in the newest revision", async () => {
    const modern = define("fx", { args: [`${SERVERS}/modern-server.ts`] });
    const [ann, bob] = await askBoth(modern, "ask");

    expect(ann).toContain("Ann");
    expect(ann).not.toContain("Bob");
    expect(bob).toContain("Bob");
    expect(bob).not.toContain("Ann");
  });

  test("asks each of them in its own call, where a call has a stream of its own", async () => {
    await using server = await startEverything("streamableHttp");
    const [ann, bob] = await askBoth(remote("fx", server.url), "trigger-elicitation-request");

    expect(ann).toContain("Name: Ann");
    expect(ann).not.toContain("Bob");
    expect(bob).toContain("Name: Bob");
    expect(bob).not.toContain("Ann");
  });

  test("asks neither where it cannot be seen in which call, as over stdio before", async () => {
    await using rig = createRig([
      scripted("fx", { tools: { ask: { asks: ELICIT }, wait: { delayMs: 600 } } }),
    ]);
    let asked = 0;
    const connect = () =>
      connectOlder(rig, { elicitation: {} }, (client) =>
        client.setRequestHandler(ElicitRequestSchema, () => {
          asked += 1;
          return { action: "accept", content: { name: "Ann" } };
        }),
      );
    const [one, other] = await Promise.all([connect(), connect()]);
    // Each starts the server's next request: none of them is the one to which all that follows belongs.
    for (const client of [one, other]) await client.callTool(toolRun("fx", "ask"));
    expect(asked).toBe(2);
    const waiting = one.callTool(toolRun("fx", "wait"));
    await Bun.sleep(0);

    expect(JSON.stringify(await other.callTool(toolRun("fx", "ask")))).toContain("not clear which client");
    await waiting;
    expect(asked).toBe(2);
    await Promise.all([one.close(), other.close()]);
  });
});

test.each([
  ["as it is", "a".repeat(1024), 1],
  ["not where its id is none", "a".repeat(1025), 0],
])("that a question by URL is done with is passed on %s", async (_title, elicitationId, count) => {
  const says = [
    {
      method: "notifications/elicitation/complete",
      params: { elicitationId, more: "b".repeat(100_000) },
    },
  ];
  await using rig = createRig([scripted("fx", { tools: { done: { says } } })]);
  const heard: unknown[] = [];
  const client = await connectOlder(rig, { elicitation: { url: {} } }, (each) => {
    each.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === "notifications/elicitation/complete") heard.push(params);
    };
  });
  await client.callTool(toolRun("fx", "done"));

  expect(heard).toEqual(Array(count).fill({ elicitationId }));
  await client.close();
});
