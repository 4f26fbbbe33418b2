/** What a terminal would act on, and what turns or hides text: control characters but new lines and tabs, directions, tags. */
const TREACHEROUS =
  /(?![\n\t])[\p{Cc}\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;
/** In a form these are for the person; all else is for the program. */
const SHOWN_KEYS = new Set(["title", "description"]);
const MAX_DEPTH = 32;

/** Text of a server for a person: nothing in it pretends to be somebody else's. */
export function plainText(text: string): string {
  return text.replace(TREACHEROUS, "");
}

/** As {@link plainText}, for JSON: what would be left out is there as an escape, so that it is seen. */
export function escapeTreacherous(json: string): string {
  return json.replace(TREACHEROUS, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
      .join(""),
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
