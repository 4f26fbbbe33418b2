import { connectWarmBridge } from "./bridge.ts";
import { atMost, type Comparison } from "./comparison.ts";
import { Containers, type RawContainer } from "./containers.ts";
import { sums, takeTurns, time } from "./statistics.ts";
import { ECHO_SERVER, type World } from "./world.ts";

const BYTES = 10_000_000;

const IN = `
import time
started = time.perf_counter()
result = await mcp_bench.make(bytes=${BYTES})
took = time.perf_counter() - started
assert len(result.text) == ${BYTES}
print(took * 1000)`;

const OUT = `
import time
text = ("The quick brown fox jumps over the lazy dog, 0123456789.\\n" * ${BYTES / 50})[:${BYTES}]
started = time.perf_counter()
result = await mcp_bench.take(text=text)
took = time.perf_counter() - started
assert result.text == "${BYTES}", result.text
print(took * 1000)`;

/** Takes bytes, or gives them, as it is told. */
const PIPES = `import sys
read, write = sys.stdin.buffer, sys.stdout.buffer
while command := read.readline():
    if command == b"in\\n": read.read(${BYTES})
    else: write.write(b"x" * ${BYTES})
    write.write(b"\\nthe end\\n")
    write.flush()`;

/** Large values pass at a small multiple of what the two legs cost alone. */
export async function benchBulk(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const [bridge, direct, pipes] = await Promise.all([
    connectWarmBridge(world),
    world.connect(ECHO_SERVER.command, ECHO_SERVER.args),
    containers.startSpeaker(PIPES),
  ]);
  const text = "The quick brown fox jumps over the lazy dog, 0123456789.\n"
    .repeat(BYTES / 50)
    .slice(0, BYTES);
  const raw = Buffer.alloc(BYTES, "x");
  const samples = await takeTurns(
    { rounds: 8, warmUp: 2 },
    {
      resultIn: async () => Number(await bridge.python(IN)),
      argumentOut: async () => Number(await bridge.python(OUT)),
      directMake: () => time(() => direct.call("make", { bytes: BYTES })),
      directTake: () => time(() => direct.call("take", { text })),
      pipeIn: () => transfer(pipes, "in", raw),
      pipeOut: () => transfer(pipes, "out"),
    },
  );
  await Promise.all([bridge.close(), direct.close(), pipes.close()]);
  const shared = {
    bench: "bulk",
    yardstick: "SDK client + raw transfer",
    unit: "ms",
    target: atMost(3),
  } as const;
  return [
    {
      ...shared,
      measured: "10 MB result into Python",
      ours: samples.resultIn,
      theirs: sums(samples.directMake, samples.pipeIn),
    },
    {
      ...shared,
      measured: "10 MB argument out of Python",
      ours: samples.argumentOut,
      theirs: sums(samples.directTake, samples.pipeOut),
    },
  ];
}

/** Milliseconds until the container has taken, or given, all bytes. */
function transfer(container: RawContainer, direction: "in" | "out", bytes?: Uint8Array): Promise<number> {
  return time(async () => {
    const done = container.waitFor("the end");
    await container.write(`${direction}\n`);
    if (bytes !== undefined) await container.write(bytes);
    await done;
  });
}
