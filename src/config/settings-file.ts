import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { BridgeError } from "../core/errors.ts";
import { findNearest } from "../core/nearest.ts";
import { describeValue, type FileFault, MEND_FILE, type SettingTexts } from "./given.ts";
import { SETTING_NAMES, SETTINGS, type SettingName } from "./schema.ts";

const MAX_SHOWN_CHARS = 200;

const NAMES: ReadonlyMap<string, SettingName> = new Map(
  SETTING_NAMES.flatMap((name) => {
    const { key } = SETTINGS[name];
    return key === undefined ? [] : [[key, name] as const];
  }),
);
/** The keys that hold other keys: `policy`, `policy.servers`, … */
const GROUPS: ReadonlySet<string> = new Set(
  [...NAMES.keys()].flatMap((key) => {
    const parts = key.split(".");
    return parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("."));
  }),
);

/** A fault, and how many characters into the text it is. */
interface Fault extends Pick<FileFault, "name"> {
  readonly offset: number;
  readonly message: string;
}

/** What a configuration file says, as text for each setting, and where it says so. */
export interface ParsedSettings {
  readonly texts: SettingTexts;
  /** `shown:line:column` */
  readonly places: SettingTexts;
  /** What cannot be used, from the top down. */
  readonly faults: readonly FileFault[];
}

/**
 * Reads the text of a configuration file: JSON with comments and trailing commas. `shown` is how messages call the file.
 * Throws `CONFIG_INVALID` where it is none; whether values fit each other is not looked at.
 */
export function parseSettings(shown: string, written: string): ParsedSettings {
  const text = written.replace(/^\uFEFF/, "");
  const place = (offset: number) => {
    const before = text.slice(0, offset).split(/\r\n|\r|\n/);
    return `${shown}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  };
  const errors: ParseError[] = [];
  const root = parseText(shown, text, errors);
  const [first] = errors;
  if (first !== undefined) throw invalid(`${place(first.offset)}: ${describeSyntax(first)}`);
  const found = new Map<SettingName, { text: string; offset: number }>();
  const faults: Fault[] = [];
  if (root?.type === "object") readGroup(root, "", found, faults);
  else if (root !== undefined)
    faults.push({ offset: root.offset, message: 'expected settings in "{" and "}"' });
  for (const [name, { text: value, offset }] of found) {
    if (SETTINGS[name].form.parse(value) === undefined)
      faults.push({ name, offset, message: describeValue(name, value, SETTINGS[name].key) });
  }
  faults.sort((one, other) => one.offset - other.offset);
  return {
    texts: Object.fromEntries([...found].map(([name, value]) => [name, value.text])),
    places: Object.fromEntries([...found].map(([name, value]) => [name, place(value.offset)])),
    faults: faults.map(({ name, offset, message }) => ({ name, message: `${place(offset)}: ${message}` })),
  };
}

/** The parser calls itself for each level. */
function parseText(shown: string, text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (error) {
    if (error instanceof RangeError) throw invalid(`${shown}: it is nested too deeply`);
    throw error;
  }
}

function readGroup(
  group: Node,
  path: string,
  found: Map<SettingName, { text: string; offset: number }>,
  faults: Fault[],
): void {
  const seen = new Set<string>();
  for (const { offset, children: [keyNode, value] = [] } of group.children ?? []) {
    const key = `${path}${String(keyNode?.value)}`;
    const fault = (message: string, at = offset) => void faults.push({ offset: at, message });
    const name = NAMES.get(key);
    if (seen.has(key)) fault(`${JSON.stringify(key)} is given twice`);
    else if (value === undefined || (path === "" && key === "$schema"))
      continue; // for editors
    else if (GROUPS.has(key)) {
      if (value.type === "object") readGroup(value, `${key}.`, found, faults);
      else
        fault(
          `${JSON.stringify(key)} is ${shownValue(value)}: expected ${keysIn(`${key}.`).join(", ")} in "{" and "}"`,
        );
    } else if (name === undefined) fault(`unknown key ${JSON.stringify(key)}${guess(key, path)}`);
    else if (value.type !== "null") {
      const { isList } = SETTINGS[name];
      const text = toText(value, isList);
      if (text === undefined) {
        const expected = isList ? "an array of texts without commas" : "one value";
        const culprit = isList ? (value.children ?? []).find(isNoName) : undefined;
        const what = culprit === undefined ? "is" : "has";
        fault(
          `${JSON.stringify(key)} ${what} ${shownValue(culprit ?? value)}: expected ${expected}`,
          (culprit ?? value).offset,
        );
      } else found.set(name, { text, offset: value.offset });
    }
    seen.add(key);
  }
}

/** As a variable would hold it: that is what the checks are for. */
function toText({ type, value, children = [] }: Node, isList: boolean): string | undefined {
  if (!isList) return children.length > 0 || value === undefined ? undefined : String(value).trim();
  if (type === "string") return String(value).trim(); // as in a variable, with commas
  if (type !== "array") return undefined;
  const names = children.map((child) => (child.type === "string" ? String(child.value).trim() : ","));
  return names.some((each) => each.includes(",")) ? undefined : joinNames(names);
}

function isNoName({ type, value }: Node): boolean {
  return type !== "string" || String(value).includes(",");
}

/** One empty name is not the same as none. */
function joinNames(names: readonly string[]): string {
  return names.length === 1 && names[0] === "" ? "," : names.join(",");
}

function guess(key: string, group: string): string {
  const own = key.slice(group.length);
  const siblings = keysIn(group);
  const sibling = findNearest(own, siblings);
  const near =
    (sibling === undefined ? undefined : `${group}${sibling}`) ??
    NAMES_OF_VARIABLES.get(own) ??
    // Or right by its own name, and in the wrong place.
    [...NAMES.keys()].find((known) => known.split(".").at(-1) === own);
  return near === undefined ? `: expected ${siblings.join(", ")}` : `: did you mean ${JSON.stringify(near)}?`;
}

const NAMES_OF_VARIABLES: ReadonlyMap<string, string> = new Map([...NAMES].map(([key, name]) => [name, key]));

/** The keys of a group, which is named with a dot at its end; of the whole file without a name. */
function keysIn(group: string): readonly string[] {
  const keys = [...NAMES.keys()].filter((key) => key.startsWith(group));
  return [...new Set(keys.map((key) => key.slice(group.length).split(".")[0] ?? ""))];
}

function shownValue(node: Node): string {
  const text =
    node.type === "object" ? "an object" : node.type === "array" ? "an array" : JSON.stringify(node.value);
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : text;
}

/** `CommaExpected` as words. */
function describeSyntax({ error }: ParseError): string {
  const words = printParseErrorCode(error).replace(/(?<=[a-z])(?=[A-Z])/g, " ");
  return `not valid JSON: ${words.toLowerCase()}`;
}

function invalid(message: string): BridgeError {
  return new BridgeError("CONFIG_INVALID", message, { hint: MEND_FILE });
}
