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
  readonly engine: string;
  readonly python: string;
}

/** The last run of each bench. Samples are left out: `--json` prints them. */
export interface KeptRuns {
  readonly machine: Machine;
  readonly benches: Readonly<Record<string, KeptBench>>;
}

interface KeptBench {
  /** UTC, ISO 8601. */
  readonly measuredAt: string;
  readonly commit: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Where the last run is kept. */
export function keptFile(root: string): string {
  return join(root, "docs/bench-last.json");
}

/** Asks this machine, its engine and the image. */
export async function describeMachine(world: World): Promise<Machine> {
  const containers = await Containers.find(world);
  const { engine, version, rootless, ociRuntime } = containers.engine;
  const python = await containers.outputOf(
    "python3",
    "-c",
    "import platform as p; print(p.python_implementation(), p.python_version())",
  );
  const processors = cpus();
  return {
    processors: `${processors.length} × ${processors[0]?.model.trim() ?? "unknown"}`,
    memoryGib: Number((totalmem() / GIB).toFixed(1)),
    // The rest of a release says who built the system.
    system: `${type()} ${/^\d+\.\d+/.exec(release())?.[0] ?? ""} ${arch()}`,
    bun: Bun.version,
    engine: [engine, version, rootless ? "rootless" : "as root", ociRuntime ?? "default runtime"].join(", "),
    python: python.trim(),
  };
}

/** Puts a run in the place of the older one of the same benches; on another machine, or another engine, of all. */
export function mergeRuns(
  older: KeptRuns | undefined,
  comparisons: readonly Comparison[],
  run: { readonly machine: Machine; readonly measuredAt: string; readonly commit: string },
): KeptRuns {
  const { machine, measuredAt, commit } = run;
  const isSame = older !== undefined && Bun.deepEquals(older.machine, machine);
  const benches: Record<string, KeptBench> = isSame ? { ...older.benches } : {};
  for (const [bench, rows = []] of Object.entries(Object.groupBy(comparisons, (each) => each.bench))) {
    benches[bench] = { measuredAt, commit, rows: rows.map(keptRow) };
  }
  return { machine, benches };
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
    machine: await describeMachine(world),
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
