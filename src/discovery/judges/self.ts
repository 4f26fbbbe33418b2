import { realpath } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join } from "node:path";
import type { StdioServer } from "../server-definition.ts";
import type { Judge } from "./judge.ts";

const OWN_NAME = "sandpy";
/** Programs that run another one, which their first argument names: those that follow belong to that one. */
const RUNNERS = new Set(["npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "node", "env", "uvx", "pipx"]);
const RUNNER_COMMANDS = new Set(["dlx", "exec", "run", "x"]);

/** How the bridge recognises itself. */
export interface SelfCheck {
  /** The path of the running program, or `undefined` where it is an interpreter and says nothing. */
  readonly selfPath: string | undefined;
  /** The `PATH` on which a bare command is looked up. */
  readonly searchPath: string;
}

/**
 * Refuses a server that would start the bridge itself, which would start the same servers again, without end: by name,
 * by any path or link to the running program, or through a runner such as `npx`. A wrapper script is not seen through;
 * for those there is the depth variable.
 */
export function createSelfJudge({ selfPath, searchPath }: SelfCheck): Judge {
  const own = selfPath === undefined ? undefined : resolveReal(selfPath);
  const programs = new Map<string, Promise<string | undefined>>(); // hundreds of servers share `npx`
  const find = (command: string) => {
    const known = programs.get(command) ?? findProgram(command, searchPath);
    programs.set(command, known);
    return known;
  };
  return async ({ transport }) => {
    if (transport.kind !== "stdio") return undefined;
    if (isCalledLikeUs(transport)) return { kind: "self" };
    const ownPath = await own;
    return ownPath !== undefined && ownPath === (await find(transport.command))
      ? { kind: "self" }
      : undefined;
  };
}

function isCalledLikeUs({ command, args }: StdioServer): boolean {
  return (
    isOwnName(command) || (RUNNERS.has(programName(command)) && isOwnName(findRunnersProgram(args) ?? ""))
  );
}

/** The first word that is no flag, no variable for `env`, and no command of the runner itself. */
function findRunnersProgram(args: readonly string[]): string | undefined {
  return args.find((word) => !/^-|^\w+=/.test(word) && !RUNNER_COMMANDS.has(word));
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
  if (isAbsolute(command)) return resolveReal(command);
  for (const folder of searchPath.split(delimiter)) {
    const found = folder === "" ? undefined : await resolveReal(join(folder, command));
    if (found !== undefined) return found;
  }
  return undefined;
}

function resolveReal(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined); // missing: then it is not us
}
