import { editDistance } from "../../core/edit-distance.ts";

const MAX_COMPARED = 40;
const CLOSE_SHARE = 0.4;

/** How many slips a word of a length may have and still be taken for another. */
export function allowedSlips(length: number): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

/** Finds words that are written nearly alike among many; what cannot be near is passed over by its letters alone. */
export class Spelling {
  readonly #words: readonly string[];
  readonly #letters: Uint32Array;

  constructor(words: readonly string[]) {
    this.#words = words;
    this.#letters = Uint32Array.from(words, lettersOf);
  }

  /** The numbers of the words with at most `slips` letters wrong, missing, more or swapped; the nearest first. */
  near(word: string, slips: number): number[] {
    if (slips === 0 || word.length > MAX_COMPARED) return [];
    const letters = lettersOf(word);
    const found: { readonly index: number; readonly distance: number }[] = [];
    // Plain loops: this looks at every known word of ten thousand tools.
    for (let index = 0; index < this.#words.length; index++) {
      if (countBits(letters ^ (this.#letters[index] ?? 0)) > 2 * slips) continue;
      const other = this.#words[index] ?? "";
      if (Math.abs(other.length - word.length) > slips) continue;
      const distance = editDistance(word, other);
      if (distance <= slips) found.push({ index, distance });
    }
    return found.sort((one, other) => one.distance - other.distance).map(({ index }) => index);
  }

  /** The words most like one that nothing matched, with up to two fifths of its letters wrong. */
  suggest(word: string, max: number): string[] {
    const slips = Math.max(1, Math.floor(Math.min(word.length, MAX_COMPARED) * CLOSE_SHARE));
    const near = this.near(word.slice(0, MAX_COMPARED), slips);
    return near.slice(0, max).map((index) => this.#words[index] ?? "");
  }
}

/** A bit for each letter that a word has; letters beyond a to z share the bits. */
function lettersOf(word: string): number {
  let letters = 0;
  for (let index = 0; index < word.length; index++) letters |= 1 << (word.charCodeAt(index) & 31);
  return letters >>> 0;
}

function countBits(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
