import { expect, test } from "bun:test";
import { startBridge } from "./helpers/client.ts";
import { containersOf, until } from "./helpers/engine.ts";

test("a sandbox is ready before the first call, and a spare one after it", async () => {
  await using bridge = await startBridge();
  await until("a container", async () => (await containersOf(bridge.pid)).length === 1, 20_000);
  const [first] = await containersOf(bridge.pid);
  await bridge.python("x = 1");
  await until("a spare one", async () => (await containersOf(bridge.pid)).length === 2, 20_000);
  expect(await containersOf(bridge.pid)).toContain(first ?? "");
  expect((await bridge.python("x")).text).toBe("1");
});

test("all of them stop when the bridge is idle, and the next call says what that cost", async () => {
  await using bridge = await startBridge({ env: { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: "1" } });
  await bridge.python("x = 1");
  await until("no container", async () => (await containersOf(bridge.pid)).length === 0, 20_000);
  const { text, isError } = await bridge.python("'x' in globals()");
  expect(isError).toBe(false);
  expect(text).toStartWith("False\n[note] The sandbox was stopped after 1 s without a call.");
});
