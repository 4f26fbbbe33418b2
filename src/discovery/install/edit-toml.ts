import { parse } from "smol-toml";
import { isObject } from "../formats/document.ts";

/** A table header and all that belongs to it, without what stands before the next one. */
interface Block {
  readonly path: readonly string[];
  readonly from: number;
  /** Behind the line end of its last key. */
  readonly to: number;
}

/** Text of a table, to be put at the end of a document. */
export function appendToml(text: string, block: string): string {
  const eol = eolOf(text);
  const own = block.replace(/\r\n|\n/g, eol);
  if (text.trim() === "") return `${text}${own}`;
  return `${text}${/[\n\r]$/.test(text) ? "" : eol}${eol}${own}`;
}

/** The lines of a table: text, lists of text, and numbers; tables in it follow as their own. */
export function renderTomlTable(path: readonly string[], values: Readonly<Record<string, unknown>>): string {
  const header = `[${path.map(renderKey).join(".")}]`;
  const lines = Object.entries(values).map(([key, value]) => `${renderKey(key)} = ${renderValue(value)}`);
  return `${[header, ...lines].join("\n")}\n`;
}

/** Takes a table and those below it out, with the empty line before it; nothing where no header names it. */
export function removeToml(text: string, path: readonly string[]): string {
  return blocksOf(text, path)
    .toReversed()
    .reduce((so, { from, to }) => {
      const before = so.slice(0, from);
      const gap = /(?:^|\n|\r)(\r\n|\n|\r)$/.exec(before)?.[1]?.length ?? 0;
      return before.slice(0, before.length - gap) + so.slice(to);
    }, text);
}

/** A table and those below it as they are written; `undefined` where no header names it. */
export function textOfToml(text: string, path: readonly string[]): string | undefined {
  const blocks = blocksOf(text, path).map(({ from, to }) => text.slice(from, to).replace(/[\n\r]*$/, "\n"));
  return blocks.length === 0 ? undefined : blocks.join("\n");
}

/** Puts another text in the place of the value of a key on one line of a table; `undefined` where it is not so simple. */
export function replaceToml(
  text: string,
  path: readonly string[],
  key: string,
  value: string,
): string | undefined {
  const [block] = blocksOf(text, path);
  if (block === undefined) return undefined;
  const inside = text.slice(block.from, block.to);
  const line = new RegExp(`^([ \\t]*${key}[ \\t]*=[ \\t]*)("(?:[^"\\\\\\n\\r]|\\\\.)*"|'[^'\\n\\r]*')`, "m");
  if (!line.test(inside)) return undefined;
  const replaced = inside.replace(line, (_, before: string) => `${before}${renderValue(value)}`);
  return text.slice(0, block.from) + replaced + text.slice(block.to);
}

function blocksOf(text: string, path: readonly string[]): readonly Block[] {
  return listBlocks(text).filter((block) => path.every((key, depth) => block.path[depth] === key));
}

/** Everything in a document that can hold a bracket without being a header, or is none: comments and text. */
const PIECES =
  /#[^\n\r]*|"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n\r]|\\.)*"|'[^'\n\r]*'|[[\]{}]|\r\n|\n|\r|[^#"'[\]{}\n\r]+/g;

function listBlocks(text: string): readonly Block[] {
  const blocks: { path: readonly string[]; from: number; to: number }[] = [];
  let depth = 0;
  let lineStart = 0;
  let isBlank = true; // nothing but white space on this line so far
  let open: (typeof blocks)[number] | undefined;
  let header: number | undefined;
  const endLine = (end: number) => {
    if (header !== undefined) {
      open = { path: headerPath(text.slice(header, end)), from: header, to: end };
      blocks.push(open);
      header = undefined;
    } else if (open !== undefined && !isBlank) open.to = end;
  };
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    if (/^[\n\r]/.test(piece)) {
      if (depth > 0) continue;
      endLine(index + piece.length);
      lineStart = index + piece.length;
      isBlank = true;
    } else if (piece.startsWith("#") || piece.trim() === "") {
      // Says nothing. What a comment belongs to is not known: it stays.
    } else {
      if (piece === "[" && depth === 0 && isBlank) header = lineStart;
      if (piece === "[" || piece === "{") depth++;
      else if (piece === "]" || piece === "}") depth = Math.max(0, depth - 1);
      isBlank = false;
    }
  }
  endLine(text.length);
  return blocks;
}

/** `[a."b c"]` as its keys; none for one that the parser does not take. */
function headerPath(line: string): readonly string[] {
  const path: string[] = [];
  let value: unknown = parse(line.trim());
  for (;;) {
    if (Array.isArray(value)) value = value[0];
    const [key] = isObject(value) ? Object.keys(value) : [];
    if (key === undefined) return path;
    path.push(key);
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
}

function renderKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : renderValue(key);
}

/** JSON's text is TOML's but for the delete character. */
function renderValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(renderValue).join(", ")}]`;
  return JSON.stringify(value).replaceAll("\x7f", "\\u007f");
}

function eolOf(text: string): string {
  return /\r\n|\n/.exec(text)?.[0] ?? "\n";
}
