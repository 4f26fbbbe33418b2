import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startChild } from "../../src/core/child.ts";
import { startBridge } from "./helpers/client.ts";
import { BINARY, bridgeEnv } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";

const MB = 1e6;
const MAX_GROWTH = 64 * MB;
const MUCH = 200;
const print = (megabytes: number) =>
  `line = 'x' * 999\nfor _ in range(${megabytes} * 1000): print(line)\nprint('the end', flush=True)`;
const onLinux = test.if(process.platform === "linux"); // elsewhere nobody says how much another process has

/** Bytes of memory that a process has now, and the most that it ever had. */
function memoryOf(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

onLinux.each([
  ["nobody follows", undefined],
  ["a client follows", () => undefined],
])("200 MB of output cost the bridge no more than 64 MB while %s", async (_title, onProgress) => {
  await using bridge = await startBridge();
  await bridge.python(print(1));
  const before = memoryOf(bridge.pid).now;
  const { text } = await bridge.call({ code: print(MUCH) }, onProgress && { onProgress });
  expect(text).toStartWith("xxx");
  expect(text).toContain("the end");
  expect(text).toContain(`[… ${MUCH * MB + 8 - 65_536} characters left out`);
  expect(memoryOf(bridge.pid).peak - before).toBeLessThan(MAX_GROWTH);
});

onLinux("200 MB of output cost `sandpy run` no more than 64 MB, and all of them arrive", async () => {
  using home = createHome();
  const code = `${print(1)}\n${print(MUCH)}\nimport time\ntime.sleep(600)`;
  home.write("much.py", code);
  const child = await startChild({
    command: BINARY,
    args: ["run", "much.py"],
    env: bridgeEnv(home.path),
    cwd: home.path,
  });
  let bytes = 0;
  let before = 0;
  const wanted = (1 + MUCH) * MB + 16;
  for await (const chunk of child.stdout) {
    bytes += chunk.length;
    if (before === 0 && bytes >= MB) before = memoryOf(child.pid).now;
    if (bytes >= wanted) break;
  }
  const { peak } = memoryOf(child.pid);
  child.kill("SIGTERM");
  await child.exited;
  expect(bytes).toBe(wanted);
  expect(peak - before).toBeLessThan(MAX_GROWTH);
});
