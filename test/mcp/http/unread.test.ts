/** Callers that send calls and do not read the answers. */
import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { McpClientPeer } from "../../../src/mcp/client-peer.ts";
import type { Connect } from "../../../src/mcp/http/connection.ts";
import type { PythonRunner } from "../../../src/mcp/python-runner.ts";
import { JobQueue } from "../../../src/session/queue.ts";
import type { ClientPeer } from "../../../src/upstream/client-peer.ts";
import { ALICE, BOB, type HttpWorld, INITIALIZE, startHttpWorld } from "../../helpers/http-world.ts";
import { NOTHING } from "../../helpers/run-results.ts";
import { until } from "../../helpers/until.ts";

const VERSION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/logLevel": "info",
};
const ERAS = ["initialize", VERSION] as const;
type Era = (typeof ERAS)[number];

const CALLS = 8;
/** Of 12 MiB: after two of them nobody's next run begins. */
const IMAGE = { mimeType: "image/png", data: "A".repeat(12 * 1024 ** 2) };

/** Runs of each caller one after the other, as in one session; their names are noted as they begin. */
function createConnect(begun: string[]): Connect {
  const queues = new Map<string, JobQueue>();
  return async ({ caller }) => {
    const queue = queues.get(caller.id) ?? new JobQueue({ jobs: 100, bytes: 1e6 });
    queues.set(caller.id, queue);
    return {
      runner: {
        run: ({ ready }, signal) =>
          queue.run(
            async () => {
              await ready?.(signal);
              begun.push(caller.name);
              return { ...NOTHING, images: [IMAGE] };
            },
            1,
            signal,
          ),
      },
      close: async () => undefined,
    };
  };
}

/** Sends a message of a caller, or asks for a stream. */
function send(
  world: HttpWorld,
  token: string,
  message: object | undefined,
  more: Record<string, string>,
): Promise<Response> {
  return world.answer(
    new Request(world.url, {
      method: message === undefined ? "GET" : "POST",
      headers: {
        host: new URL(world.url).host,
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...more,
      },
      ...(message === undefined ? {} : { body: JSON.stringify({ jsonrpc: "2.0", ...message }) }),
    }),
  );
}

