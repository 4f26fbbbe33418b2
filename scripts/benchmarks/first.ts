import { connectBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { takeTurns, time } from "./statistics.ts";
import type { World } from "./world.ts";

/** From nothing to the first result takes little longer than a bare container does. */
export async function benchFirst(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const { ours, bare } = await takeTurns(
    { rounds: 8, warmUp: 1 },
    {
      ours: async () => {
        const started = performance.now();
        const bridge = await connectBridge(world);
        await bridge.python("1");
        const took = performance.now() - started;
        await bridge.close();
        return took;
      },
      bare: () => time(async () => (await containers.start("python3", "-I", "-c", "pass")).ended()),
    },
  );
  return [
    {
      bench: "first",
      measured: "start of the process to its first result",
      yardstick: `${containers.engine.engine} run … python3 -c pass, same flags`,
      unit: "ms",
      ours,
      theirs: bare,
      target: atMost(1.3),
    },
  ];
}
