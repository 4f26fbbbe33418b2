import { ExactNames } from "./exact-names.ts";
import { nameKey, type Query } from "./query.ts";
import { type IndexedServer, indexServer } from "./server-index.ts";
import { Slices } from "./slices.ts";
import { Spelling } from "./spelling.ts";
import { TermIndex, Terms } from "./term-index.ts";
import type { SearchableServer } from "./tool-search.ts";
import type { WordVectors } from "./word-vectors.ts";

/** Words of tools that are gone may stay until they are this many, and more than those still used. */
const MAX_STALE_TERMS = 10_000;

/** One tool, by its place in the whole. */
export interface Entry {
  readonly server: string;
  readonly serverIndex: number;
  readonly tool: string;
  /** The tool's name as names are compared. */
  readonly key: string;
}

/** What a search found: the best first, and how many there are in all. */
export interface Found {
  readonly best: readonly { readonly entry: Entry; readonly score: number }[];
  readonly total: number;
}

/**
 * All that is indexed. A server is taken apart once; what spans servers is made of those parts in one quick pass
 * whenever one of them changed.
 */
export class Catalog {
  readonly vectors: WordVectors | undefined;
  terms = new Terms();
  entries: readonly Entry[] = [];
  servers: readonly IndexedServer[] = [];
  /** The number of each server's first tool among the entries. */
  firstEntries: readonly number[] = [];
  index = TermIndex.empty;
  names = ExactNames.empty;
  #spelling: Spelling | undefined;
  #current: readonly SearchableServer[] = [];

  constructor(vectors: WordVectors | undefined) {
    this.vectors = vectors;
  }

  /**
   * Takes apart what is new, and forgets what is gone, in slices. All that is found meanwhile is as it was before, and
   * the next call has to wait.
   */
  async update(servers: readonly SearchableServer[]): Promise<void> {
    const same = (server: SearchableServer, at: number) => server === this.#current[at];
    if (servers === this.#current || (servers.length === this.#current.length && servers.every(same))) return;
    const isStale = this.terms.size - this.index.used > Math.max(MAX_STALE_TERMS, this.index.used);
    const terms = isStale ? new Terms() : this.terms;
    const known = new Map((isStale ? [] : this.servers).map((indexed) => [indexed.server, indexed] as const));
    const slices = new Slices();
    const indexed: IndexedServer[] = [];
    for (const server of servers) {
      indexed.push(known.get(server) ?? (await indexServer(server, terms, this.vectors, slices)));
    }
    const allTerms = indexed.flatMap((server) => server.terms);
    const index = await TermIndex.create(allTerms, terms.size, slices);
    const names = await ExactNames.create(indexed, slices);
    await slices.rest();

    this.terms = terms;
    this.servers = indexed;
    this.index = index;
    this.names = names;
    this.entries = indexed.flatMap(({ server, names: keys }, serverIndex) =>
      server.tools.map(({ name }, at) => ({
        server: server.name,
        serverIndex,
        tool: name,
        key: keys[at]?.[0] ?? "",
      })),
    );
    let next = 0;
    this.firstEntries = servers.map(({ tools }) => {
      next += tools.length;
      return next - tools.length;
    });
    this.#spelling = undefined;
    this.#current = servers;
  }

  /** The known terms that are written like `term`, the nearest first. */
  near(term: string, slips: number): number[] {
    return this.#words()
      .near(term, slips)
      .filter((id) => this.index.has(id));
  }

  /** Everything, one tool of each server in turn, so that a page shows many servers and not all of one. */
  inTurn(isMeant: (entry: Entry) => boolean): Found {
    const meant = this.entries.filter(isMeant);
    const turns = meant.map((entry, at) => ({ entry, score: 0, at, turn: 0 }));
    let turn = 0;
    for (const [at, item] of turns.entries()) {
      turn = meant[at - 1]?.serverIndex === item.entry.serverIndex ? turn + 1 : 0;
      item.turn = turn;
    }
    return {
      best: turns.sort((one, other) => one.turn - other.turn || one.at - other.at),
      total: meant.length,
    };
  }

  /**
   * Names of tools and words most like those of a query that nothing answers to, names before words; where nothing is
   * like it, the names of some tools there are.
   */
  suggest(query: Query, isMeant: (entry: Entry) => boolean, max: number): string[] {
    const listed = this.inTurn(isMeant).best;
    const names = new Map(listed.map(({ entry }) => [entry.key, entry.tool] as const));
    const spelling = new Spelling([...names.keys()]);
    const sought = new Set([query.name, ...query.tokens.slice(0, max).map(nameKey)]);
    const likeNames = [...sought].flatMap((key) => spelling.suggest(key, max));
    const likeWords = query.words
      .slice(0, max)
      .flatMap((word) => this.#words().suggest(word, this.terms.size));
    const words = likeWords.filter((term) => this.index.has(this.terms.find(term)));
    const like = new Set([...likeNames.map((key) => names.get(key) ?? key), ...words]);
    return [...(like.size > 0 ? like : new Set(listed.map(({ entry }) => entry.tool)))].slice(0, max);
  }

  #words(): Spelling {
    this.#spelling ??= new Spelling(this.terms.all);
    return this.#spelling;
  }
}
