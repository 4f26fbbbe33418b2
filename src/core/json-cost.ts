/** What values take once they are parsed, in bytes, as measured with Bun 1.4.5: at the worst, such as where no two names are the same. */
const ELEMENT = 32;
const ARRAY = 96;
const OBJECT = 600;
const MEMBER = 200;
/** A number of which every digit is kept. */
const EXACT = 224;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const BRACKET = 91;
const BRACE = 123;

/**
 * About how many bytes the values of a JSON text take once it is parsed, found without parsing it: `[],` takes a hundred
 * bytes, so that a message within its limit can fill the memory. What is not JSON gets some number.
 */
export function costOfJson(text: string, keepsDigits = false): number {
  const element = keepsDigits ? EXACT : ELEMENT;
  let cost = text.length;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COMMA:
        cost += element;
        break;
      case COLON:
        cost += MEMBER;
        break;
      case BRACKET:
        cost += ARRAY;
        break;
      case BRACE:
        cost += OBJECT;
        break;
    }
  }
  return cost;
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
