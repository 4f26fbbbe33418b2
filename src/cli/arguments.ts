import type { ArgDef, ArgsDef } from "citty";
import { BridgeError } from "../core/errors.ts";
import { findNearest } from "../core/nearest.ts";
import { aliasesOf, choicesOf } from "./command-tree.ts";

/** Values under the declared names; a positional that may be left out is absent. */
export interface ParsedArguments {
  readonly values: Readonly<Record<string, string | boolean | readonly string[]>>;
  /** What stood after `--`, untouched, where a command takes that; else the words of a positional that takes any number. */
  readonly rest: readonly string[];
  readonly helpAsked: boolean;
}

/** A positional of this name is declared for the help alone: it stands for everything after `--`. */
export const REST = "args";
const AFTER_DASHES = 'Arguments of the program come after "--".';
/** The value hint of a positional that takes any number of words; they become `rest`. */
export const MANY = "…";
/** The value hint of a flag that takes names with commas between, and may be given more than once. */
export const LIST = "a,b";

/** Whether a flag may be given more than once, each time with one value: its hint ends with `…`. Its value is a list. */
function isRepeated({ valueHint, type }: ArgDef): boolean {
  return type === "string" && valueHint?.endsWith(MANY) === true;
}

/** The values of a flag that may be given more than once. */
export function valuesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Checks the words after a command against its declaration. Throws `USAGE` for a flag that is not declared, a value
 * that is missing or too much, and a positional that nobody expects; citty's own parser accepts all of these.
 */
export function parseArguments(words: readonly string[], declared: ArgsDef): ParsedArguments {
  const values: Record<string, string | boolean | readonly string[]> = {};
  const positionals = Object.keys(declared).filter(
    (name) => declared[name]?.type === "positional" && name !== REST,
  );
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const many: string[] = [];
  let helpAsked = false;
  let filled = 0;
  const place = (word: string) => {
    const name = positionals[filled];
    if (name === undefined) throw unexpected(word, REST in declared);
    if (declared[name]?.valueHint === MANY) many.push(word);
    else {
      requireChoice(name.toUpperCase(), word, declared[name]);
      values[name] = word;
      filled += 1;
    }
  };
  for (let index = 0; index < end; index++) {
    const word = words[index] ?? "";
    if (word === "--help" || word === "-h") helpAsked = true;
    else if (word.startsWith("-") && !/^-(\d|$)/.test(word)) {
      const { name, flag, value } = readFlag(word, declared);
      const arg = declared[name] ?? {};
      const isList = arg.valueHint === LIST;
      if (name in values && !isList && !isRepeated(arg)) throw usage(`${flag} is given twice`);
      if (arg.type === "boolean") {
        if (value !== undefined) throw usage(`${flag} takes no value, but has ${JSON.stringify(value)}`);
        values[name] = true;
      } else {
        const given = value ?? takeValue(words, ++index, end, flag, arg);
        requireChoice(flag, given, arg);
        if (isRepeated(arg)) values[name] = [...valuesOf(values[name]), given];
        else values[name] = name in values ? `${values[name]},${given}` : given;
      }
    } else place(word);
  }
  const after = words.slice(end + 1);
  if (!(REST in declared)) for (const word of after) place(word);
  const missing = positionals.slice(filled).find((name) => declared[name]?.required !== false);
  if (missing !== undefined && !helpAsked) {
    throw usage(`${missing.toUpperCase()} is missing`, hintForMissing(missing, declared[missing], values));
  }
  return { values, rest: REST in declared ? after : many, helpAsked };
}

/** What a positional can be, or the command that lists it. */
function hintForMissing(
  name: string,
  arg: ArgDef | undefined,
  { server }: ParsedArguments["values"],
): string | undefined {
  const choices = choicesOf(arg);
  if (choices.length > 0) return `Give ${oneOf(choices)}.`;
  if (name === "server") return "For the servers, type: sandpy servers";
  return name === "tool" ? `For its tools, type: sandpy tools ${server}` : undefined;
}

/** A `USAGE` error; `hint` says what to type instead. */
export function usage(message: string, hint?: string): BridgeError {
  return new BridgeError("USAGE", message, hint === undefined ? {} : { hint });
}

/** `hint` for a word that is none of `names`. */
export function didYouMean(typed: string, names: readonly string[]): string | undefined {
  const nearest = findNearest(typed, names);
  return nearest === undefined ? undefined : `Did you mean "${nearest}"?`;
}

function readFlag(word: string, declared: ArgsDef) {
  const equals = word.indexOf("=");
  const flag = equals === -1 ? word : word.slice(0, equals);
  const value = equals === -1 ? undefined : word.slice(equals + 1);
  const options = Object.entries(declared).filter(([, arg]) => arg.type !== "positional");
  const name = options.find(
    ([name, arg]) => flag === `--${name}` || aliasesOf(arg).some((alias) => flag === `-${alias}`),
  )?.[0];
  if (name === undefined) {
    throw usage(`unknown flag ${JSON.stringify(flag)}`, hintForFlag(flag, declared));
  }
  return { name, flag, value };
}

/** The flag that was meant; where there is none, a program's own flags stood on the wrong side of `--`. */
function hintForFlag(flag: string, declared: ArgsDef): string | undefined {
  const options = Object.entries(declared).filter(([, arg]) => arg.type !== "positional");
  const letters = options.flatMap(([, arg]) => aliasesOf(arg).map((alias) => `-${alias}`));
  const sameLetter = letters.find((letter) => letter.toLowerCase() === flag.toLowerCase());
  if (sameLetter !== undefined) return `Did you mean "${sameLetter}"?`;
  const nearest = didYouMean(flag, [...options.map(([name]) => `--${name}`), "--help"]);
  return nearest ?? (REST in declared ? AFTER_DASHES : undefined);
}

/** Throws for a value that is none of an enumeration. */
function requireChoice(what: string, value: string, arg?: ArgDef): void {
  const choices = choicesOf(arg);
  if (choices.length === 0 || choices.includes(value)) return;
  const message = `${what} is ${JSON.stringify(value)}: expected ${oneOf(choices)}`;
  throw usage(message, didYouMean(value, choices));
}

function oneOf(choices: readonly string[]): string {
  return `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;
}

function takeValue(words: readonly string[], index: number, end: number, flag: string, arg?: ArgDef): string {
  const value = words[index];
  // A flag in its place is a value forgotten; one that starts with a dash can be given as --flag=-value.
  if (index >= end || value === undefined || (value.startsWith("-") && value !== "-")) {
    throw usage(`${flag} needs a value`, `Type ${flag}=<${shownHint(arg)}>.`);
  }
  return value;
}

/** What stands for the value of a flag in messages and help. */
export function shownHint(arg: ArgDef | undefined, otherwise = "value"): string {
  return arg?.valueHint?.replace(MANY, "") ?? otherwise;
}

function unexpected(word: string, takesRest: boolean): BridgeError {
  return usage(`unexpected argument ${JSON.stringify(word)}`, takesRest ? AFTER_DASHES : undefined);
}
