import { existsSync, statSync } from "node:fs";
import { isWindowsPath } from "./variables.ts";

const SHELLS = /^(?:.*[\\/])?(?:ba|z|da|k|fi)?sh(?:\.exe)?$|^(?:.*[\\/])?(?:cmd|powershell|pwsh)(?:\.exe)?$/i;

const VARIABLE = /^(?:\$\{(?:[^{}]|\{[^{}]*\})*\}|\{(?:env|file):[^{}]*\}|\$\([^()]*\))/;
const MAX_VARIABLE_CHARS = 1000;
/** A path to a program with more words than this is none. */
const MAX_SPACES = 32;

/** A line in words, or the sign in it that only a shell understands. */
export type Words =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "shell"; readonly sign: string }
  | { readonly kind: "unclosed"; readonly quote: string };

/**
 * Splits a line as a shell would, and runs nothing. Single and double quotes and backslashes work; a backslash before a
 * letter or digit stays, because Windows paths have them.
 */
export function splitWords(line: string): Words {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let index = 0; index < line.length; index++) {
    const char = line.charAt(index);
    // What a variable's braces enclose is one word, spaces of a default and all.
    const isOpening = (char === "$" || char === "{") && quote !== "'";
    const variable = isOpening
      ? VARIABLE.exec(line.slice(index, index + MAX_VARIABLE_CHARS))?.[0]
      : undefined;
    if (variable !== undefined) {
      word = (word ?? "") + variable;
      index += variable.length - 1;
      continue;
    }
    const next = line.charAt(index + 1);
    if (char === "\\" && quote !== "'" && /[\s"'\\$`&|;<>()]/.test(next)) {
      word = (word ?? "") + next;
      index++;
    } else if (quote !== "") {
      if (char === quote) quote = "";
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      const sign = /^(?:&&|\|\||[&|;<>])/.exec(line.slice(index))?.[0];
      if (sign !== undefined) return { kind: "shell", sign };
      word = (word ?? "") + char;
    }
  }
  if (quote !== "") return { kind: "unclosed", quote };
  if (word !== undefined) words.push(word);
  return { kind: "words", words };
}

/**
 * The program and first arguments of a `command` that may be a whole line. A path with spaces is no line: neither one
 * that exists, nor one of Windows that ends like a program, nor one with its arguments beside it. `resolve` makes a path
 * absolute, with its variables filled in.
 */
export function splitCommand(command: string, hasArgs: boolean, resolve: (path: string) => string): Words {
  const one: Words = { kind: "words", words: [command] };
  if (!/\s/.test(command) || isFile(resolve(command))) return one;
  if (hasArgs && isPathLike(command)) return one;
  if (isWindowsPath(command) && /\.(?:exe|cmd|bat|com)$/i.test(command)) return one;
  const program = existingPrefix(command, resolve);
  if (program === undefined) return splitWords(command);
  const rest = splitWords(command.slice(program.length));
  return rest.kind === "words" ? { kind: "words", words: [program, ...rest.words] } : rest;
}

/** `/Applications/My Tool.app/run --flag`: the longest beginning that is a file and holds a space. */
function existingPrefix(command: string, resolve: (path: string) => string): string | undefined {
  if (!isPathLike(command)) return undefined;
  const ends: number[] = [];
  for (const { index } of command.matchAll(/\s+/g)) {
    ends.push(index);
    if (ends.length === MAX_SPACES) break;
  }
  return ends
    .slice(1)
    .reverse()
    .map((end) => command.slice(0, end))
    .find((prefix) => isFile(resolve(prefix)));
}

function isPathLike(command: string): boolean {
  return /^(?:~|\.{1,2})?[\\/]|^[A-Za-z]:|^\$?\{/.test(command);
}

function isFile(path: string): boolean {
  try {
    return existsSync(path) && statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * What starts the same program here. Files travel between systems: `cmd /c npx …` and `npx.cmd …` mean `npx …` where
 * there is no `cmd`.
 */
export function unwrapForeign(words: readonly string[], platform: NodeJS.Platform): readonly string[] {
  if (platform === "win32") return words;
  const inner = stripCmd(words);
  const [program = "", ...args] = inner;
  const bare = /^(npx|npm|pnpm|pnpx|yarn|bunx|uvx|node|python|uv|bun|deno|docker)\.(?:cmd|exe|bat)$/i.exec(
    program,
  )?.[1];
  return bare === undefined ? inner : [bare, ...args];
}

/** Without a leading `cmd /c`, which Windows needs for scripts such as `npx`. */
export function stripCmd(words: readonly string[]): readonly string[] {
  if (!/^(?:.*[\\/])?cmd(?:\.exe)?$/i.test(words[0] ?? "")) return words;
  const flags = words.slice(1).findIndex((word) => !/^\/[a-z](?::\w+)?$/i.test(word));
  const isCall = words.slice(1, flags + 1).some((word) => /^\/[ck]$/i.test(word));
  return flags === -1 || !isCall ? words : words.slice(flags + 1);
}

/** Whether a program runs its arguments through a shell by its own nature, so that `$(…)` in them is meant for it. */
export function isShell(command: string): boolean {
  return SHELLS.test(command);
}
