import { connectBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { takeTurns, time } from "./statistics.ts";
import type { World } from "./world.ts";

/** Who needs a sandbox finds one; who needs a fresh Python gets it without a new container. */
export async function benchSession(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const kept = await containers.startKernel();
  const { pooled, fresh, created } = await takeTurns(
    { rounds: 8, warmUp: 1 },
    {
      pooled: () => firstResultFromPool(world),
      fresh: () => kept.timeToResetAndResult(),
      created: () => containers.timeToResult(),
    },
  );
  await kept.close();
  const yardstick = { bench: "session", yardstick: "new container to its first result", unit: "ms" } as const;
  return [
    {
      ...yardstick,
      measured: "new session from the pool to its first result",
      ours: pooled,
      theirs: created,
      target: atMost(0.1),
    },
    {
      ...yardstick,
      measured: "fresh kernel in the same container to its first result",
      ours: fresh,
      theirs: created,
      target: atMost(0.05),
    },
  ];
}

/** The first call of a client that has been connected for long enough that a sandbox waits for it. */
async function firstResultFromPool(world: World): Promise<number> {
  const bridge = await connectBridge(world);
  await bridge.sandboxesStarted(1);
  const took = await time(() => bridge.python("1"));
  await bridge.close();
  return took;
}
