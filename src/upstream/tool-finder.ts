import type { ServerDefinition } from "../discovery/server-definition.ts";
import type { ToolMatch, ToolMatches, ToolQuery } from "../kernel/host-tools.ts";
import type { CatalogueReader, KnownServer } from "./catalogue/catalogue.ts";
import type { SearchableServer, ToolSearch } from "./search/tool-search.ts";

const MAX_UNKNOWN_NAMED = 3;

interface Prepared {
  readonly definition: ServerDefinition;
  readonly known: KnownServer;
  readonly searchable: SearchableServer;
}

/** Searches the tools that are known of servers. The index is loaded by the first search, and shared by all sessions. */
export class ToolFinder {
  readonly #catalogue: CatalogueReader;
  #prepared: ReadonlyMap<string, Prepared> = new Map();
  #search: Promise<ToolSearch> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(catalogue: CatalogueReader) {
    this.#catalogue = catalogue;
  }

  /** The best matches among `servers`, whose tools the catalogue has loaded. One search at a time: each has its servers. */
  find(servers: readonly ServerDefinition[], query: ToolQuery): Promise<Omit<ToolMatches, "learning">> {
    const found = this.#turn.then(() => this.#find(servers, query));
    this.#turn = found.catch(() => undefined);
    return found;
  }

  async #find(
    servers: readonly ServerDefinition[],
    { query, limit, server }: ToolQuery,
  ): Promise<Omit<ToolMatches, "learning">> {
    this.#search ??= import("./search/tool-search.ts").then(({ createToolSearch }) => createToolSearch());
    const search = await this.#search;
    const prepared = servers.flatMap((definition) => this.#prepare(definition) ?? []);
    const byName = new Map(prepared.map((each) => [each.definition.name, each]));
    this.#prepared = byName;
    await search.update(prepared.map(({ searchable }) => searchable));
    const { hits, total, suggestions } = search.search(query, {
      limit,
      ...(server === null ? {} : { server }),
    });
    const unknown =
      server === null ? servers.filter((each) => this.#catalogue.known(each) === undefined) : [];
    const meant = prepared.filter(({ definition }) => server === null || definition.name === server);
    return {
      matches: hits.flatMap(({ server: name, tool }) => matchOf(byName.get(name), tool)),
      total,
      searched: meant.reduce((sum, { known }) => sum + known.tools.length, 0),
      unknown: unknown.length,
      unknownServers: unknown.slice(0, MAX_UNKNOWN_NAMED).map(({ name }) => name),
      suggestions,
    };
  }

  /** The same object for as long as the server's tools are the same: only another one is indexed anew. */
  #prepare(definition: ServerDefinition): Prepared | undefined {
    const { name, alias } = definition;
    const known = this.#catalogue.known(definition);
    if (known === undefined) return undefined;
    const before = this.#prepared.get(name);
    const description = definition.description || (known.info.title ?? "");
    if (
      before !== undefined &&
      before.known.tools === known.tools &&
      before.searchable.alias === alias &&
      before.searchable.description === description
    ) {
      return { definition, known, searchable: before.searchable };
    }
    return { definition, known, searchable: { name, alias, description, tools: known.tools } };
  }
}

function matchOf(found: Prepared | undefined, wanted: string): readonly ToolMatch[] {
  const tool = found?.known.tools.find(({ name }) => name === wanted);
  if (found === undefined || tool === undefined) return [];
  const { name, alias } = found.definition;
  return [{ server: name, serverAlias: alias, tool }];
}
