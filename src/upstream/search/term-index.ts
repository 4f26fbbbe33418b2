import type { Slices } from "./slices.ts";

/** How soon a repeated word stops to count, and how much a long text is held against a tool (BM25). */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.5;

/** The words of one tool: term ids, each with its count weighted by the fields where it stands. */
export interface ToolTerms {
  readonly ids: Uint32Array;
  readonly weights: Float32Array;
  /** The weighted count of all words. */
  readonly length: number;
}

/** Numbers for terms, given out as they come; a number is never given twice. */
export class Terms {
  readonly #ids = new Map<string, number>();
  /** The terms, by their numbers. */
  readonly all: string[] = [];
  /** A whole word for each term, as it was first met. */
  readonly words: string[] = [];

  get size(): number {
    return this.all.length;
  }

  find(term: string): number | undefined {
    return this.#ids.get(term);
  }

  add(term: string, word: string): number {
    const known = this.#ids.get(term);
    if (known !== undefined) return known;
    this.#ids.set(term, this.all.length);
    this.words.push(word);
    return this.all.push(term) - 1;
  }
}

/**
 * Which tools have a term, over all tools at once (BM25F: the fields of a tool are weighted before its words saturate).
 * Built in one pass over numbers, so that it can be thrown away whenever a server changes.
 */
export class TermIndex {
  readonly count: number;
  /** How many terms some tool still has. */
  readonly used: number;
  readonly #starts: Uint32Array;
  readonly #tools: Uint32Array;
  readonly #shares: Float32Array;

  private constructor(
    count: number,
    starts: Uint32Array,
    entries: { readonly tools: Uint32Array; readonly shares: Float32Array },
  ) {
    this.count = count;
    this.used = starts.reduce((sum, start, id) => sum + (start > (starts[id - 1] ?? 0) ? 1 : 0), 0);
    this.#starts = starts;
    this.#tools = entries.tools;
    this.#shares = entries.shares;
  }

  static readonly empty = new TermIndex(0, new Uint32Array(1), {
    tools: new Uint32Array(),
    shares: new Float32Array(),
  });

  /** `terms` is how many terms there are: all numbers in `tools` are lower. */
  static async create(tools: readonly ToolTerms[], terms: number, slices: Slices): Promise<TermIndex> {
    const starts = new Uint32Array(terms + 1);
    let total = 0;
    let length = 0;
    for (const tool of tools) {
      if (slices.isOver()) await slices.rest();
      total += tool.ids.length;
      length += tool.length;
      for (const id of tool.ids) starts[id + 1] = (starts[id + 1] ?? 0) + 1;
    }
    for (let id = 0; id < terms; id++) starts[id + 1] = (starts[id + 1] ?? 0) + (starts[id] ?? 0);
    const average = length / Math.max(1, tools.length) || 1;
    const next = starts.slice();
    const entries = { tools: new Uint32Array(total), shares: new Float32Array(total) };
    for (const [slot, tool] of tools.entries()) {
      if (slices.isOver()) await slices.rest();
      const half = SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * tool.length) / average);
      for (let index = 0; index < tool.ids.length; index++) {
        const id = tool.ids[index] ?? 0;
        const weight = tool.weights[index] ?? 0;
        const at = next[id] ?? 0;
        next[id] = at + 1;
        entries.tools[at] = slot;
        entries.shares[at] = weight / (weight + half);
      }
    }
    return new TermIndex(tools.length, starts, entries);
  }

  /** How rare a term is: near 0 for one that every tool has, the most for one that none has. */
  rarity(id: number | undefined): number {
    const having = id === undefined ? 0 : (this.#starts[id + 1] ?? 0) - (this.#starts[id] ?? 0);
    return Math.log(1 + (this.count - having + 0.5) / (having + 0.5));
  }

  has(id: number | undefined): boolean {
    return id !== undefined && (this.#starts[id + 1] ?? 0) > (this.#starts[id] ?? 0);
  }

  /** Adds `weight` times how well each tool answers to the term (0 to 1) to `scores`, one number for each tool. */
  addScores(id: number, weight: number, scores: Float32Array): void {
    const end = this.#starts[id + 1] ?? 0;
    for (let at = this.#starts[id] ?? 0; at < end; at++) {
      const slot = this.#tools[at] ?? 0;
      scores[slot] = (scores[slot] ?? 0) + weight * (this.#shares[at] ?? 0);
    }
  }
}