/** Begins a session; the headers of its requests. */
async function begin(world: HttpWorld, token: string): Promise<Record<string, string>> {
  const session = (await send(world, token, INITIALIZE, {})).headers.get("mcp-session-id") ?? "";
  return { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
}

async function callsOf(
  world: HttpWorld,
  token: string,
  era: Era,
): Promise<(id: number) => Promise<Response>> {
  const params = { name: "run_python", arguments: { code: "1" } };
  const method = "tools/call";
  if (era === "initialize") {
    const session = await begin(world, token);
    return (id) => send(world, token, { id, method, params }, session);
  }
  const headers = { "mcp-protocol-version": VERSION, "mcp-method": method, "mcp-name": "run_python" };
  return (id) => send(world, token, { id, method, params: { _meta: META, ...params } }, headers);
}

test.each(ERAS)(
  "CLI-5: with 16 MiB unread, further runs of a caller of %s wait, none is lost, and others are served",
  async (era) => {
    const begun: string[] = [];
    await using world = startHttpWorld({ connect: createConnect(begun) });
    const [call, other] = [await callsOf(world, ALICE, era), await callsOf(world, BOB, era)];
    const answers = Array.from({ length: CALLS }, (_, id) => call(id));
    await until("two runs", () => begun.length >= 2);

    for (let id = 0; id < 5; id++) expect((await (await other(id)).text()).length).toBeGreaterThan(12e6);
    expect(begun.filter((name) => name === "alice")).toHaveLength(2);
    for (const answer of answers) {
      const text = await (await answer).text();
      expect([text.split(IMAGE.data).length - 1, text.includes('"isError"')]).toEqual([1, false]);
    }
    expect(begun.filter((name) => name === "alice")).toHaveLength(CALLS);
  },
);

test.each(ERAS)("CLI-5: an answer that a caller of %s gives up counts no more", async (era) => {
  const begun: string[] = [];
  await using world = startHttpWorld({ connect: createConnect(begun) });
  const call = await callsOf(world, ALICE, era);
  const answers = Array.from({ length: 5 }, (_, id) => call(id));

  for (const answer of answers) await (await answer).body?.cancel();
  await until("all runs", () => begun.length === 5);
});

const MAX_UNREAD_NEWS_BYTES = 256 * 1024;
const NEWS = { method: "notifications/message", params: { level: "info", data: "x".repeat(10_000) } };
/** As many as a server may send at once. */
const BURST = 100;

async function tell(peer: ClientPeer): Promise<void> {
  for (let count = 0; count < BURST; count++) {
    peer.notify(NEWS);
    await nextTurn(); // no more than 64 at once
  }
}

const QUIET = "0";

/** Runs that have much to tell before their result, once `go` resolves. */
function createTeller(go: Promise<void> = Promise.resolve()) {
  const peers: McpClientPeer[] = [];
  let ended = 0;
  const connect: Connect = async ({ peer }) => {
    peers.push(peer);
    const run: PythonRunner["run"] = async ({ code, peer: client }) => {
      await go;
      if (code !== QUIET) await tell(client);
      ended += 1;
      return { ...NOTHING, stdout: "the end" };
    };
    return { runner: { run }, close: async () => undefined };
  };
  return { connect, peers, ended: () => ended };
}

/** As much is there as is kept for a client that does not read, with what is on its way to it already. */
function expectBounded(text: string): void {
  expect(text.split(NEWS.params.data).length - 1).toBeGreaterThan(20);
  expect(text.length).toBeLessThan(MAX_UNREAD_NEWS_BYTES + 64 * 1024);
}

test.each(ERAS)(
  "EXH-19: of what a run of %s tells a client that does not read, 256 KiB are kept, and the result",
  async (era) => {
    const { connect, ended } = createTeller();
    await using world = startHttpWorld({ connect });
    const answer = await (await callsOf(world, ALICE, era))(1);
    await until("the end of the run", () => ended() === 1);
    const text = await answer.text();
    expectBounded(text);
    expect(text).toContain("the end");
  },
);

test("EXH-19: nor is more kept in a stream that goes on where another broke", async () => {
  const { promise: go, resolve: start } = Promise.withResolvers<void>();
  const { connect, ended } = createTeller(go);
  await using world = startHttpWorld({ connect });
  const session = await begin(world, ALICE);
  const params = { name: "run_python", arguments: { code: "1" } };
  const answer = await send(world, ALICE, { id: 1, method: "tools/call", params }, session);
  const reader = answer.body?.getReader();
  const opening = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();

  const lastEventId = /^id: (.+)$/m.exec(opening)?.[1] ?? "";
  const rest = await send(world, ALICE, undefined, { ...session, "last-event-id": lastEventId });
  start();
  await until("the end of the run", () => ended() === 1);
  const text = await rest.text();
  expectBounded(text);
  expect(text).toContain("the end");
});

test("EXH-19: nor in the stream of a session, between its runs", async () => {
  const { connect, peers } = createTeller();
  await using world = startHttpWorld({ connect });
  const session = await begin(world, ALICE);
  const params = { name: "run_python", arguments: { code: QUIET } };
  await (await send(world, ALICE, { id: 1, method: "tools/call", params }, session)).text();
  const stream = await send(world, ALICE, undefined, session);

  for (const peer of peers) await tell(peer);
  await world.close();
  expectBounded(await stream.text());
});

const MIB = 1024 ** 2;
const QUESTION = {
  method: "sampling/createMessage",
  params: {
    messages: [{ role: "user", content: { type: "text", text: "q".repeat(8 * MIB) } }],
    maxTokens: 1,
  },
};

/** Asks the client and takes the question back, so many times; what each came to. */
async function askAndTakeBack(peer: ClientPeer, times: number): Promise<string[]> {
  const said: string[] = [];
  for (let count = 0; count < times; count++) {
    const stop = new AbortController();
    const asked = peer.request(QUESTION, stop.signal).then(String, String);
    await nextTurn();
    await nextTurn(); // it is in the stream, where there is room
    stop.abort(new Error("taken back"));
    said.push(await asked);
  }
  return said;
}

test("EXH-19: with 64 MiB unread a caller is asked nothing more, and again when it has read", async () => {
  const runs: string[][] = [];
  const connect: Connect = async () => ({
    runner: {
      run: async ({ peer, code }) => {
        runs.push(await askAndTakeBack(peer, Number(code)));
        return NOTHING;
      },
    },
    close: async () => undefined,
  });
  await using world = startHttpWorld({ connect });
  const [first, second] = [await begin(world, ALICE), await begin(world, ALICE)];
  const call = (session: Record<string, string>, id: number, code: string) => {
    const params = { name: "run_python", arguments: { code } };
    return send(world, ALICE, { id, method: "tools/call", params }, session);
  };
  const answer = await call(first, 1, "12");
  await until("the end of the run", () => runs.length === 1);
  const refused = runs[0]?.filter((text) => text.includes("the client does not read")) ?? [];
  expect(refused.length).toBeGreaterThan(1);
  await (await call(second, 1, "1")).text();
  expect(runs[1]?.join()).toContain("the client does not read");

  expect((await answer.text()).length).toBeLessThan((64 + 3 * 8) * MIB);
  await (await call(second, 2, "1")).text();
  expect(runs[2]?.join()).toContain("taken back");
});

test("NBR-12: with 64 MiB unread a caller gets no question once more, and its run still waits for the answer", async () => {
  const connect: Connect = async () => ({
    runner: {
      run: async ({ peer }, signal) => {
        const answer = await peer.request(QUESTION, signal);
        return { ...NOTHING, stdout: `it said ${JSON.stringify(answer)}` };
      },
    },
    close: async () => undefined,
  });
  await using world = startHttpWorld({ connect });
  const method = "tools/call";
  const headers = { "mcp-protocol-version": VERSION, "mcp-method": method, "mcp-name": "run_python" };
  const call = (id: number, more: object) => {
    const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": { sampling: {} } };
    const params = { _meta, name: "run_python", arguments: { code: "1" }, ...more };
    return send(world, ALICE, { id, method, params }, headers);
  };
  const asked = (await (await call(1, {})).json()) as {
    result: { requestState: string; inputRequests: object };
  };
  const { requestState, inputRequests } = asked.result;
  const unread: Response[] = [];
  for (let id = 2; id < 14; id++) unread.push(await call(id, { requestState }));

  const sizes = (await Promise.all(unread.map((answer) => answer.text()))).map(({ length }) => length);
  expect(sizes.filter((size) => size < MIB).length).toBeGreaterThan(1);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan((64 + 3 * 8) * MIB);
  const [question = ""] = Object.keys(inputRequests);
  const last = await call(20, { requestState, inputResponses: { [question]: { role: "user" } } });
  expect(await last.text()).toContain("it said");
});
