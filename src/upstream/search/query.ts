import { isStopWord, splitWords } from "./words.ts";

/** A model may hand over a whole document; its beginning says what is looked for. */
const MAX_CHARS = 2000;
const MAX_WORDS = 64;
const MAX_TOKENS = 200;

const URL = /\b(?:https?:\/\/|www\.)\S+/giu;
/** What surely is a path: from the home or a drive, relative, of several folders, or with an ending. */
const PATH =
  /(?<![\p{L}\p{N}])(?:(?:~|\.{1,2}|[a-z]:)[/\\][\w.\-/\\]*|(?:[/\\][\w.-]+){2,}|[/\\][\w-]+\.\w{1,5}\b)/giu;

export interface Query {
  /** The words in order, each once, without paths and stop words; at most 64. */
  readonly words: readonly string[];
  /** What stands between spaces and commas, as it was written. */
  readonly tokens: readonly string[];
  /** All words of the beginning, for a query that is a name. */
  readonly name: string;
}

/**
 * Takes a query apart. Of a path only its ending is a word, beside "file", and of an address only "url": what a file is
 * called says nothing about the tool that writes it.
 */
export function parseQuery(text: string): Query {
  const bounded = text.slice(0, MAX_CHARS).toWellFormed();
  const plain = bounded.replace(URL, " url ").replace(PATH, (path) => ` file ${endingOf(path)} `);
  const words = new Set(splitWords(plain).filter((word) => !isStopWord(word)));
  return {
    words: [...words].slice(0, MAX_WORDS),
    tokens: bounded.split(/[\s,;"'`()[\]{}]+/u, MAX_TOKENS).filter((token) => token !== ""),
    name: nameKey(bounded),
  };
}

/** What names are compared by: their words, whatever signs and case they are written with. */
export function nameKey(name: string): string {
  return splitWords(name.slice(0, MAX_CHARS)).join("_");
}

function endingOf(path: string): string {
  return /\.([a-z]\w{0,4})[/\\]?$/iu.exec(path)?.[1] ?? "";
}
