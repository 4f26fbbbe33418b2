import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../../config/config.ts";
import { splitCommand, unwrapForeign } from "../command-line.ts";
import { isObject } from "../formats/document.ts";
import type { Origin, StdioServer } from "../server-definition.ts";
import { parseEnvFile } from "../small-file.ts";
import { type Expander, isWindowsPath, resolveHome } from "../variables.ts";
import type { EntryFields, TransportFault } from "./fields.ts";

type Entry = Readonly<Record<string, unknown>>;

/** `./x.js`, `../x`, `src/x.py`, `x.sh`: paths, where `@scope/name` and `.` need not be. */
const SCRIPT = /^\.{1,2}[\\/].|^[\w.-]+(?:[\\/][\w.-]+)*\.(?:[cm]?[jt]sx?|py|sh|rb|php|jar|exe)$/;

/** The process that an entry describes, or what is wrong with it. */
export function readStdio(
  entry: Entry,
  fields: EntryFields & { readonly command: NonNullable<EntryFields["command"]> },
  origin: Origin,
  isBare: boolean,
  config: Config,
  expander: Expander,
): StdioServer | TransportFault {
  const { expand } = expander;
  const fileFolder = dirname(origin.file);
  const folder = origin.folder ?? fileFolder;
  const resolve = (path: string, base = folder) => resolveHome(path, config.homeDir, base);
  const written = fields.command;
  const split = Array.isArray(written)
    ? ({ kind: "words", words: written } as const)
    : splitCommand(written.trim(), fields.args.length > 0, (path) => resolve(expand(path)));
  if (split.kind === "unclosed") return { fault: `a closing ${split.quote}`, at: "command" };
  if (split.kind === "shell") {
    expander.need(
      `a shell for ${JSON.stringify(split.sign)} in "command", which is never used (expected a program and "args")`,
    );
  }
  const first = split.kind === "words" ? split.words : [String(written)];
  const [program = "", ...args] = unwrapForeign(
    [...first, ...fields.args].map((word) => expandTilde(expand(word), config.homeDir)),
    config.platform,
  );
  if (program === "") return { fault: "the program to start, found empty text", at: "command" };
  const cwd =
    fields.cwd === undefined
      ? defaultFolder([program, ...args], origin, isBare)
      : resolve(expand(fields.cwd));
  return {
    kind: "stdio",
    command: isPath(program, config.platform)
      ? resolve(program, origin.scope === "project" ? cwd : folder)
      : program,
    args,
    env: readEnv(entry, fields, config, expander, resolve),
    cwd,
  };
}

/**
 * Where a process runs whose entry does not say: clients run servers of a project in its folder. A file that stands for
 * itself means its own folder when it names a script beside it; so may one in a subfolder of a project.
 */
function defaultFolder(words: readonly string[], origin: Origin, isBare: boolean): string | undefined {
  const scripts = words.filter((word) => SCRIPT.test(word));
  const own = dirname(origin.file);
  if (origin.folder === undefined) return isBare && scripts.length > 0 ? own : undefined;
  const { folder } = origin;
  const lies = (where: string) => scripts.some((script) => existsSync(join(where, script)));
  return own !== folder && lies(own) && !lies(folder) ? own : folder;
}

function readEnv(
  entry: Entry,
  fields: EntryFields,
  config: Config,
  { expand, need, note, readFile, variable }: Expander,
  resolve: (path: string) => string,
): Readonly<Record<string, string>> {
  const env = new Map<string, string>();
  if (fields.envFile !== undefined) {
    const path = resolve(expand(fields.envFile));
    const text = readFile(path, "envFile");
    if (text === undefined) need(`file ${path}, which "envFile" names`);
    else for (const [name, value] of parseEnvFile(text)) env.set(name, value);
  }
  const passed = entry["env_vars"];
  for (const item of Array.isArray(passed) ? passed : []) {
    const name: unknown = isObject(item) ? item["name"] : item;
    const value = typeof name === "string" ? variable(name, `variable ${name}`) : undefined;
    if (typeof name === "string" && value !== undefined) env.set(name, value);
  }
  const keyring = entry["env_keys"];
  for (const name of Array.isArray(keyring) ? keyring : []) {
    note(`variable ${name}`, `variable ${name}`); // also while it is not set
    const value = typeof name === "string" && Object.hasOwn(config.env, name) ? config.env[name] : undefined;
    if (value !== undefined) env.set(name, value);
  }
  for (const [name, value] of Object.entries(fields.env)) {
    if (value === null) env.delete(name);
    else env.set(name, expand(value, `variable ${name}`));
  }
  return Object.fromEntries(env);
}

function expandTilde(word: string, homeDir: string): string {
  return word === "~" || /^~[\\/]/.test(word) ? `${homeDir}${word.slice(1)}` : word;
}

/** A bare word is looked up on PATH. */
function isPath(program: string, platform: NodeJS.Platform): boolean {
  if (isWindowsPath(program) || program.startsWith("$")) return false;
  return program.includes("/") || (platform === "win32" && program.includes("\\"));
}
