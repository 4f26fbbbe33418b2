import { escapeUnits } from "../core/escaped-text.ts";

/**
 * What a terminal would act on, and what turns or hides text: control characters but new lines and tabs, directions, tags,
 * fillers. What emoji and some languages are written with may stay.
 */
const TREACHEROUS =
  /(?![\n\t])\p{Cc}|[\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\u034f|\u17b4|\u17b5/gu;
/**
 * In what a person is to allow there is also no space but the usual one, no pile of marks, and nothing that has no shape of
 * its own: that changes what is done, not what is seen.
 */
const UNCLEAR = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|(?<=\p{M}{3})\p{M}/gu;
/** Whoever mixes them within a word wants one letter taken for another. */
const LATIN = /\p{Script=Latin}/u;
const OTHER_LETTERS = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/gu;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const NOT_ASCII = /[^ -~]/gu;
/** Also what Unicode holds for the same as a character of ASCII, such as its wide form. */
const ASCII = /^[ -~]$/;
const LIKE_SLASH_OR_COLON = /[\u2044\u2215\u2571\u29f8\u02d0\u0589\u05c3\u2236\ua789]/;

/** In a form these are for the person; all else is for the program. */
const SHOWN_KEYS = new Set(["title", "description"]);
const MAX_DEPTH = 32;

/** Text of a server for a person: nothing in it pretends to be somebody else's. */
export function plainText(text: string): string {
  return text.replace(TREACHEROUS, "");
}

/** JSON in which each character is what it looks like: all others are there as escapes. */
export function unmistakable(json: string): string {
  return json
    .replace(UNCLEAR, escapeUnits)
    .replace(WORD, (word) => (LATIN.test(word) ? word.replace(OTHER_LETTERS, escapeUnits) : word))
    .replace(NOT_ASCII, (character) =>
      ASCII.test(character.normalize("NFKC")) || LIKE_SLASH_OR_COLON.test(character)
        ? escapeUnits(character)
        : character,
    );
}

/** The schema of a form with {@link plainText} in its titles and descriptions; what is nested too deeply is left out. */
export function plainForm(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return value.map((item) => plainForm(item, depth + 1));
  const plain = Object.entries(value).map(([key, item]) => [
    key,
    SHOWN_KEYS.has(key) && typeof item === "string" ? plainText(item) : plainForm(item, depth + 1),
  ]);
  return Object.fromEntries(plain);
}

/** Whether an address may be shown to a person to open: nothing that runs, or reads files. */
export function isWebAddress(url: unknown): boolean {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { protocol } = new URL(url);
  return protocol === "https:" || protocol === "http:";
}
