import { expect, test } from "bun:test";
import { type Child, startChild } from "../../src/core/child.ts";
import { INITIALIZE } from "../helpers/raw-server.ts";
import { startBridge } from "./helpers/client.ts";
import { BINARY, bridgeEnv, containersOf, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

async function startSilent(home: string): Promise<Child> {
  return startChild({ command: BINARY, args: [], env: bridgeEnv(home), cwd: home });
}

const oneContainer = (pid: number) =>
  until("a container", async () => (await containersOf(pid)).length === 1, 20_000);

test("a sandbox is on its way as soon as a client begins to speak", async () => {
  using home = createHome();
  const child = await startSilent(home.path);
  await child.write(INITIALIZE.slice(0, 20));
  await oneContainer(child.pid);
  child.endInput();
  await child.exited;
  expect(await containersOf(child.pid)).toEqual([]);
});

test("none is started for what is no client, and one for the client that comes after it", async () => {
  using home = createHome();
  const child = await startSilent(home.path);
  await child.write("no message\n");
  const { value } = await child.stdout[Symbol.asyncIterator]().next();
  expect(Buffer.from(value).toString()).toContain("Parse error");
  expect(await containersOf(child.pid)).toEqual([]);
  await child.write(INITIALIZE);
  await oneContainer(child.pid);
  await child.stop();
});

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
