import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { startChild } from "../../src/core/child.ts";
import { Reaper } from "../../src/core/reaper.ts";
import { until } from "../helpers/until.ts";

const OWNER = join(import.meta.dir, "../fixtures/core/reaper-owner.ts");

function lives(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]);
  const state = stdout.toString().trim();
  return state !== "" && !state.startsWith("Z");
}

/** The processes that run our script, as children of `parent` or of nobody. */
function helpersOf(parent: number): number[] {
  const { stdout } = Bun.spawnSync(["ps", "-e", "-ww", "-o", "pid=,ppid=,args="]);
  const lines = stdout.toString().split("\n");
  return lines.flatMap((line) => {
    const [pid, ppid] = line.trim().split(/\s+/).map(Number);
    return ppid === parent && line.includes("while read -r op pid") ? [pid as number] : [];
  });
}

describe.skipIf(process.platform === "win32")("when its owner is gone", () => {
  test.each(["SIGKILL", "SIGTERM", "SIGHUP"] as const)(
    "by %s, watched groups end and the others stay",
    async (signal) => {
      const owner = await startChild({
        command: process.execPath,
        args: [OWNER],
        env: { PATH: process.env["PATH"] ?? "" },
      });
      let text = "";
      for await (const chunk of owner.stdout) {
        text += new TextDecoder().decode(chunk);
        if (text.includes("\n")) break;
      }
      const { watched, forgotten } = JSON.parse(text) as { watched: number[]; forgotten: number };
      const [helper = 0, ...others] = helpersOf(owner.pid);
      expect(others).toEqual([]);
      expect([...watched, forgotten].map(lives)).toEqual([true, true, true]);

      owner.kill(signal);

      try {
        await until("the watched groups to end", () => !watched.some(lives), 5000);
        await until("the helper to end", () => !lives(helper), 5000);
        expect(lives(forgotten)).toBe(true);
      } finally {
        for (const pid of [...watched, forgotten]) Bun.spawnSync(["kill", "-9", String(pid)]);
      }
    },
  );
});

test("closing ends the helper at once", async () => {
  const reaper = new Reaper();
  const child = await startChild({
    command: "sleep",
    args: ["60"],
    env: { PATH: process.env["PATH"] ?? "" },
    ownGroup: true,
  });
  reaper.watch(child.pid);
  await until("the helper to run", () => helpersOf(process.pid).length === 1);
  const started = performance.now();

  await reaper.close();

  expect(performance.now() - started).toBeLessThan(900);
  expect(helpersOf(process.pid)).toEqual([]);
  expect(lives(child.pid)).toBe(true);
  await child.stop(0);
});

test("a helper that was killed is replaced, and knows what the first one knew", async () => {
  const reaper = new Reaper();
  reaper.watch(2 ** 22 + 1); // no process has such a number
  await until("the helper to run", () => helpersOf(process.pid).length === 1);
  const [first = 0] = helpersOf(process.pid);
  process.kill(first, "SIGKILL");
  await until("the helper to end", () => helpersOf(process.pid).length === 0);

  await until("another to run", () => {
    reaper.watch(2 ** 22 + 2);
    return helpersOf(process.pid).length === 1;
  });
  await reaper.close();
});
