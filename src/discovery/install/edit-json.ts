import { findNodeAtLocation, type Node, type ParseError, parseTree } from "jsonc-parser";
import { FormatError, isObject, repeated, type ValuePath } from "../formats/document.ts";

/** Entries that a JSON object may get: JSON values, or a property as its text was taken from such a file. */
export type NewEntry =
  | { readonly kind: "value"; readonly key: string; readonly value: unknown }
  | { readonly kind: "text"; readonly text: string };

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

interface Style {
  readonly eol: string;
  /** One step of indentation. */
  readonly indent: string;
}

/**
 * Puts an entry at the end of the object at `path`, which is made where it is missing; everything else stays as it is,
 * byte for byte. Text without any value is a document without entries. Throws {@link FormatError}.
 */
export function insertJson(text: string, path: readonly string[], entry: NewEntry): string {
  const style = styleOf(text);
  const root = parse(text);
  if (root === undefined) return insertRoot(text, path, entry, style);
  let depth = path.length;
  let holder = nodeAt(root, path);
  while (holder === undefined && depth > 0) holder = nodeAt(root, path.slice(0, --depth));
  const found = expectObject(holder, path.slice(0, depth));
  const [key, ...inner] = path.slice(depth);
  const added = key === undefined ? entry : wrap(key, inner, entry);
  return apply(text, insertInto(text, found, added, style));
}

/** Takes the entry `key` out of the object at `path`, and nothing else but the comma that it needed. */
export function removeJson(text: string, path: readonly string[], key: string): string {
  const root = parse(text);
  const holder = expectObject(root === undefined ? undefined : nodeAt(root, path), path);
  const properties = holder.children ?? [];
  const at = properties.findIndex((property) => property.children?.[0]?.value === key);
  const property = properties[at];
  if (property === undefined) return text;
  const end = property.offset + property.length;
  const from = text.slice(0, property.offset).search(/\s*$/);
  const comma = findComma(text, end);
  if (comma !== undefined) return apply(text, [{ from, to: comma + 1, text: "" }]);
  const previous = properties[at - 1];
  if (previous !== undefined) {
    const before = findComma(text, previous.offset + previous.length) ?? from;
    return apply(text, [
      { from: before, to: before + 1, text: "" },
      { from: Math.max(from, before + 1), to: end, text: "" },
    ]);
  }
  const inside = text.slice(holder.offset + 1, from) + text.slice(end, holder.offset + holder.length - 1);
  const isBlank = inside.trim() === "";
  return apply(text, [
    isBlank
      ? { from: holder.offset + 1, to: holder.offset + holder.length - 1, text: "" }
      : { from, to: end, text: "" },
  ]);
}

/** Puts another value in the place of the one at `path`, which must be there. */
export function replaceJson(text: string, path: ValuePath, value: unknown): string {
  const root = parse(text);
  const node = root === undefined ? undefined : nodeAt(root, path);
  if (node === undefined) throw new FormatError("expected a value to replace", undefined);
  const style = styleOf(text);
  const rendered = render(value, indentAt(text, node.offset), style);
  return apply(text, [{ from: node.offset, to: node.offset + node.length, text: rendered }]);
}

/** An entry as it is written, its key included. */
export function textOfJson(text: string, path: readonly string[], key: string): string | undefined {
  const root = parse(text);
  const node = root === undefined ? undefined : nodeAt(root, [...path, key])?.parent;
  return node === undefined ? undefined : text.slice(node.offset, node.offset + node.length);
}

/** Keys that an object on the way to the entries, or an entry, has more than once: the way to the first of them. */
export function findDuplicate(text: string, path: readonly string[]): ValuePath | undefined {
  const root = parse(text);
  if (root === undefined) return undefined;
  for (let depth = 0; depth < path.length; depth++) {
    const node = nodeAt(root, path.slice(0, depth));
    const [key] = node?.type === "object" ? repeated(keysOf(node)) : [];
    if (key !== undefined) return [...path.slice(0, depth), key];
  }
  const entries = nodeAt(root, path);
  return entries === undefined ? undefined : duplicateBelow(entries, path);
}

