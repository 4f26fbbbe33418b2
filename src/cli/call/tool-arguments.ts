import type { Readable } from "node:stream";
import { parseExactJson } from "../../core/exact-json.ts";
import type { ToolSummary } from "../../kernel/host-tools.ts";
import { didYouMean, usage } from "../arguments.ts";
import { readText } from "../read-text.ts";

export type ToolArguments = Readonly<Record<string, unknown>>;
/** Arguments whose types are those of the tool's schema. */
export type TypedBySchema = (tool: ToolSummary | undefined) => ToolArguments;

const HOW = `Give one JSON object, "@file" or "-" for stdin, or NAME=VALUE for each argument.`;
const MAX_QUOTED_CHARS = 200;
const PAIR = /^([^=:]+(?::[^=:]+)*)(:?=)(.*)$/s;

/**
 * The arguments of a tool as they are typed: nothing, one JSON object (`@file` and `-` read it), or pairs. `name=value`
 * is what the tool's schema says that it is, and text where it does not say; `name:=json` is JSON in any case. Throws
 * `USAGE`, the function too.
 */
export async function readToolArguments(
  words: readonly string[],
  stdin: Readable,
): Promise<ToolArguments | TypedBySchema> {
  const [first, ...others] = words;
  if (first === undefined) return {};
  if (others.length === 0) {
    if (first === "-") return parseObject(await readText("-", stdin), "what stdin holds");
    if (first.startsWith("@")) return parseObject(await readText(first.slice(1), stdin), quoted(first));
    if (!PAIR.test(first) || /^\s*[{[]/.test(first)) return parseObject(first, `ARGUMENT ${quoted(first)}`);
  }
  const pairs = words.map(parsePair);
  return (tool) => typePairs(pairs, tool);
}

/**
 * What is wrong with the names of a call's arguments, and those that the tool has; undefined where all is well. It is
 * said only when the server refuses: some take what their schema does not name.
 */
export function describeMismatch(given: ToolArguments, tool: ToolSummary | undefined): string | undefined {
  const known = Object.keys(propertiesOf(tool));
  if (known.length === 0) return undefined;
  const required = tool?.inputSchema["required"];
  const needed = Array.isArray(required)
    ? (required as unknown[]).filter((name) => typeof name === "string")
    : [];
  const missing = needed.filter((name) => !Object.hasOwn(given, name));
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (missing.length === 0 && unknown.length === 0) return undefined;
  const faults = [
    ...(missing.length === 0 ? [] : [`missing: ${missing.map(quoted).join(", ")}`]),
    ...(unknown.length === 0 ? [] : [`not known: ${unknown.map(quoted).join(", ")}`]),
  ];
  const takes = known.map((name) => (needed.includes(name) ? name : `[${name}]`)).join(", ");
  return `Its arguments are ${clip(takes)}; ${clip(faults.join("; "))}.`;
}

interface Pair {
  readonly name: string;
  readonly isJson: boolean;
  readonly value: string;
}

function parsePair(word: string): Pair {
  const [, name, sign, value] = PAIR.exec(word) ?? [];
  if (name === undefined || value === undefined) throw usage(`ARGUMENT ${quoted(word)} has no "="`, HOW);
  return { name, isJson: sign === ":=", value };
}

function typePairs(pairs: readonly Pair[], tool: ToolSummary | undefined): ToolArguments {
  const properties = propertiesOf(tool);
  const known = Object.keys(properties);
  const isOpen = tool?.inputSchema["additionalProperties"] !== false || known.length === 0;
  const typed = new Map<string, unknown>();
  for (const { name, isJson, value } of pairs) {
    if (typed.has(name)) throw usage(`argument ${quoted(name)} is given twice`, listHint(name));
    if (!Object.hasOwn(properties, name) && !isOpen) {
      throw usage(
        `tool ${quoted(tool?.name ?? "")} takes no argument ${quoted(name)}`,
        didYouMean(name, known) ?? `It takes: ${known.join(", ")}.`,
      );
    }
    typed.set(name, isJson ? parseJson(name, value) : typeValue(name, value, properties[name]));
  }
  return Object.fromEntries(typed);
}

/** Text is what was typed; all else is JSON. Where the schema allows both, JSON that fits is taken for what it says. */
function typeValue(name: string, value: string, schema: unknown): unknown {
  const types = typesOf(schema);
  if (types.size === 0 || (types.size === 1 && types.has("string"))) return value;
  if (!types.has("string")) {
    const parsed = tryJson(value);
    if (parsed !== undefined && fits(parsed, types)) return parsed;
    throw usage(`argument ${quoted(name)} is ${quoted(value)}: expected ${[...types].join(" or ")}`);
  }
  const parsed = tryJson(value);
  return parsed !== undefined && typeof parsed !== "string" && fits(parsed, types) ? parsed : value;
}

/** The JSON types that a schema names; none: it does not say. */
function typesOf(schema: unknown): ReadonlySet<string> {
  if (typeof schema !== "object" || schema === null) return new Set();
  const { type, anyOf, oneOf } = schema as Readonly<Record<string, unknown>>;
  const own = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === "string");
  const branches = [anyOf, oneOf].flatMap((some) => (Array.isArray(some) ? (some as unknown[]) : []));
  const nested = branches.map((branch) => (branch as { readonly type?: unknown } | null)?.type);
  // A branch that does not say what it is may be anything.
  if (nested.some((each) => typeof each !== "string")) return new Set();
  return new Set([...own, ...(nested as string[])]);
}

function fits(value: unknown, types: ReadonlySet<string>): boolean {
  if (value === null) return types.has("null");
  if (Array.isArray(value)) return types.has("array");
  if (JSON.isRawJSON(value)) return types.has("number") || types.has("integer");
  if (typeof value === "number") {
    return types.has("number") || (types.has("integer") && Number.isInteger(value));
  }
  return types.has(typeof value);
}

function propertiesOf(tool: ToolSummary | undefined): Readonly<Record<string, unknown>> {
  const properties = tool?.inputSchema["properties"];
  return typeof properties === "object" && properties !== null
    ? (properties as Readonly<Record<string, unknown>>)
    : {};
}

function parseObject(text: string, what: string): ToolArguments {
  const value = tryJson(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)) {
    return value as ToolArguments;
  }
  throw usage(`${what} is ${value === undefined ? "not JSON" : "no JSON object"}`, HOW);
}

function parseJson(name: string, text: string): unknown {
  const value = tryJson(text);
  if (value === undefined) {
    throw usage(
      `argument ${quoted(name)} is ${quoted(text)}: expected JSON after ":="`,
      "Text is given as NAME=TEXT.",
    );
  }
  return value;
}

function tryJson(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

function listHint(name: string): string {
  return `A list is JSON: '${name}:=["a", "b"]'.`;
}

function quoted(text: string): string {
  return JSON.stringify(clip(text));
}

function clip(text: string): string {
  return text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS).toWellFormed()}…` : text;
}
