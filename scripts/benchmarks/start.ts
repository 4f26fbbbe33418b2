import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { withDeadline } from "../../src/core/lifecycle.ts";
import { connectBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { canReadMemory, memoryOf } from "./memory.ts";
import { takeTurns, time } from "./statistics.ts";
import type { World } from "./world.ts";

const EXIT_MS = 15_000;
const SETTLE_MS = 500;

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
});

/** The program costs little more than the runtime that it is compiled with. */
export async function benchStart(world: World): Promise<Comparison[]> {
  const empty = await buildEmpty(world);
  const run = (...command: string[]) => {
    const child = Bun.spawn(command, { env: world.env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
    world.scope.add(command[0] ?? "", () => child.kill());
    return child;
  };
  const times = await takeTurns(
    { rounds: 15, warmUp: 2 },
    {
      empty: () => time(() => run(empty).exited),
      version: () => time(() => run(world.binary, "--version").exited),
      initialize: async () => {
        const started = performance.now();
        const child = run(world.binary);
        child.stdin.write(`${INITIALIZE}\n`);
        child.stdin.flush();
        await child.stdout.getReader().read();
        const took = performance.now() - started;
        child.stdin.end();
        await withDeadline(child.exited, EXIT_MS, "the end of the bridge");
        return took;
      },
    },
  );
  const shared = { bench: "start", yardstick: "an empty Bun binary", unit: "ms" } as const;
  const rows: Comparison[] = [
    { ...shared, measured: "--version", ours: times.version, theirs: times.empty, target: atMost(3) },
    {
      ...shared,
      measured: "initialize answered",
      ours: times.initialize,
      theirs: times.empty,
      target: atMost(4),
    },
  ];
  if (!canReadMemory) return rows;
  const idle = await takeTurns(
    { rounds: 3, warmUp: 0 },
    {
      ours: async () => {
        const bridge = await connectBridge(world);
        await bridge.sandboxesStarted(1);
        await Bun.sleep(SETTLE_MS);
        const { now } = memoryOf(bridge.pid);
        await bridge.close();
        return now;
      },
      empty: async () => {
        const child = run(empty, "wait");
        await Bun.sleep(SETTLE_MS);
        const { now } = memoryOf(child.pid);
        child.kill();
        await child.exited;
        return now;
      },
    },
  );
  rows.push({
    ...shared,
    unit: "MB",
    measured: "idle memory, a sandbox ready",
    ours: idle.ours,
    theirs: idle.empty,
    target: atMost(2),
  });
  return rows;
}

/** A binary that does nothing, or waits, compiled as ours is. */
async function buildEmpty(world: World): Promise<string> {
  const source = join(world.home, "empty.ts");
  const outfile = join(world.home, "empty");
  writeFileSync(source, 'if (process.argv[2] === "wait") setTimeout(() => {}, 60_000);\n');
  const { success } = await Bun.build({
    entrypoints: [source],
    target: "bun",
    format: "esm",
    bytecode: true,
    minify: true,
    throw: false,
    compile: { outfile, autoloadBunfig: false, autoloadDotenv: false },
  });
  if (!success) throw new Error("the empty binary could not be built");
  return outfile;
}
