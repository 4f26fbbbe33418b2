/** What a client is asked by servers, and what its user is asked, over HTTP as over stdio: on the built binary, in both eras. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { until } from "../helpers/until.ts";
import { SERVERS } from "../upstream/harness.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";
import { CAPABILITIES, FORM, MESSAGE, ROOTS } from "./helpers/peer-answers.ts";
import { type Served, startServed } from "./helpers/served.ts";

const IDENTITY = { name: "test", version: "1" };
const ERAS = ["initialize", "2026-07-28"] as const;

type Answer = { action: "accept" | "decline" | "cancel"; content?: Record<string, string> };
type Decide = (message: string) => Answer | Promise<Answer>;

let home: TestHome;
let served: Served;
let journal: string;
beforeAll(async () => {
  home = createHome();
  journal = join(home.path, "journal");
  const tools = { wipe: {}, get: { annotations: { readOnlyHint: true } } };
  const script = JSON.stringify({ journal, tools });
  home.defineServers({
    everything: npmServer("everything"),
    fx: { command: process.execPath, args: [join(SERVERS, "scripted-server.ts"), script] },
  });
  served = await startServed(home, ["--ask", "fx/destructive"]);
}, 60_000);
afterAll(async () => {
  await served[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

interface Peer extends AsyncDisposable {
  python(code: string, timeout?: number): Promise<string>;
}

async function connect(era: (typeof ERAS)[number], decide: Decide): Promise<Peer> {
  const url = new URL("/mcp", served.origin);
  const client = era === "initialize" ? await connectOlder(url, decide) : await connectModern(url, decide);
  return {
    async python(code, timeout = 30) {
      const request = { name: "run_python", arguments: { code, timeout } };
      const result = (await client.callTool(request)) as { content: { text?: string }[] };
      return result.content.map(({ text = "" }) => text).join("");
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function connectOlder(url: URL, decide: Decide) {
  const client = new Client(IDENTITY, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => decide(params.message));
  client.setRequestHandler(CreateMessageRequestSchema, () => MESSAGE);
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  await client.connect(new StreamableHTTPClientTransport(url) as never);
  return client;
}

async function connectModern(url: URL, decide: Decide) {
  const client = new ModernClient(IDENTITY, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  client.setRequestHandler("elicitation/create", ({ params }) => decide(params.message));
  client.setRequestHandler("sampling/createMessage", () => MESSAGE);
  client.setRequestHandler("roots/list", () => ROOTS);
  await client.connect(new ModernTransport(url));
  return client;
}

const say = (decision: string): Answer => ({ action: "accept", content: { decision } });
const called = (name: string) =>
  existsSync(journal) ? readFileSync(journal, "utf8").split(`"who":"${name}"`).length - 1 : 0;

describe.each(ERAS)("over HTTP, a client that speaks %s", (era) => {
  test.each([
    ["elicitation", "print((await mcp_everything.trigger_elicitation_request()).text)", "- Name: Ann"],
    ["sampling", "print((await mcp_everything.trigger_sampling_request(prompt='?')).text)", "forty-two"],
    ["roots", "print((await mcp_everything.get_roots_list()).text)", "the work"],
  ])("answers what a real server wants of it: %s", async (_kind, code, expected) => {
    await using peer = await connect(era, () => FORM);

    expect(await peer.python(code)).toContain(expected);
  });

  test("asks its user before a call, which takes longer than the run may", async () => {
    const asked: string[] = [];
    await using peer = await connect(era, async (message) => {
      asked.push(message);
      await Bun.sleep(2500);
      return say("once");
    });
    const who = `slow ${era}`;
    const code = `import asyncio\nprint(len(await asyncio.gather(*[mcp_fx.wipe(who="${who}") for _ in range(20)])))`;

    expect(await peer.python(code, 2)).toContain("20");
    expect(asked).toEqual([expect.stringContaining('the tool "wipe" of the server "fx" 20 times')]);
    expect(called(who)).toBe(20);
  });

  test("does not make the call that its user denies", async () => {
    await using peer = await connect(era, () => say("deny"));
    const who = `denied ${era}`;

    const text = await peer.python(
      `try:\n    await mcp_fx.wipe(who="${who}")\nexcept MCPError as e:\n    print(e.kind, e)`,
    );

    expect(text).toContain("denied fx.wipe");
    expect(text).toContain("and the user denied it");
    expect(called(who)).toBe(0);
  });

  test("is asked by its own run alone, however many there are", async () => {
    const names = ["Ann", "Bob", "Cid"];
    const peers = await Promise.all(
      names.map((name) => connect(era, (message) => say(message.includes(name) ? "once" : "deny"))),
    );

    const texts = await Promise.all(
      peers.map((peer, index) =>
        peer.python(`print((await mcp_fx.wipe(who="${names[index]} ${era}")).data)`),
      ),
    );

    expect(texts.map((text, index) => text.includes(`{'who': '${names[index]} ${era}'}`))).toEqual([
      true,
      true,
      true,
    ]);
    await Promise.all(peers.map((peer) => peer[Symbol.asyncDispose]()));
  });

  test("that goes away while its user is asked leaves no call behind", async () => {
    const asked = Promise.withResolvers<void>();
    const who = `gone ${era}`;
    const peer = await connect(era, () => {
      asked.resolve();
      return new Promise(() => undefined);
    });
    peer.python(`await mcp_fx.wipe(who="${who}")`).catch(() => undefined);
    await asked.promise;
    await peer[Symbol.asyncDispose]();

    await using other = await connect(era, () => say("once"));
    expect(await other.python(`print((await mcp_fx.get(who="after ${era}")).data)`)).toContain("after");
    await until("the other's call", () => called(`after ${era}`) === 1);
    expect(called(who)).toBe(0);
  });
});

test("NBR-8: what is allowed for a session holds for its handle, and for no other session", async () => {
  const asked: string[] = [];
  const client = await connectModern(new URL("/mcp", served.origin), (message) => {
    asked.push(message);
    return say("session");
  });
  const run = async (session: string) => {
    const code = 'print((await mcp_fx.wipe(who="handle")).data)';
    const result = await client.callTool({ name: "run_python", arguments: { code, session } });
    expect(JSON.stringify(result.content)).toContain("{'who': 'handle'}");
    return String((result.structuredContent as { session?: string } | undefined)?.session);
  };

  const handle = await run("new");
  await run(handle);
  expect(asked).toHaveLength(1);
  await run("new");
  expect(asked).toHaveLength(2);
  await client.close();
});
