import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { arch, cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import type { Comparison } from "./comparison.ts";
import { judge, ratioOf } from "./comparison.ts";
import { Containers } from "./containers.ts";
import { median, p95 } from "./statistics.ts";
import type { World } from "./world.ts";

const GIB = 1024 ** 3;
const DIGITS = 4;

/** What decides how fast a machine is, and nothing that names it. */
export interface Machine {
  readonly processors: string;
  readonly memoryGib: number;
  readonly system: string;
  readonly bun: string;
}

/** An engine of it, and the Python of the image there. */
export interface Engine {
  readonly name: "podman" | "docker";
  /** Version, with or without root, OCI runtime. */
  readonly what: string;
  readonly python: string;
}

/** The last run of each bench on each engine. Samples are left out: `--json` prints them. */
export interface KeptRuns {
  readonly machine: Machine;
  readonly engines: Readonly<Partial<Record<Engine["name"], KeptEngine>>>;
}

interface KeptEngine {
  readonly what: string;
  readonly python: string;
  readonly benches: Readonly<Record<string, KeptBench>>;
}

interface KeptBench {
  /** UTC, ISO 8601. */
  readonly measuredAt: string;
  readonly commit: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Where and when something was measured. */
export interface Run {
  readonly machine: Machine;
  readonly engine: Engine;
  readonly measuredAt: string;
  readonly commit: string;
}

/** Where the last run is kept. */
function keptFile(root: string): string {
  return join(root, "docs/bench-last.json");
}

/** Describes this machine. */
function describeMachine(): Machine {
  const processors = cpus();
  return {
    processors: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    memoryGib: Number((totalmem() / GIB).toFixed(1)),
    // The rest of a release says who built the system.
    system: `${type()} ${/^\d+\.\d+/.exec(release())?.[0] ?? ""} ${arch()}`,
    bun: Bun.version,
  };
}

/** Asks the engine in use and the image. */
export async function describeEngine(world: World): Promise<Engine> {
  const containers = await Containers.find(world);
  const { engine: name, version, rootless, ociRuntime } = containers.engine;
  const python = await containers.outputOf(
    "python3",
    "-c",
    "import platform as p; print(p.python_implementation(), p.python_version())",
  );
  const what = [version, rootless ? "rootless" : "as root", ociRuntime ?? "default runtime"].join(", ");
  return { name, what, python: python.trim() };
}

/**
 * Puts a run in the place of the older one of the same benches on the same engine; on another machine, of all; with another
 * version of the engine, or another Python, of all on that engine.
 */
export function mergeRuns(
  older: KeptRuns | undefined,
  comparisons: readonly Comparison[],
  { machine, engine, measuredAt, commit }: Run,
): KeptRuns {
  const engines = older !== undefined && Bun.deepEquals(older.machine, machine) ? older.engines : {};
  const { name, what, python } = engine;
  const known = engines[name];
  const isSame = known?.what === what && known.python === python;
  const benches: Record<string, KeptBench> = isSame ? { ...known.benches } : {};
  for (const [bench, rows = []] of Object.entries(Object.groupBy(comparisons, (each) => each.bench))) {
    benches[bench] = { measuredAt, commit, rows: rows.map(keptRow) };
  }
  return { machine, engines: { ...engines, [name]: { what, python, benches } } };
}

/** Keeps a run beside the documents. */
export async function keepRun(world: World, comparisons: readonly Comparison[]): Promise<void> {
  const file = keptFile(world.root);
  const older = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as KeptRuns) : undefined;
  const commit = Bun.spawnSync([
    "git",
    "-C",
    world.root,
    "rev-parse",
    "--short=12",
    "HEAD",
  ]).stdout.toString();
  const kept = mergeRuns(older, comparisons, {
    machine: describeMachine(),
    engine: await describeEngine(world),
    measuredAt: new Date().toISOString(),
    commit: commit.trim() || "unknown",
  });
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}

function keptRow(comparison: Comparison): Readonly<Record<string, unknown>> {
  const { measured, yardstick, unit, ours, theirs, target } = comparison;
  const isBound = target === undefined ? {} : { target: { of: target.of, [target.bound]: target.limit } };
  return {
    measured,
    unit,
    samples: ours.length,
    median: rounded(median(ours)),
    p95: rounded(p95(ours)),
    yardstick,
    yardstickMedian: rounded(median(theirs)),
    yardstickP95: rounded(p95(theirs)),
    ratio: rounded(ratioOf(comparison)),
    ...isBound,
    verdict: judge(comparison),
  };
}

/** `null` where nothing was measured, as JSON has no NaN. */
function rounded(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : null;
}
