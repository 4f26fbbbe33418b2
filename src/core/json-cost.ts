/** What values take once they are parsed, in bytes, as measured with Bun 1.4.5. */
const ELEMENT = 32;
const ARRAY = 96;
const OBJECT = 96;
const MEMBER = 24;
/** A member that makes an object unlike all before it: Bun keeps each shape; large objects have none. */
const NEW_SHAPE = 1000;
const NEW_NAME = 300;
const MAX_SHAPED = 64;
/** More than one character can add. */
export const MAX_COST_OF_CHAR = NEW_SHAPE + 1;
/** A number of which every digit is kept. */
const EXACT = 224;
/** Nobody allows more, so there is nothing to count beyond it. */
const MAX_COUNTED = 512 * 1024 * 1024;
const MAX_SHAPES = 100_000;
const MAX_NAME_CHARS = 64;
/** Who writes names must not know which of them are taken for the same. */
const SEED = crypto.getRandomValues(new Int32Array(1))[0] ?? 1;
const PRIME = 16_777_619;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const BRACKET = 91;
const BRACE = 123;
const BRACE_END = 125;

/**
 * About how many bytes the values of a JSON text take once it is parsed, found without parsing it: `[],` takes a hundred
 * bytes, so that a message within its limit can fill the memory. What is not JSON gets some number.
 */
export function costOfJson(text: string, keepsDigits = false): number {
  const element = keepsDigits ? EXACT : ELEMENT;
  const seen = new Set<number>();
  /** Of each object that is open: what its names were so far, and how many. */
  const shapes: number[] = [];
  const counts: number[] = [];
  let cost = text.length;
  let name = 0;
  for (let at = 0; at < text.length && cost < MAX_COUNTED; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        name = at;
        at = endOfString(text, at);
        break;
      case COMMA:
        cost += element;
        break;
      case COLON: {
        const last = shapes.length - 1;
        const shape = addName(shapes[last] ?? SEED, text, name);
        const count = (counts[last] ?? 0) + 1;
        shapes[Math.max(last, 0)] = shape;
        counts[Math.max(last, 0)] = count;
        if (seen.has(shape)) cost += MEMBER;
        else cost += count > MAX_SHAPED ? NEW_NAME : NEW_SHAPE;
        if (seen.size < MAX_SHAPES) seen.add(shape);
        break;
      }
      case BRACKET:
        cost += ARRAY;
        break;
      case BRACE:
        cost += OBJECT;
        shapes.push(SEED);
        counts.push(0);
        break;
      case BRACE_END:
        shapes.pop();
        counts.pop();
        break;
    }
  }
  return cost;
}

/** A number for the names of an object, of which the one that begins at `start` is the last. */
function addName(shape: number, text: string, start: number): number {
  let hash = Math.imul(shape ^ QUOTE, PRIME);
  for (let at = start + 1; at < start + MAX_NAME_CHARS; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE || Number.isNaN(code)) break;
    hash = Math.imul(hash ^ code, PRIME);
  }
  return hash;
}

/** Where the quote is that ends the string which begins at `start`; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}
