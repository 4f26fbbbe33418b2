import { splitWords } from "./words.ts";

const MAX_WORDS = 300;
const LONGEST_ENTRY = 20;
const HEADER_BYTES = 12;

/** Turns words into directions of meaning: texts about the same thing point the same way, in whatever words. */
export interface WordVectors {
  readonly dimensions: number;
  /** Whether the table has the word as a whole and not in pieces, or, since Chinese has no spaces, words in it. */
  knows(word: string): boolean;
  /** Adds the vectors of a word's pieces, times `weight`, to `sum`; adds nothing for a word without known pieces. */
  addWord(word: string, weight: number, sum: Float32Array): void;
  /** The direction of a text: length 1, or all zeros where it has no known word. At most the first 300 words count. */
  textVector(text: string): Float32Array;
}

/**
 * Reads a table of `scripts/distil-words`: number of entries, dimensions and length of the words (u32 each), the words
 * (UTF-8, a line each, filled up to 4 bytes), a scale for each entry (f32), and the entries (i8). Little endian.
 * A `##` before an entry says that it continues a word. Throws where the parts do not fit the whole.
 */
export function parseWordVectors(bytes: Uint8Array): WordVectors {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = view.getUint32(0, true);
  const dimensions = view.getUint32(4, true);
  const wordBytes = view.getUint32(8, true);
  const scalesAt = HEADER_BYTES + Math.ceil(wordBytes / 4) * 4;
  const entriesAt = scalesAt + 4 * count;
  const words = new TextDecoder().decode(bytes.subarray(HEADER_BYTES, HEADER_BYTES + wordBytes)).split("\n");
  if (words.length !== count || bytes.byteLength !== entriesAt + count * dimensions) {
    throw new RangeError("the table of word vectors is damaged");
  }
  const ids = new Map(words.map((word, id) => [word, id] as const));
  const scales = Float32Array.from({ length: count }, (_, id) => view.getFloat32(scalesAt + 4 * id, true));
  const entries = new Int8Array(bytes.buffer, bytes.byteOffset + entriesAt, count * dimensions);

  const addWord = (word: string, weight: number, sum: Float32Array) => {
    for (const id of piecesOf(word, ids)) {
      const factor = (scales[id] ?? 0) * weight;
      const from = id * dimensions;
      for (let index = 0; index < dimensions; index++) {
        sum[index] = (sum[index] ?? 0) + (entries[from + index] ?? 0) * factor;
      }
    }
  };
  return {
    dimensions,
    knows: (word) => ids.has(word) || (isChinese(word) && piecesOf(word, ids).length > 0),
    addWord,
    textVector: (text) => {
      const sum = new Float32Array(dimensions);
      for (const word of splitWords(text).slice(0, MAX_WORDS)) addWord(word, 1, sum);
      return toUnitLength(sum);
    },
  };
}

/** Scales a vector to length 1, in place; zeros stay zeros. */
export function toUnitLength(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const factor = squares === 0 ? 0 : 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index++) vector[index] = (vector[index] ?? 0) * factor;
  return vector;
}

/** The longest known piece from the start, then from where it ends; a word with a part that is unknown has none. */
function piecesOf(word: string, ids: ReadonlyMap<string, number>): number[] {
  const whole = ids.get(word);
  if (whole !== undefined) return [whole];
  const chinese = isChinese(word);
  const pieces: number[] = [];
  let at = 0;
  while (at < word.length) {
    let end = Math.min(word.length, at + LONGEST_ENTRY);
    let id: number | undefined;
    for (; end > at; end--) {
      const piece = word.slice(at, end);
      id = ids.get(chinese || at === 0 ? piece : `##${piece}`);
      if (id !== undefined) break;
    }
    if (id !== undefined) pieces.push(id);
    else if (!chinese) return [];
    at = id === undefined ? at + 1 : end;
  }
  return pieces;
}

function isChinese(word: string): boolean {
  return /^\p{Script=Han}/u.test(word);
}
