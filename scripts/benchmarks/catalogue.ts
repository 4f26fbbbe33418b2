import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withDeadline } from "../../src/core/lifecycle.ts";
import { connectBridge } from "./bridge.ts";
import { atMost, type Comparison, valueAtMost } from "./comparison.ts";
import { readLivemcp } from "./livemcp.ts";
import { canReadMemory, memoryOf } from "./memory.ts";
import { grow, indexOf, searcherOf, timesOf, withAliases } from "./search.ts";
import { takeTurns } from "./statistics.ts";
import type { World } from "./world.ts";

const COUNTS = [10, 100, 1000] as const;
const TOOLS_OF_ONE = 10;
const SETTLE_MS = 1000;
const START_MS = 20_000;

/** What more servers cost: the start of a bridge that knows them, its memory, a search among their tools. */
export async function benchCatalogue(world: World): Promise<Comparison[]> {
  const rows = await compareStarts(world);
  if (canReadMemory) rows.push(...(await compareMemory(world)));
  return [...rows, ...(await compareSearch(world))];
}

/** A bridge that starts as usual, and one for which a file has changed since the last. */
async function compareStarts(world: World): Promise<Comparison[]> {
  world.defineServers({});
  const files = new Map(COUNTS.map((count) => [count, writeServers(world, count)]));
  const cases = COUNTS.flatMap((count) => {
    const file = files.get(count) ?? "";
    const changed = () => {
      const now = new Date();
      utimesSync(file, now, now);
      return timeToStart(world, file);
    };
    return [[`${count}`, () => timeToStart(world, file)] as const, [`${count} changed`, changed] as const];
  });
  const starts = await takeTurns({ rounds: 7, warmUp: 1 }, Object.fromEntries(cases));
  const compare = (count: number, how: string, what: string): Comparison => ({
    bench: "catalogue",
    measured: `a bridge with ${count} servers has listed its tool${what}`,
    yardstick: `with ${COUNTS[0]}${what}`,
    unit: "ms",
    ours: starts[`${count}${how}`] ?? [],
    theirs: starts[`${COUNTS[0]}${how}`] ?? [],
  });
  const more = COUNTS.slice(1);
  return [
    ...more.map((count) => ({ ...compare(count, "", ""), target: atMost(1) })),
    ...more.map((count) => compare(count, " changed", ", its file just changed")),
  ];
}

async function compareMemory(world: World): Promise<Comparison[]> {
  const [few = 0, ...more] = await inTurn(COUNTS, async (count) => {
    world.defineServers(many(count));
    const bridge = await connectBridge(world);
    await bridge.python("len(runtime.discovered_servers())");
    await Bun.sleep(SETTLE_MS);
    const { now } = memoryOf(bridge.pid);
    await bridge.close();
    return now;
  });
  return more.map((ours, index) => ({
    bench: "catalogue",
    measured: `memory of a bridge that told Python of ${COUNTS[index + 1]} servers`,
    yardstick: `of ${COUNTS[0]}`,
    unit: "MB",
    ours: [ours],
    theirs: [few],
  }));
}

async function compareSearch(world: World): Promise<Comparison[]> {
  const found = readLivemcp(world, "the search of catalogue");
  if (found === undefined) return [];
  const servers = found.servers.map(withAliases);
  const queries = found.tasks.flatMap(({ queries: some }) => some);
  const [few = [], ...more] = await inTurn(COUNTS, async (count) =>
    timesOf(searcherOf(await indexOf(grow(servers, count * TOOLS_OF_ONE))), queries),
  );
  return more.map((ours, index) => ({
    bench: "catalogue",
    measured: `a query to the ${TOOLS_OF_ONE * (COUNTS[index + 1] ?? 0)} tools of ${COUNTS[index + 1]} servers`,
    yardstick: `of ${COUNTS[0]}`,
    unit: "ms",
    ours,
    theirs: few,
    target: valueAtMost(10),
  }));
}

async function timeToStart(world: World, serversConfig: string): Promise<number> {
  const started = performance.now();
  const peer = await world.connect(world.binary, [], { env: { MCP_SERVERS_CONFIG: serversConfig } });
  await withDeadline(peer.client.listTools(), START_MS, "tools/list");
  const took = performance.now() - started;
  await peer.close(); // its end must not cost the next one
  return took;
}

function writeServers(world: World, count: number): string {
  const file = join(world.home, `servers-${count}.json`);
  writeFileSync(file, JSON.stringify({ mcpServers: many(count) }));
  return file;
}

/** Servers that nobody starts. */
function many(count: number): Record<string, unknown> {
  const entry = { command: "never-started", args: [] };
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`server-${index}`, entry]));
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
