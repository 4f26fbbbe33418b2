import { stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join } from "node:path";
import type { StdioServer } from "../server-definition.ts";
import type { Judge } from "./judge.ts";

const OWN_NAME = "sandpy";
/** Programs that run another one, which one of their words names: those that follow belong to that one. */
const RUNNERS = new Set(
  "npx bunx pnpx npm pnpm yarn bun node deno env uvx pipx nice nohup time timeout stdbuf setsid ionice sudo doas".split(
    " ",
  ),
);
const RUNNER_COMMANDS = new Set(["dlx", "exec", "run", "x"]);
const SHELLS = new Set("sh bash dash zsh ksh fish pwsh powershell".split(" "));
const MAX_UNWRAPS = 8;

/** How the bridge recognises itself. */
export interface SelfCheck {
  /** The path of the running program, or `undefined` where it is an interpreter and says nothing. */
  readonly selfPath: string | undefined;
  /** The `PATH` on which a bare command is looked up. */
  readonly searchPath: string;
}

/**
 * Refuses a server that would start the bridge itself, which would start the same servers again, without end: by name,
 * by any path or link to the running program, through a runner such as `npx`, or from a shell's `-c`. A script of its
 * own is not seen through; for those there is the depth variable.
 */
export function createSelfJudge({ selfPath, searchPath }: SelfCheck): Judge {
  const own = selfPath === undefined ? undefined : identify(selfPath);
  const programs = new Map<string, Promise<string | undefined>>(); // hundreds of servers share `npx`
  const find = (command: string) => {
    const known = programs.get(command) ?? findProgram(command, searchPath);
    programs.set(command, known);
    return known;
  };
  return async ({ transport }) => {
    if (transport.kind !== "stdio") return undefined;
    const words = unwrap(transport);
    if (words.some(isOwnName)) return { kind: "self" };
    const ownId = await own;
    if (ownId === undefined) return undefined;
    for (const word of words) if ((await find(word)) === ownId) return { kind: "self" };
    return undefined;
  };
}

/** The program of an entry, and those that it runs in turn, as far as its words tell. */
function unwrap({ command, args }: StdioServer): readonly string[] {
  const programs: string[] = [];
  let words: readonly string[] = [command, ...args];
  for (let depth = 0; depth < MAX_UNWRAPS; depth++) {
    const [program, ...rest] = words;
    if (program === undefined) break;
    programs.push(program);
    words = wrappedBy(programName(program), rest);
  }
  return programs;
}

/** The words of what a program runs; none where it runs nothing else. */
function wrappedBy(program: string, args: readonly string[]): readonly string[] {
  if (program === "cmd") return args.slice(args.findIndex((word) => /^\/[ck]$/i.test(word)) + 1);
  if (SHELLS.has(program)) {
    const at = args.findIndex((word) => /^-\w*c$/i.test(word) || /^-command$/i.test(word));
    const line = at === -1 ? args.filter((word) => !word.startsWith("-")) : shellWords(args[at + 1] ?? "");
    return line[0] === "exec" ? line.slice(1) : line;
  }
  if (!RUNNERS.has(program)) return [];
  // No flag, no variable for `env`, no number for `timeout`, and no command of the runner itself.
  const at = args.findIndex((word) => !/^-|^\w+=|^\d[\d.]*[smhd]?$/.test(word) && !RUNNER_COMMANDS.has(word));
  return at === -1 ? [] : args.slice(at);
}

function shellWords(line: string): readonly string[] {
  return line.split(/\s+/).flatMap((word) => (/^$|^\w+=/.test(word) ? [] : [word.replace(/["';]/g, "")]));
}

function isOwnName(word: string): boolean {
  return programName(word).replace(/(?<=.)@.*$/, "") === OWN_NAME;
}

function programName(path: string): string {
  return basename(path.replaceAll("\\", "/"))
    .replace(/\.(exe|cmd)$/i, "")
    .toLowerCase();
}

async function findProgram(command: string, searchPath: string): Promise<string | undefined> {
  if (isAbsolute(command)) return identify(command);
  for (const folder of searchPath.split(delimiter)) {
    const found = folder === "" ? undefined : await identify(join(folder, command));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The same text for every path and link that leads to a file; `undefined` where there is none: then it is not us. */
function identify(path: string): Promise<string | undefined> {
  return stat(path).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => undefined,
  );
}
