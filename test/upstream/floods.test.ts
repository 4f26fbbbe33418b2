/** Servers that write without a pause: they cost themselves their connection, and nobody else anything. */
import { expect, test } from "bun:test";
import type { ClientPeer } from "../../src/upstream/client-peer.ts";
import { createRig, faultOf, scripted, soon } from "./harness.ts";

const line = (message: object) => JSON.stringify({ jsonrpc: "2.0", ...message });
const LOG = line({ method: "notifications/message", params: { level: "error", data: "x".repeat(100) } });

const PEER: ClientPeer = {
  capabilities: () => ({ roots: {}, sampling: {}, elicitation: {} }),
  logSeverity: () => "debug",
  wantsProgress: () => true,
  progress: () => undefined,
  notify: () => undefined,
  request: async () => ({ roots: [] }),
  onRootsChanged: () => () => undefined,
};

async function flooded(floods: string, patienceMs: number) {
  await using rig = createRig([
    scripted("fx", { tools: { flood: { floods } } }),
    scripted("ok", { tools: { t: {} } }),
  ]);
  const session = rig.upstream.openSession(PEER);
  const call = (server: string, tool: string, signal = soon()) =>
    session.callTool({ server, tool, arguments: {} }, signal);
  await call("ok", "t");
  const before = process.memoryUsage.rss();

  const fault = faultOf(call("fx", "flood", soon(patienceMs)));
  for (let round = 0; round < 10; round++) await call("ok", "t");

  const { code, message } = await fault;
  return { code, message, grownMiB: (process.memoryUsage.rss() - before) / 1024 ** 2 };
}

test.each([
  ["logs", LOG],
  ["word that tools changed", line({ method: "notifications/tools/list_changed" })],
  ["empty lines", ""],
  ["answers to nobody", line({ id: 77, result: { a: "x".repeat(100) } })],
  ["answers under ids that are none", line({ id: { a: 1 }, result: { a: "x".repeat(100) } })],
])("a flood of %s ends with the caller's time, and holds nobody up", async (_what, text) => {
  const { code, grownMiB } = await flooded(text, 1000);

  expect(code).toBe("UPSTREAM_TIMEOUT");
  expect(grownMiB).toBeLessThan(400);
});

test.each([
  ["pings", line({ id: 1, method: "ping" })],
  ["long pings", line({ id: "x".repeat(100_000), method: "ping" })],
  ["requests that nobody knows", line({ id: 1, method: "no/such" })],
  ["questions about roots", line({ id: 1, method: "roots/list" })],
])("a flood of %s without reading the answers ends the server", async (_what, text) => {
  const { code, message, grownMiB } = await flooded(text, 20_000);

  expect({ code, message }).toEqual({
    code: "LIMIT_EXCEEDED",
    message:
      'the call of tool "flood" of server "fx" failed: server "fx" has not read the last 64 MiB that it was sent and was stopped',
  });
  expect(grownMiB).toBeLessThan(1200);
});
