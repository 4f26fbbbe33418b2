import { FormatError, isObject, renderPath, type ValuePath, valueAt } from "../formats/document.ts";
import { OPENCODE_LAYOUT } from "../layouts.ts";
import { parseConfigText } from "../read.ts";
import { refuse } from "./client-file.ts";
import { findDuplicate, insertJson, removeJson, replaceJson, textOfJson } from "./edit-json.ts";
import { appendToml, removeToml, renderTomlTable, replaceToml, textOfToml } from "./edit-toml.ts";

/** The text of a file of servers, understood so far that entries can be put into it and taken out. */
export interface Editable {
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
  /** The way to the servers. */
  readonly path: readonly string[];
  readonly entries: Readonly<Record<string, unknown>>;
}

const isToml = ({ file }: Pick<Editable, "file">) => file.endsWith(".toml");

/** Reads a text; `key` is where servers are. Throws `CONFIG_INVALID` where an edit could do harm. */
export async function parseEditable(file: string, text: string, key: readonly string[]): Promise<Editable> {
  const outcome = await parseConfigText(file, text);
  if (outcome.kind === "problem") throw refuse(outcome.problem.where, outcome.problem.message);
  const value = outcome.kind === "document" ? outcome.document.value : undefined;
  const path = key[0] === "mcp" && outcome.kind === "document" ? opencodePath(outcome.document) : key;
  if (value !== undefined && !isObject(value)) throw refuse(file, "is no object in braces");
  const duplicate =
    isToml({ file }) || value === undefined ? undefined : guarded(file, () => findDuplicate(text, path));
  if (duplicate !== undefined) {
    const place = outcome.kind === "document" ? outcome.document.place(duplicate) : file;
    throw refuse(place, `has ${JSON.stringify(renderPath(duplicate))} more than once`);
  }
  const found = valueAt(value, path);
  if (found !== undefined && !isObject(found))
    throw refuse(file, `has ${JSON.stringify(path.join("."))}, which is no object`);
  return { file, text, value, path, entries: found ?? {} };
}

/** opencode 2 has its servers one level further down. */
function opencodePath(document: Parameters<typeof OPENCODE_LAYOUT.reach>[0]): readonly string[] {
  const reached = OPENCODE_LAYOUT.reach(document, []);
  return reached.kind === "entries" ? reached.path.map(String) : ["mcp"];
}

/** The text with one more entry. */
export function addEntry(
  document: Editable,
  key: string,
  value: Readonly<Record<string, unknown>>,
): Promise<string> {
  return prove(document, { ...document.entries, [key]: value }, () =>
    isToml(document)
      ? appendToml(document.text, renderTomlTable([...document.path, key], value))
      : insertJson(document.text, document.path, { kind: "value", key, value }),
  );
}

/** The text with an entry put back that {@link textOfEntry} gave; `value` is what it means. */
export function addEntryText(document: Editable, key: string, text: string, value: unknown): Promise<string> {
  return prove(document, { ...document.entries, [key]: value }, () =>
    isToml(document)
      ? appendToml(document.text, text)
      : insertJson(document.text, document.path, { kind: "text", text }),
  );
}

/** The text without an entry. */
export function removeEntry(document: Editable, key: string): Promise<string> {
  const { [key]: _, ...rest } = document.entries;
  return prove(document, rest, () =>
    isToml(document)
      ? removeToml(document.text, [...document.path, key])
      : removeJson(document.text, document.path, key),
  );
}

/** The text with another program in an entry. */
export function setCommand(document: Editable, key: string, command: string): Promise<string> {
  const entry = document.entries[key];
  const own = isObject(entry) ? entry["command"] : undefined;
  const inner: ValuePath = Array.isArray(own) ? ["command", 0] : ["command"];
  const changed = Array.isArray(own) ? [command, ...own.slice(1)] : command;
  const expected = { ...document.entries, [key]: { ...(entry as object), command: changed } };
  return prove(document, expected, () =>
    isToml(document)
      ? (replaceToml(document.text, [...document.path, key], "command", command) ?? "")
      : replaceJson(document.text, [...document.path, key, ...inner], command),
  );
}

/** An entry as it is written, for {@link addEntryText}; `undefined` where it is not in one piece. */
export function textOfEntry({ file, text, path }: Editable, key: string): string | undefined {
  return isToml({ file }) ? textOfToml(text, [...path, key]) : textOfJson(text, path, key);
}

/** Makes an edit, and makes sure that the text means exactly what it should and nothing else. */
async function prove(
  document: Editable,
  entries: Readonly<Record<string, unknown>>,
  edit: () => string,
): Promise<string> {
  const { file, path, value } = document;
  const text = guarded(file, edit);
  const after = await parseConfigText(file, text);
  const expected = setAt(value, path, entries);
  const found = after.kind === "document" ? after.document.value : {};
  // A table without entries need not be there.
  const same =
    Bun.deepEquals(found, expected) ||
    (Object.keys(entries).length === 0 && isSameBut(found, expected, path));
  if (same) return text;
  throw refuse(
    file,
    "is written in a way that cannot be changed without touching the rest of it",
    "Change it by hand. Nothing was written.",
  );
}

function isSameBut(found: unknown, expected: unknown, path: readonly string[]): boolean {
  return Bun.deepEquals(setAt(found, path, {}), expected);
}

function setAt(value: unknown, path: readonly string[], inner: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return inner;
  const own = isObject(value) ? value : {};
  return { ...own, [key]: setAt(own[key], rest, inner) };
}

function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FormatError) throw refuse(file, `cannot be changed: ${error.message}`);
    if (error instanceof RangeError) throw refuse(file, "is nested too deeply");
    throw error;
  }
}
