import { connectWarmBridge } from "./bridge.ts";
import { atLeast, atMost, type Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { sums, takeTurns, time } from "./statistics.ts";
import { ECHO_SERVER, type Peer, type World } from "./world.ts";

const BLOCK = 50;
const GATHERED = 2000;

const ONE_BY_ONE = `
import json, time
took = []
for _ in range(${BLOCK}):
    started = time.perf_counter()
    await mcp_bench.echo(text="x")
    took.append((time.perf_counter() - started) * 1000)
print(json.dumps(took))`;

/** What no call from a container can do without. */
const ECHO_BYTES = `import os
while data := os.read(0, 65536): os.write(1, data)`;

const ALL_AT_ONCE = `
import asyncio, time
started = time.perf_counter()
await asyncio.gather(*(mcp_bench.echo(text="x") for _ in range(${GATHERED})))
print(${GATHERED} / (time.perf_counter() - started))`;

/** Python calls the user's servers nearly as a client on the host does. */
export async function benchUpstream(world: World): Promise<Comparison[]> {
  const bridge = await connectWarmBridge(world);
  const direct = await world.connect(ECHO_SERVER.command, ECHO_SERVER.args);
  // First the many: both sides have then compiled what they run.
  const rate = await takeTurns(
    { rounds: 7, warmUp: 1 },
    {
      ours: async () => Number(await bridge.python(ALL_AT_ONCE)),
      direct: () => allAtOnce(direct),
    },
  );
  const one: { ours: number[]; direct: number[] } = { ours: [], direct: [] };
  const keep = (samples: number[], took: readonly number[]) => {
    samples.push(...took);
    return took.length;
  };
  await oneByOne(direct);
  await bridge.python(ONE_BY_ONE);
  await takeTurns(
    { rounds: 8, warmUp: 0 },
    {
      ours: async () => keep(one.ours, JSON.parse(await bridge.python(ONE_BY_ONE)) as number[]),
      direct: async () => keep(one.direct, await oneByOne(direct)),
    },
  );
  const pipes = await (await Containers.find(world)).startSpeaker(ECHO_BYTES);
  const floor = await takeTurns(
    { rounds: 300, warmUp: 100 },
    {
      direct: () => time(() => direct.call("echo", { text: "x" })),
      pipes: () =>
        time(async () => {
          const back = pipes.waitFor("x");
          await pipes.write("x");
          await back;
        }),
    },
  );
  await Promise.all([bridge.close(), direct.close(), pipes.close()]);
  const shared = { bench: "upstream", yardstick: "SDK client, same server" };
  return [
    {
      ...shared,
      measured: "one call from Python",
      unit: "ms",
      ours: one.ours,
      theirs: one.direct,
      target: atMost(3),
    },
    {
      ...shared,
      measured: "the same",
      yardstick: "SDK client + a byte through a container and back",
      unit: "ms",
      ours: one.ours,
      theirs: sums(floor.direct, floor.pipes),
    },
    {
      ...shared,
      measured: "2,000 calls gathered",
      unit: "calls/s",
      ours: rate.ours,
      theirs: rate.direct,
      target: atLeast(0.4),
    },
  ];
}

async function oneByOne(peer: Peer): Promise<number[]> {
  const took: number[] = [];
  for (let call = 0; call < BLOCK; call += 1) {
    const started = performance.now();
    await peer.call("echo", { text: "x" });
    took.push(performance.now() - started);
  }
  return took;
}

async function allAtOnce(peer: Peer): Promise<number> {
  const started = performance.now();
  await Promise.all(Array.from({ length: GATHERED }, () => peer.call("echo", { text: "x" })));
  return GATHERED / ((performance.now() - started) / 1000);
}
