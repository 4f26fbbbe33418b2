import { connectWarmBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { sums, takeTurns, time } from "./statistics.ts";
import { ECHO_SERVER, type World } from "./world.ts";

/** A call whose session is up costs little more than its two legs: the client's protocol, and the container's pipes. */
export async function benchWarm(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const [bridge, echo, raw] = await Promise.all([
    connectWarmBridge(world),
    world.connect(ECHO_SERVER.command, ECHO_SERVER.args),
    containers.startKernel(),
  ]);
  const { ours, direct, frame } = await takeTurns(
    { rounds: 400, warmUp: 100 },
    {
      ours: () => time(() => bridge.python("1")),
      direct: () => time(() => echo.call("echo", { text: "1" })),
      frame: () => time(() => raw.execute("1")),
    },
  );
  await Promise.all([bridge.close(), echo.close(), raw.close()]);
  return [
    {
      bench: "warm",
      measured: 'run_python("1") over stdio',
      yardstick: "direct SDK echo + raw frame round trip",
      unit: "ms",
      ours,
      theirs: sums(direct, frame),
      target: atMost(2),
    },
  ];
}
