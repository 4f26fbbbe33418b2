/** Servers that write without a pause: they cost themselves their connection, and nobody else anything. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { startChild } from "../../src/core/child.ts";
import type { ServerDefinition } from "../../src/discovery/server-definition.ts";
import type { ClientPeer } from "../../src/upstream/client-peer.ts";
import type { Flood } from "../fixtures/servers/flooding-http.ts";
import { createRig, ENV, faultOf, remote, SERVERS, scripted, soon } from "./harness.ts";

const line = (message: object) => JSON.stringify({ jsonrpc: "2.0", ...message });
const LOG = line({ method: "notifications/message", params: { level: "error", data: "x".repeat(100) } });

let notified = 0;
const PEER: ClientPeer = {
  client: {},
  revision: () => "2025-11-25",
  capabilities: () => ({ roots: {}, sampling: {}, elicitation: {} }),
  logSeverity: () => "debug",
  wantsProgress: () => true,
  progress: () => undefined,
  notify: () => {
    notified += 1;
  },
  request: async () => ({ roots: [] }),
  onRootsChanged: () => () => undefined,
};

const flooding = (floods: string) => scripted("fx", { tools: { t: { floods } } });

async function flooded(server: ServerDefinition, patienceMs: number) {
  await using rig = createRig([server, scripted("ok", { tools: { t: {} } })]);
  rig.upstream.welcome(PEER);
  const session = rig.upstream.openSession(() => PEER);
  const call = (name: string, signal = soon()) =>
    session.callTool({ server: name, tool: "t", arguments: {} }, signal);
  await call("ok");
  const before = process.memoryUsage.rss();

  const fault = faultOf(call("fx", soon(patienceMs)));
  for (let round = 0; round < 10; round++) await call("ok");

  const { code, message } = await fault;
  return { code, message, grownMiB: (process.memoryUsage.rss() - before) / 1024 ** 2 };
}

test.each([
  ["logs", LOG],
  ["word that tools changed", line({ method: "notifications/tools/list_changed" })],
  ["empty lines", ""],
  ["answers to nobody", line({ id: 77, result: { a: "x".repeat(100) } })],
])("a flood of %s ends with the caller's time, and holds nobody up", async (_what, text) => {
  const { code, grownMiB } = await flooded(flooding(text), 1000);

  expect(code).toBe("UPSTREAM_TIMEOUT");
  expect(grownMiB).toBeLessThan(400);
});

test("UPS-4: a flood of answers under ids that are none, which are no messages, ends the server", async () => {
  const { code, message } = await flooded(flooding(line({ id: { a: 1 }, result: {} })), 20_000);

  expect(code).toBe("UPSTREAM_FAILED");
  expect(message).toContain("wrote more than 1000 lines on its stdout that are no messages");
});

test.each([
  ["pings", line({ id: 1, method: "ping" })],
  ["long pings", line({ id: "x".repeat(100_000), method: "ping" })],
  ["requests that nobody knows", line({ id: 1, method: "no/such" })],
  ["questions about roots", line({ id: 1, method: "roots/list" })],
])("a flood of %s without reading the answers ends the server", async (_what, text) => {
  const { code, message, grownMiB } = await flooded(flooding(text), 20_000);

  expect({ code, message }).toEqual({
    code: "LIMIT_EXCEEDED",
    message:
      'the call of tool "t" of server "fx" failed: server "fx" has not read the last 64 MiB that it was sent and was stopped',
  });
  expect(grownMiB).toBeLessThan(1200);
});

/** A server of its own process: what it holds in memory is not ours. */
async function floodedByUrl(flood: Flood, patienceMs: number) {
  const script = join(SERVERS, "flooding-http.ts");
  const child = await startChild({
    command: process.execPath,
    args: [script, JSON.stringify(flood)],
    env: ENV,
  });
  try {
    const { value } = await child.stdout[Symbol.asyncIterator]().next();
    const port = new TextDecoder().decode(value).trim();
    return await flooded(remote("fx", `http://127.0.0.1:${port}/mcp`), patienceMs);
  } finally {
    await child.stop(0);
  }
}

const EVENTS = "content-type: text/event-stream\r\n";
const JSON_BODY = "content-type: application/json\r\n";
const BAD_ID = line({ id: { a: 1 }, result: { a: "x".repeat(100_000) } });
const PINGS = `data: ${line({ id: 1, method: "ping" })}\n\n`;

test.each<[string, Flood]>([
  ["logs", { where: "call", headers: EVENTS, piece: `data: ${LOG}\n\n` }],
  ["empty lines", { where: "call", headers: EVENTS, piece: "\n" }],
  ["answers under ids that are none", { where: "call", headers: EVENTS, piece: `data: ${BAD_ID}\n\n` }],
  [
    "answers under ids that are none on its standing stream",
    { where: "stream", headers: EVENTS, piece: `data: ${BAD_ID}\n\n` },
  ],
])(
  "a server by URL with a flood of %s ends with the caller's time, and holds nobody up",
  async (_what, flood) => {
    const { code, grownMiB } = await floodedByUrl(flood, 3000);

    expect(code).toBe("UPSTREAM_TIMEOUT");
    expect(grownMiB).toBeLessThan(500);
  },
);

test.each<[string, Flood, string]>([
  [
    "says that its endless body is short",
    {
      where: "call",
      headers: `${JSON_BODY}content-length: 10\r\ntransfer-encoding: chunked\r\n`,
      piece: `10000\r\n${"x".repeat(0x10000)}\r\n`,
    },
    "the answer has more than 33554432 bytes, more than the 25165824 allowed",
  ],
  [
    "asks in the answer to a call",
    { where: "call", headers: EVENTS, piece: PINGS },
    'server "fx" asks without end, takes no answers, and was disconnected',
  ],
  [
    "asks on its standing stream",
    { where: "stream", headers: EVENTS, piece: PINGS },
    'server "fx" asks without end, takes no answers, and was disconnected',
  ],
])("a server by URL that %s without end fails its call alone", async (_what, flood, message) => {
  const fault = await floodedByUrl(flood, 20_000);

  expect(fault).toMatchObject({
    code: "LIMIT_EXCEEDED",
    message: expect.stringContaining(`failed: ${message}`),
  });
  expect(fault.grownMiB).toBeLessThan(500);
});

test.each<[string, (patienceMs: number) => ReturnType<typeof flooded>]>([
  ["a program", (patienceMs) => flooded(flooding(LOG), patienceMs)],
  [
    "a URL",
    (patienceMs) => floodedByUrl({ where: "call", headers: EVENTS, piece: `data: ${LOG}\n\n` }, patienceMs),
  ],
])("reads at most 10,000 messages in a second that nobody asked %s for", async (_what, run) => {
  notified = 0;

  await run(1000);

  expect(notified).toBeGreaterThan(0);
  expect(notified).toBeLessThan(20_000); // a second, and what the connection and its end take
});
