import { Catalog, type Entry } from "./catalog.ts";
import { parseQuery } from "./query.ts";
import { rank } from "./ranking.ts";
import { loadWordVectors } from "./word-table.ts";
import type { WordVectors } from "./word-vectors.ts";

/** One server as search sees it; a new object stands for a changed server. */
export interface SearchableServer {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly tools: readonly {
    readonly name: string;
    readonly alias: string;
    readonly description: string;
    readonly inputSchema: Readonly<Record<string, unknown>>;
  }[];
}

export interface SearchHit {
  /** The names, not the aliases. */
  readonly server: string;
  readonly tool: string;
  /** The higher the better, to be compared within one answer; 0 in a list of everything. */
  readonly score: number;
}

export interface SearchAnswer {
  /** The best first; a tool that the query names comes before all that it only describes. */
  readonly hits: readonly SearchHit[];
  /** How many tools answer to the query, shown or not. */
  readonly total: number;
  /** Where nothing does: names and words most like those of the query, or else some names that there are. */
  readonly suggestions: readonly string[];
}

/** Finds tools by what they are called or by what they do. */
export interface ToolSearch {
  /**
   * Indexes these servers in place of those before; the same object again costs nothing. Ten thousand new tools take a
   * second, in slices between which the event loop goes on. Until it has resolved, searches find what was there before,
   * and it is not to be called again.
   */
  update(servers: readonly SearchableServer[]): Promise<void>;
  /**
   * The `limit` best tools, of one server (its name or alias) if said. A query without words lists the tools, each
   * server in turn. Of a query the first 2,000 characters count.
   */
  search(query: string, options: { readonly limit: number; readonly server?: string }): SearchAnswer;
}

const MAX_SUGGESTIONS = 5;

/** `vectors` is called once; without vectors, words alone decide. */
export function createToolSearch(vectors: () => WordVectors | undefined = loadWordVectors): ToolSearch {
  const catalog = new Catalog(vectors());
  return {
    update: (servers) => catalog.update(servers),
    search: (text, { limit, server }) => {
      const query = parseQuery(text);
      const only = server === undefined ? undefined : new Set(indexesOf(catalog, server));
      const isMeant = only === undefined ? () => true : (entry: Entry) => only.has(entry.serverIndex);
      const found = rank(query, catalog, isMeant, limit);
      const hits = found.best.slice(0, Math.max(0, limit));
      return {
        hits: hits.map(({ entry, score }) => ({ server: entry.server, tool: entry.tool, score })),
        total: found.total,
        suggestions: found.total > 0 ? [] : catalog.suggest(query, isMeant, MAX_SUGGESTIONS),
      };
    },
  };
}

/** The servers that a name stands for: the one that is called exactly so, else all that are called about so. */
function indexesOf({ names, servers }: Catalog, name: string): readonly number[] {
  const alike = names.servers(name);
  const exact = alike.filter((index) => servers[index]?.server.name === name);
  return exact.length > 0 ? exact : alike;
}
