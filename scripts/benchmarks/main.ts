import { EventEmitter } from "node:events";
import { withDeadline } from "../../src/core/lifecycle.ts";
import { benchBulk } from "./bulk.ts";
import { benchCatalogue } from "./catalogue.ts";
import { benchCold } from "./cold.ts";
import { type Comparison, exitCodeOf } from "./comparison.ts";
import { benchDoc } from "./doc.ts";
import { benchFirst } from "./first.ts";
import { benchIpykernel } from "./ipykernel.ts";
import { keepRun } from "./kept.ts";
import { benchOutput } from "./output.ts";
import { benchSearch } from "./search.ts";
import { benchSession } from "./session.ts";
import { benchSessions } from "./sessions.ts";
import { benchStart } from "./start.ts";
import { renderJson, renderTable } from "./table.ts";
import { benchTask } from "./task.ts";
import { benchTokens } from "./tokens.ts";
import { benchUpstream } from "./upstream.ts";
import { benchWarm } from "./warm.ts";
import { createWorld, type World } from "./world.ts";

/**
 * Measures what the product promises, each beside the thing it is compared with, in the same run on the same machine.
 *
 *     bun scripts/benchmarks/main.ts [NAME…] [--json] [--keep]
 *
 * On the engine that `MCP_BRIDGE_RUNTIME` names.
 */

const BENCH_DEADLINE_MS = 180_000;

const FLAGS: readonly string[] = ["--json", "--keep"];

const BENCHES: Readonly<Record<string, (world: World) => Promise<Comparison[]>>> = {
  tokens: benchTokens,
  doc: benchDoc,
  task: benchTask,
  start: benchStart,
  first: benchFirst,
  cold: benchCold,
  session: benchSession,
  sessions: benchSessions,
  warm: benchWarm,
  ipykernel: benchIpykernel,
  upstream: benchUpstream,
  bulk: benchBulk,
  output: benchOutput,
  search: benchSearch,
  catalogue: benchCatalogue,
};

// Two thousand calls at once are meant; the SDK's client waits for its pipe once for each.
EventEmitter.defaultMaxListeners = 0;

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter((arg) => !FLAGS.includes(arg));
  const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name));
  if (unknown.length > 0) {
    process.stderr.write(`error: no bench "${unknown[0]}"; there are: ${Object.keys(BENCHES).join(", ")}\n`);
    return 2;
  }
  const comparisons: Comparison[] = [];
  let failures = 0;
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const started = performance.now();
    const world = createWorld();
    try {
      comparisons.push(...(await withDeadline(bench(world), BENCH_DEADLINE_MS, `the bench "${name}"`)));
    } catch (error) {
      failures += 1;
      process.stderr.write(`error: ${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    } finally {
      await world.scope.close();
    }
    process.stderr.write(`bench: ${name} took ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  }
  if (args.includes("--keep")) await keep(comparisons);
  process.stdout.write(`${args.includes("--json") ? renderJson(comparisons) : renderTable(comparisons)}\n`);
  return exitCodeOf(comparisons, failures);
}

async function keep(comparisons: readonly Comparison[]): Promise<void> {
  const world = createWorld();
  try {
    await keepRun(world, comparisons);
  } finally {
    await world.scope.close();
  }
}

process.exit(await main(process.argv.slice(2)));
