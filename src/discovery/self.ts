import { realpath } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join } from "node:path";
import type { NamedDefinition } from "./normalize.ts";

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
 * Whether a definition would start the bridge itself, which would start the same servers again, without end: by name,
 * by any path or link to the running program, or through a runner such as `npx`. A wrapper script is not seen through;
 * for those there is the depth variable.
 */
export async function isSelfReference({ transport }: NamedDefinition, self: SelfCheck): Promise<boolean> {
  if (transport.kind !== "stdio") return false;
  const { command, args } = transport;
  if (isOwnName(command)) return true;
  if (RUNNERS.has(programName(command)) && isOwnName(findRunnersProgram(args) ?? "")) return true;
  if (self.selfPath === undefined) return false;
  const [own, configured] = await Promise.all([
    resolveReal(self.selfPath),
    findProgram(command, self.searchPath),
  ]);
  return own !== undefined && own === configured;
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