function duplicateBelow(node: Node, path: ValuePath): ValuePath | undefined {
  const [key] = node.type === "object" ? repeated(keysOf(node)) : [];
  if (key !== undefined) return [...path, key];
  for (const [index, child] of (node.children ?? []).entries()) {
    const [name, value] = node.type === "object" ? (child.children ?? []) : [undefined, child];
    const found = value === undefined ? undefined : duplicateBelow(value, [...path, name?.value ?? index]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function keysOf(node: Node): readonly string[] {
  return (node.children ?? []).map((property) => String(property.children?.[0]?.value));
}

function parse(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  if (errors.length > 0) throw new FormatError("expected JSON", undefined);
  return root;
}

function nodeAt(root: Node, path: ValuePath): Node | undefined {
  return findNodeAtLocation(root, [...path]);
}

function expectObject(node: Node | undefined, path: readonly string[]): Node {
  if (node?.type === "object") return node;
  const where = path.length === 0 ? "the document" : JSON.stringify(path.join("."));
  throw new FormatError(`expected ${where} to be an object in braces`, undefined);
}

/** A document without a value: nothing, white space, or comments alone. */
function insertRoot(text: string, path: readonly string[], entry: NewEntry, style: Style): string {
  const [key, ...inner] = path;
  const body = renderEntry(key === undefined ? entry : wrap(key, inner, entry), style.indent, style);
  const before = text.trim() === "" ? "" : text.endsWith("\n") ? text : `${text}${style.eol}`;
  return `${before}{${style.eol}${style.indent}${body}${style.eol}}${style.eol}`;
}

/** An entry that leads to another one through objects of its own. */
function wrap(key: string, inner: readonly string[], entry: NewEntry): NewEntry {
  if (entry.kind === "value") {
    const value = inner.reduceRight<unknown>((so, name) => ({ [name]: so }), { [entry.key]: entry.value });
    return { kind: "value", key, value };
  }
  const names = [key, ...inner].map((name) => JSON.stringify(name));
  return { kind: "text", text: `${names.join(": { ")}: { ${entry.text} ${"}".repeat(names.length)}` };
}

function insertInto(text: string, holder: Node, entry: NewEntry, style: Style): readonly Edit[] {
  const start = holder.offset + 1;
  const end = holder.offset + holder.length - 1;
  const last = holder.children?.at(-1);
  const { eol, indent } = style;
  if (last === undefined) {
    const inside = text.slice(start, end);
    const own = indentAt(text, holder.offset);
    const child = own + indent;
    const body = renderEntry(entry, child, style);
    if (!inside.includes("\n")) {
      const kept = inside.trimEnd(); // a comment
      return [{ from: start + kept.length, to: end, text: `${eol}${child}${body}${eol}${own}` }];
    }
    const from = start + inside.trimEnd().length;
    return [{ from, to: from, text: `${eol}${child}${body}` }];
  }
  const lastEnd = last.offset + last.length;
  const comma = findComma(text, lastEnd);
  const isOnOneLine = !text.slice(start, holder.children?.[0]?.offset).includes("\n");
  if (isOnOneLine) {
    const body = entry.kind === "text" ? entry.text : `${JSON.stringify(entry.key)}: ${oneLine(entry.value)}`;
    if (comma !== undefined) return [{ from: comma + 1, to: comma + 1, text: ` ${body},` }];
    return [{ from: lastEnd, to: lastEnd, text: `, ${body}` }];
  }
  const child = indentAt(text, last.offset);
  const body = `${eol}${child}${renderEntry(entry, child, style)}`;
  const from = skipComments(text, comma === undefined ? lastEnd : comma + 1);
  if (comma !== undefined) return [{ from, to: from, text: `${body},` }];
  return [
    { from: lastEnd, to: lastEnd, text: "," },
    { from, to: from, text: body },
  ];
}

/** A key and its value for a line that begins with the white space `own`. */
function renderEntry(entry: NewEntry, own: string, style: Style): string {
  if (entry.kind === "text") return entry.text;
  return `${JSON.stringify(entry.key)}: ${render(entry.value, own, style)}`;
}

/** Objects have a line for each entry; lists, which are short, one line. */
function render(value: unknown, own: string, style: Style): string {
  if (!isObject(value) || Object.keys(value).length === 0) return oneLine(value);
  const lines = Object.entries(value).map(
    ([key, inner]) =>
      `${own}${style.indent}${JSON.stringify(key)}: ${render(inner, own + style.indent, style)}`,
  );
  return `{${style.eol}${lines.join(`,${style.eol}`)}${style.eol}${own}}`;
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const parts = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${oneLine(inner)}`);
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

/** Where the comma is that follows a value, past comments; `undefined` where none does. */
function findComma(text: string, offset: number): number | undefined {
  const end = endOf(/(?:\s|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*/y, text, offset);
  return text[end] === "," ? end : undefined;
}

/** Past the comments that begin on the same line. */
function skipComments(text: string, offset: number): number {
  return endOf(/(?:[ \t]*\/\*[\s\S]*?\*\/)*(?:[ \t]*\/\/[^\n\r]*)?/y, text, offset);
}

function endOf(pattern: RegExp, text: string, offset: number): number {
  pattern.lastIndex = offset;
  return pattern.test(text) ? pattern.lastIndex : offset;
}

/** The white space at the beginning of the line on which something stands. */
function indentAt(text: string, offset: number): string {
  const begin = Math.max(text.lastIndexOf("\n", offset - 1), text.lastIndexOf("\r", offset - 1)) + 1;
  return /^[ \t]*/.exec(text.slice(begin, offset))?.[0] ?? "";
}

function styleOf(text: string): Style {
  const eol = /\r\n|\n|\r/.exec(text)?.[0] ?? "\n";
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";
  return { eol, indent };
}

/** Of edits at one place the later ones come behind. */
function apply(text: string, edits: readonly Edit[]): string {
  return edits
    .toReversed()
    .sort((one, other) => other.from - one.from)
    .reduce((so, { from, to, text: put }) => so.slice(0, from) + put + so.slice(to), text);
}
