import { atMost, type Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { takeTurns, time } from "./statistics.ts";
import { runPython, type World } from "./world.ts";

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
  const ready = Promise.withResolvers<void>();
  let log = "";
  const bridge = await world.connect(world.binary, [], {
    env: { MCP_BRIDGE_LOG_LEVEL: "DEBUG" },
    onStderr: (text) => {
      log += text;
      if (log.includes("started a sandbox")) ready.resolve();
    },
  });
  await ready.promise;
  const took = await time(() => runPython(bridge, "1"));
  await bridge.close();
  return took;
}
