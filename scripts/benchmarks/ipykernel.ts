import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildRunArgs } from "../../src/container/run-args.ts";
import { startChild } from "../../src/core/child.ts";
import { readOwnLimits } from "../../src/core/own-limits.ts";
import { type Bridge, connectWarmBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { IPYKERNEL_COMMAND, makeIpykernelImage } from "./ipykernel-image.ts";
import { takeTurns, time } from "./statistics.ts";
import type { World } from "./world.ts";

/** What people and models run: values, output, definitions, imports, an await, a mistake. */
const CELLS = [
  "1",
  "x = 41",
  "x + 1",
  "print('hello')",
  "import math\nmath.sqrt(2)",
  "def double(value):\n    return 2 * value",
  "double(x)",
  "[n * n for n in range(1000)]",
  "import asyncio\nawait asyncio.sleep(0)\n'done'",
  "1 / 0",
];
const ONE = ["1"];
/** Cells of a turn: after the other's, which go on for a while, it takes eight until one takes as long as the next. */
const TURN = 50;
/** With this, as many cells as the bench "warm" has calls. */
const ROUNDS = 8;
const WARM_UP = 2;

/** Faster than the kernel that everyone knows, in the same image. */
export async function benchIpykernel(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const { image, origin } = await makeIpykernelImage(world, containers);
  const [bridge, theirs, kept] = await Promise.all([
    connectWarmBridge(world),
    startDriver(world, containers, image),
    containers.startKernel(),
  ]);
  const one = await cellsByTurns(bridge, theirs, ONE);
  const mixed = await cellsByTurns(bridge, theirs, CELLS);
  const start = await takeTurns(
    { rounds: 5, warmUp: 1 },
    {
      fresh: () => kept.timeToResetAndResult(),
      container: () => containers.timeToResult(),
      ipykernel: () => theirs(null),
    },
  );
  await Promise.all([bridge.close(), kept.close()]);
  const shared = { bench: "ipykernel", unit: "ms" } as const;
  const started = { ...shared, yardstick: `start of ${origin} to its first result`, theirs: start.ipykernel };
  return [
    {
      ...shared,
      measured: 'run_python("1")',
      yardstick: `execute round trip of ${origin}, same image`,
      ...one,
      target: atMost(0.2),
    },
    {
      ...shared,
      measured: "run_python, mixed cells",
      yardstick: `${origin}, same cells, same image`,
      ...mixed,
    },
    { ...started, measured: "start of a kernel to its first result", ours: start.fresh, target: atMost(0.1) },
    { ...started, measured: "the same, its container included", ours: start.container },
  ];
}

/** By turns of many cells, not by cells: ipykernel goes on working after its answer (it keeps a history on disk). */
async function cellsByTurns(
  bridge: Bridge,
  theirs: Driver,
  cells: readonly string[],
): Promise<{ ours: number[]; theirs: number[] }> {
  const samples = { ours: [] as number[], theirs: [] as number[] };
  const turn = Array.from({ length: TURN / cells.length }, () => cells).flat();
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const ours: number[] = [];
    const others: number[] = [];
    // One of the cells fails, as it is meant to.
    for (const code of turn) ours.push(await time(() => bridge.python(code).catch(() => undefined)));
    for (const code of turn) others.push(await theirs(code));
    if (round < 0) continue;
    samples.ours.push(...ours);
    samples.theirs.push(...others);
  }
  return samples;
}

/** Runs a cell in ipykernel, or, without one, starts another kernel and ends it; returns the milliseconds. */
type Driver = (code: string | null) => Promise<number>;

/**
 * Kernel and client are in one container, and the client takes the time: none of ours is between them. The flags are the
 * product's but for the filter of system calls: ipykernel needs TCP sockets, which that refuses.
 */
async function startDriver(world: World, containers: Containers, image: string): Promise<Driver> {
  const program = readFileSync(join(import.meta.dir, "programs/ipykernel-driver.py"), "utf8");
  const { engine, remote, ociRuntime } = containers.engine;
  const { containerUser: user, memoryBytes, pids, cpus, projectsQuotaBytes } = world.config;
  const spec = {
    image,
    user,
    limits: { memoryBytes, pids, cpus, projectsBytes: projectsQuotaBytes },
    command: [...IPYKERNEL_COMMAND, program],
  };
  const name = `sandpy-bench-ipykernel-${process.pid}`;
  const hardLimits = readOwnLimits("hard");
  const plan = { engine, remote, ociRuntime, spec, name, labels: {}, hardLimits, imageVolumes: [] };
  const args = buildRunArgs({ ...plan, seccompProfile: "unconfined" });
  const child = await startChild({ command: engine, args, env: world.env });
  world.scope.add("ipykernel", () => child.stop());
  const chunks = child.stdout[Symbol.asyncIterator]();
  const answer = async () => {
    let text = "";
    while (!text.endsWith("\n")) {
      const { done, value } = await chunks.next();
      if (done === true) throw new Error(`ipykernel's driver ended: ${child.stderrText()}`);
      text += Buffer.from(value).toString();
    }
    return JSON.parse(text) as number;
  };
  await answer();
  return async (code) => {
    await child.write(`${JSON.stringify(code)}\n`);
    return answer();
  };
}
