import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectBridge } from "./bridge.ts";
import type { Comparison } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { callEngine, deriveImage } from "./derived-image.ts";
import { takeTurns, time } from "./statistics.ts";
import type { World } from "./world.ts";

const ROUNDS = 4;
/** Linux lets root drop what it keeps in memory of files: pages, folders and names. */
const DROP_CACHES = "/proc/sys/vm/drop_caches";
const EARLY_CALLS = 10;
const LATE_FROM = 200;
const LATE_CALLS = 100;

/** What the first one pays who comes after a boot, an update, a new image; and what a bridge pays until it is compiled. */
export async function benchCold(world: World): Promise<Comparison[]> {
  const containers = await Containers.find(world);
  const shared = { bench: "cold", unit: "ms" } as const;
  const images: string[] = [];
  const { known, unknown, image } = await takeTurns(
    { rounds: ROUNDS, warmUp: 1 },
    {
      known: () => timeToFirst(world),
      unknown: () => timeToFirst(world, { XDG_CACHE_HOME: mkdtempSync(join(world.home, "cache-")) }),
      image: async () => {
        const name = await makeImage(world, containers, images.length);
        images.push(name);
        return timeToFirst(world, { MCP_BRIDGE_IMAGE: name });
      },
    },
  );
  await callEngine(world, containers, ["rmi", ...images]);
  const same = { yardstick: "the same, nothing cold", theirs: known } as const;
  return [
    ...(await compareWithoutFiles(world, containers, known)),
    { ...shared, ...same, measured: "first result, the engine's facts not known", ours: unknown },
    { ...shared, ...same, measured: "first result, an image just made", ours: image },
    await compareCalls(world),
  ];
}

async function compareWithoutFiles(
  world: World,
  containers: Containers,
  warm: readonly number[],
): Promise<Comparison[]> {
  if (!dropCaches()) {
    process.stderr.write(`bench: cold without files on disk is left out: ${DROP_CACHES} is not ours\n`);
    return [];
  }
  const { ours, bare } = await takeTurns(
    { rounds: ROUNDS, warmUp: 0 },
    {
      ours: () => {
        dropCaches();
        return timeToFirst(world);
      },
      bare: () => {
        dropCaches();
        return time(async () => (await containers.start("python3", "-I", "-c", "pass")).ended());
      },
    },
  );
  const shared = { bench: "cold", unit: "ms", ours } as const;
  const engine = containers.engine.engine;
  return [
    {
      ...shared,
      measured: "first result, all files on disk",
      yardstick: `${engine} run … python3 -c pass, all files on disk`,
      theirs: bare,
    },
    { ...shared, measured: "the same", yardstick: "the same, nothing cold", theirs: warm },
  ];
}

/** Drops what is in memory of files; false where that is not allowed. */
function dropCaches(): boolean {
  try {
    Bun.spawnSync(["sync"]); // what is still to be written would stay
    writeFileSync(DROP_CACHES, "3");
    return true;
  } catch {
    return false; // no Linux, or no right to
  }
}

async function compareCalls(world: World): Promise<Comparison> {
  const bridge = await connectBridge(world);
  await bridge.python("1");
  const took: number[] = [];
  while (took.length < LATE_FROM + LATE_CALLS) took.push(await time(() => bridge.python("1")));
  await bridge.close();
  return {
    bench: "cold",
    unit: "ms",
    measured: `calls 2 to ${EARLY_CALLS + 1} of a bridge`,
    yardstick: `its calls ${LATE_FROM} to ${LATE_FROM + LATE_CALLS}`,
    ours: took.slice(0, EARLY_CALLS),
    theirs: took.slice(LATE_FROM),
  };
}

/** Milliseconds from the start of a bridge to its first result. */
async function timeToFirst(world: World, env: Readonly<Record<string, string>> = {}): Promise<number> {
  const started = performance.now();
  const bridge = await connectBridge(world, env);
  await bridge.python("1");
  const took = performance.now() - started;
  await bridge.close();
  return took;
}

/** An image that has never run. */
async function makeImage(world: World, containers: Containers, nth: number): Promise<string> {
  const image = `localhost/sandpy-bench:cold-${process.pid}-${nth}`;
  const source = join(world.home, "unlike");
  writeFileSync(source, image);
  await deriveImage(world, containers, { image, source, target: "/unlike" });
  return image;
}
