import MiniSearch from "minisearch";
import {
  createToolSearch,
  type SearchableServer,
  type ToolSearch,
} from "../../src/upstream/search/tool-search.ts";
import { type Comparison, valueAtLeast, valueAtMost } from "./comparison.ts";
import { readLivemcp, type Task } from "./livemcp.ts";
import type { World } from "./world.ts";

const MANY_TOOLS = 10_000;
const LIMITS = [1, 3, 5, 10] as const;
const SHOWN_LIMIT = 5;

/** Gives the names of the `limit` best tools. */
type Searcher = (query: string, limit: number) => readonly string[];

/**
 * How many of the tools that people used for a task its queries find, and how long a query takes. The catalogue of real
 * servers and the tasks are not part of this repository: they are looked for beside it.
 */
export async function benchSearch(world: World): Promise<Comparison[]> {
  const found = readLivemcp(world, "search");
  if (found === undefined) return [];
  const { tasks } = found;
  const servers = found.servers.map(withAliases);
  const queries = tasks.flatMap((task) => task.queries);

  const ours = searcherOf(await indexOf(servers));
  const words = searcherOf(await indexOf(servers, () => undefined));
  const theirs = miniSearch(servers);
  renderCoverage(
    { "MiniSearch with its defaults": theirs, "our words alone": words, "words and meaning": ours },
    tasks,
  );

  const many = grow(servers, MANY_TOOLS);
  const built = performance.now();
  const manyOurs = await indexOf(many);
  const buildMs = performance.now() - built;
  const builtTheirs = performance.now();
  const manyTheirs = miniSearch(many);
  const theirBuildMs = performance.now() - builtTheirs;
  const shared = { bench: "search", yardstick: "MiniSearch with its defaults" };
  return [
    {
      ...shared,
      measured: `tools found that ${tasks.length} tasks need, with limit ${SHOWN_LIMIT}`,
      unit: "%",
      ours: [100 * coverage(ours, tasks, SHOWN_LIMIT).share],
      theirs: [100 * coverage(theirs, tasks, SHOWN_LIMIT).share],
      target: valueAtLeast(82),
    },
    {
      ...shared,
      measured: "a query to 527 tools",
      unit: "ms",
      ours: timesOf(ours, queries),
      theirs: timesOf(theirs, queries),
      target: valueAtMost(5),
    },
    {
      ...shared,
      measured: `a query to ${MANY_TOOLS.toLocaleString("en")} tools`,
      unit: "ms",
      ours: timesOf(searcherOf(manyOurs), queries),
      theirs: timesOf(manyTheirs, queries),
      target: valueAtMost(10),
    },
    {
      ...shared,
      measured: `the index of ${MANY_TOOLS.toLocaleString("en")} tools, built once`,
      unit: "ms",
      ours: [buildMs],
      theirs: [theirBuildMs],
    },
  ];
}

export function withAliases(server: SearchableServer): SearchableServer {
  const alias = (name: string) => name.replace(/\W/g, "_");
  const tools = server.tools.map((tool) => ({ ...tool, alias: alias(tool.name) }));
  return { ...server, alias: alias(server.name), tools };
}

export async function indexOf(
  servers: readonly SearchableServer[],
  ...vectors: Parameters<typeof createToolSearch>
): Promise<ToolSearch> {
  const search = createToolSearch(...vectors);
  await search.update(servers);
  return search;
}

export function searcherOf(search: ToolSearch): Searcher {
  return (query, limit) => search.search(query, { limit }).hits.map((hit) => hit.tool);
}

function miniSearch(servers: readonly SearchableServer[]): Searcher {
  const index = new MiniSearch<{ id: number; name: string; description: string }>({
    fields: ["name", "description"],
    storeFields: ["name"],
  });
  const tools = servers.flatMap((server) => server.tools);
  index.addAll(tools.map(({ name, description }, id) => ({ id, name, description })));
  return (query, limit) =>
    index
      .search(query)
      .slice(0, limit)
      .map((hit) => String(hit["name"]));
}

/** Copies of the servers under other names, until there are `count` tools. */
export function grow(servers: readonly SearchableServer[], count: number): SearchableServer[] {
  const grown: SearchableServer[] = [];
  let total = 0;
  for (let copy = 0; total < count; copy++) {
    for (const server of servers) {
      const tools = server.tools
        .slice(0, count - total)
        .map((tool) => ({ ...tool, name: `${tool.name}_${copy}` }));
      if (tools.length > 0) grown.push({ ...server, name: `${server.name}-${copy}`, tools });
      total += tools.length;
    }
  }
  return grown;
}

export function timesOf(search: Searcher, queries: readonly string[]): number[] {
  for (const query of queries) search(query, SHOWN_LIMIT); // the machine's code is warm, as after some minutes of use
  return queries.map((query) => {
    const started = performance.now();
    search(query, SHOWN_LIMIT);
    return performance.now() - started;
  });
}

/** The share of all tools that the queries of their task find, and how many tasks have all of theirs found. */
function coverage(search: Searcher, tasks: readonly Task[], limit: number): { share: number; full: number } {
  let needed = 0;
  let found = 0;
  let full = 0;
  for (const { queries, tools } of tasks) {
    const names = new Set(queries.flatMap((query) => search(query, limit)));
    const hits = tools.filter((name) => names.has(name)).length;
    needed += tools.length;
    found += hits;
    if (hits === tools.length) full += 1;
  }
  return { share: found / needed, full };
}

function renderCoverage(searchers: Readonly<Record<string, Searcher>>, tasks: readonly Task[]): void {
  const heads = LIMITS.map((limit) => `coverage@${limit}`);
  const rows = Object.entries(searchers).map(([name, search]) => {
    const cells = LIMITS.map((limit) => coverage(search, tasks, limit).share.toFixed(3).padStart(11));
    return `${name.padEnd(30)}${cells.join("")}${`${coverage(search, tasks, SHOWN_LIMIT).full} of ${tasks.length}`.padStart(16)}`;
  });
  const head = `${"".padEnd(30)}${heads.map((text) => text.padStart(11)).join("")}${"full@5".padStart(16)}`;
  process.stderr.write(`${[head, ...rows].join("\n")}\n`);
}
