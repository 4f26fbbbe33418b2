/** Words that carry no meaning of their own in a query or a description; they count next to nothing. */
const STOP_WORDS = new Set(
  (
    "a about all am an and any are as at be been being but by can could did do does doing each for from had has " +
    "have having he her here him his how i if in into is it its just let me more most my need no not of on only " +
    "or other our out over please she should so some such than that the their them then there these they this " +
    "those to too us very want was we were what when where which while who whom why will with would you your"
  ).split(" "),
);

const PIECES = /\p{Script=Han}+|[[\p{L}\p{M}]--\p{Script=Han}]+|\p{N}+/gv;
const HAN = /^\p{Script=Han}/u;
/** `readFile` and `PDFMerger`, but not `URLs`: a plural keeps its `s`. */
const CAMEL = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}(?!s?\b))/gu;

/**
 * The words of any text, in order, lower case and without accents: names are split where their case or a sign says so,
 * letters from digits, and a run of Chinese characters stays one word.
 */
export function splitWords(text: string): string[] {
  const spaced = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .normalize("NFC")
    .replace(CAMEL, " ");
  return spaced.toLowerCase().match(PIECES) ?? [];
}

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}

/** What a word is looked up by: Chinese, which has no spaces, by its pairs of characters, other words by their stem. */
export function termsOf(word: string): string[] {
  if (!HAN.test(word)) return [stemOf(word)];
  const characters = Array.from(word);
  if (characters.length < 3) return [word];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** Folds the plain endings of English words, so that "files", "filing" and "filed" meet "file". Never empties a word. */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let stem = word;
  if (stem.endsWith("ies") && stem.length > 4) stem = `${stem.slice(0, -3)}y`;
  else if (stem.endsWith("s") && !/(?:ss|us|is|news)$/.test(stem)) stem = stem.slice(0, -1);
  return stem;
}
