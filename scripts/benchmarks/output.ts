import { connectWarmBridge } from "./bridge.ts";
import { atMost, type Comparison, valueAtMost } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { canReadMemory, memoryOf } from "./memory.ts";
import { takeTurns, time } from "./statistics.ts";
import type { World } from "./world.ts";

const MB = 1_000_000;
const BYTES = 100 * MB;
const LINE = 1000;

const print = (bytes: number) => `line = "x" * ${LINE - 1}
for _ in range(${bytes / LINE}): print(line)`;

/** Waits for the bench's word, so that the start of the container is not part of it. */
const BARE = `import sys
sys.stdin.readline()
${print(BYTES)}
print("the end", flush=True)`;

/** Much output costs no more time than it takes to leave the container, and no memory. */
export async function benchOutput(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const bridge = await connectWarmBridge(world);
  await bridge.python(print(MB)); // 1 MB: what all programs print
  const before = canReadMemory ? memoryOf(bridge.pid).now : 0;
  const { ours, bare } = await takeTurns(
    { rounds: 5, warmUp: 1 },
    {
      ours: () => time(() => bridge.python(print(BYTES))),
      bare: async () => {
        const container = await containers.start("python3", "-I", "-c", BARE);
        const took = await time(async () => {
          await container.write("go\n");
          await container.waitFor("the end");
        });
        await container.ended();
        return took;
      },
    },
  );
  const growth = canReadMemory ? memoryOf(bridge.pid).peak - before : Number.NaN;
  await bridge.close();
  const shared = {
    bench: "output",
    yardstick: `the same into ${containers.engine.engine} run, discarded`,
  };
  const printed: Comparison = {
    ...shared,
    measured: "print 100 MB",
    unit: "ms",
    ours,
    theirs: bare,
    target: atMost(2),
  };
  if (!canReadMemory) return [printed];
  return [
    printed,
    {
      bench: "output",
      measured: "memory gained at most while 600 MB are printed",
      yardstick: "memory after 1 MB was printed",
      unit: "MB",
      ours: [growth],
      theirs: [before],
      target: valueAtMost(64, 0.25),
    },
  ];
}
