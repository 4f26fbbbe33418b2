import type { Catalog, Entry, Found } from "./catalog.ts";
import type { Query } from "./query.ts";
import { allowedSlips } from "./spelling.ts";
import { toUnitLength } from "./word-vectors.ts";
import { termsOf } from "./words.ts";

/** What the words of a query count beside its meaning; both lie between 0 and 1. */
const WORDS_WEIGHT = 0.3;
/** Less alike in meaning than this is not alike. */
const MIN_LIKENESS = 0.25;
/** A word that was taken for another counts less, and so does one of which only pieces are known: most are names. */
const CORRECTED_WEIGHT = 0.7;
const PIECES_WEIGHT = 0.3;
/** Of the words of a query only some are looked at so closely. */
const MAX_CORRECTED = 8;
/** More than any score of meaning and words. */
const EXACT_SCORE = 10;

/** A word of the query, as it is looked up. */
interface SoughtWord {
  readonly word: string;
  readonly ids: readonly number[];
  readonly weight: number;
  /** Whether it is a word at all, as far as we know. */
  readonly known: boolean;
}

/**
 * Ranks all tools: named ones first; then by the share of the query's words that they have, rare words counting more,
 * plus how far they point where the query points. `limit` bounds what is sorted out, not the total.
 */
export function rank(
  query: Query,
  catalog: Catalog,
  isMeant: (entry: Entry) => boolean,
  limit: number,
): Found {
  const sought = seek(query.words, catalog);
  const wordScores = scoreWords(sought, catalog);
  const likeness = scoreMeaning(sought, catalog);
  const scores = new Float32Array(catalog.entries.length);
  const named = catalog.names.find(query);
  // "What can you do?" asks for everything.
  if (query.words.length === 0 && named.length === 0) return catalog.inTurn(isMeant);
  const exact = named.map(({ server, tool }) => (catalog.firstEntries[server] ?? 0) + tool);
  let total = 0;
  for (const [at, entry] of catalog.entries.entries()) {
    const words = wordScores[at] ?? 0;
    const meaning = likeness[at] ?? 0;
    if ((words === 0 && meaning < MIN_LIKENESS) || !isMeant(entry)) continue;
    scores[at] = Math.max(Number.EPSILON, WORDS_WEIGHT * words + meaning);
    total += 1;
  }
  for (const [order, at] of exact.entries()) {
    const entry = catalog.entries[at];
    if (entry === undefined || !isMeant(entry) || (scores[at] ?? 0) >= EXACT_SCORE) continue;
    if (scores[at] === 0) total += 1;
    scores[at] = EXACT_SCORE + 1 - order / exact.length;
  }
  const best = highest(scores, limit).flatMap((at) => {
    const entry = catalog.entries[at];
    return entry === undefined ? [] : [{ entry, score: scores[at] ?? 0 }];
  });
  return { best, total };
}

function seek(words: readonly string[], catalog: Catalog): SoughtWord[] {
  const { terms, index, vectors } = catalog;
  let corrections = 0;
  return words.map((word) => {
    const wanted = termsOf(word).map((term) => ({ term, id: terms.find(term) }));
    const ids = wanted.flatMap(({ id }) => (id !== undefined && index.has(id) ? [id] : []));
    const rarity = wanted.reduce((sum, { id }) => sum + index.rarity(id), 0) / wanted.length;
    if (ids.length > 0 || vectors?.knows(word) === true) return { word, ids, weight: rarity, known: true };
    const slips = allowedSlips(word.length);
    const [near] =
      slips > 0 && corrections < MAX_CORRECTED ? catalog.near(wanted[0]?.term ?? word, slips) : [];
    if (slips > 0) corrections += 1;
    if (near === undefined) return { word, ids, weight: PIECES_WEIGHT * rarity, known: false };
    return {
      word: terms.words[near] ?? word,
      ids: [near],
      weight: CORRECTED_WEIGHT * index.rarity(near),
      known: true,
    };
  });
}

/** For each tool the share of the query that it answers, 0 to 1. */
function scoreWords(sought: readonly SoughtWord[], { index }: Catalog): Float32Array {
  const scores = new Float32Array(index.count);
  const whole = sought.reduce((sum, { ids, weight }) => sum + (ids.length > 0 ? weight : 0), 0);
  if (whole === 0) return scores;
  for (const { ids, weight } of sought) {
    for (const id of ids) index.addScores(id, weight / whole / ids.length, scores);
  }
  return scores;
}

/** For each tool the cosine between its direction and that of the query. */
function scoreMeaning(sought: readonly SoughtWord[], catalog: Catalog): Float32Array {
  const { vectors } = catalog;
  const scores = new Float32Array(catalog.entries.length);
  // Pieces of words that are none mean nothing by themselves.
  if (vectors === undefined || !sought.some(({ known }) => known)) return scores;
  const { dimensions } = vectors;
  const direction = new Float32Array(dimensions);
  for (const { word, weight } of sought) {
    const one = new Float32Array(dimensions);
    vectors.addWord(word, 1, one);
    toUnitLength(one);
    for (let at = 0; at < dimensions; at++) direction[at] = (direction[at] ?? 0) + weight * (one[at] ?? 0);
  }
  toUnitLength(direction);
  let slot = 0;
  for (const { server, directions } of catalog.servers) {
    for (let tool = 0; tool < server.tools.length; tool++, slot++) {
      let sum = 0;
      const from = tool * dimensions;
      for (let at = 0; at < dimensions; at++) sum += (direction[at] ?? 0) * (directions[from + at] ?? 0);
      scores[slot] = sum / 127;
    }
  }
  return scores;
}

/** The numbers of the highest scores above 0, the highest first; of equal ones the first stays first. */
function highest(scores: Float32Array, limit: number): number[] {
  const best: number[] = [];
  if (limit < 1) return best;
  for (const [at, score] of scores.entries()) {
    const last = best.length < limit ? 0 : (scores[best.at(-1) ?? 0] ?? 0);
    if (score <= last) continue;
    let place = best.length;
    while (place > 0 && (scores[best[place - 1] ?? 0] ?? 0) < score) place -= 1;
    best.splice(place, 0, at);
    if (best.length > limit) best.pop();
  }
  return best;
}
