import { access, lstat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Config } from "../../config/config.ts";
import { BridgeError } from "../../core/errors.ts";
import { findNearest } from "../../core/nearest.ts";
import { loadPlaces, locate, type PathPattern, type Places } from "../places.ts";
import { type InstallTarget, TARGETS } from "./targets.ts";

/** Whose servers a file defines. */
export type InstallScope = "user" | "project";

/** A client with the file that it reads here. */
export interface FoundTarget {
  readonly target: InstallTarget;
  readonly scope: InstallScope;
  /** Absolute; it need not exist. */
  readonly file: string;
  readonly fileExists: boolean;
  /** The client was used here, or is on the PATH. */
  readonly isPresent: boolean;
}

/** Finds the files of all clients that have one of that scope. A project's are those of the folder that the bridge runs in. */
export async function findTargets(config: Config, scope: InstallScope): Promise<readonly FoundTarget[]> {
  const places = await loadPlaces(config);
  const found = await Promise.all(
    TARGETS.map(async (target): Promise<FoundTarget | undefined> => {
      const file = scope === "user" ? await pick(target.user, places) : await pickOfProject(target, places);
      if (file === undefined) return undefined;
      const fileExists = await exists(file);
      return { target, scope, file, fileExists, isPresent: fileExists || (await isPresent(target, places)) };
    }),
  );
  return found.filter((each) => each !== undefined);
}

/** The clients that were meant. Throws `USAGE` for one that nobody knows, or that has no file of that scope. */
export function chooseTargets(
  found: readonly FoundTarget[],
  names: readonly string[],
): readonly FoundTarget[] {
  const chosen = names.map((name) => {
    const id = fold(name);
    const known = TARGETS.find((target) => fold(target.id) === id || fold(target.name) === id);
    const ids = TARGETS.map((target) => target.id);
    if (known === undefined) {
      const nearest = findNearest(name, ids);
      throw new BridgeError("USAGE", `no client is called ${JSON.stringify(name)}`, {
        hint: nearest === undefined ? `The clients are: ${ids.join(", ")}.` : `Did you mean "${nearest}"?`,
      });
    }
    const own = found.find(({ target }) => target === known);
    if (own !== undefined) return own;
    const having = found.map(({ target }) => target.id).join(", ");
    throw new BridgeError("USAGE", `${known.name} has no file for a project`, {
      hint: `Leave out --scope project, or name one of: ${having}.`,
    });
  });
  return [...new Set(chosen)];
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, "");
}

async function pickOfProject({ project }: InstallTarget, places: Places): Promise<string | undefined> {
  const { projectDir } = places.config;
  return project === undefined
    ? undefined
    : pick(`./${project}`, { ...places, projectFolders: [projectDir] });
}

/** The first file that exists, else the first. */
async function pick(pattern: PathPattern, places: Places): Promise<string | undefined> {
  const files = await list(pattern, places);
  for (const file of files) if (await exists(file)) return file;
  return files[0];
}

async function isPresent({ signs, programs }: InstallTarget, places: Places): Promise<boolean> {
  for (const sign of signs) for (const path of await list(sign, places)) if (await exists(path)) return true;
  for (const program of programs)
    if ((await findOnPath(program, places.config.env["PATH"])) !== undefined) return true;
  return false;
}

async function list(pattern: PathPattern, places: Places): Promise<readonly string[]> {
  return (await locate(pattern, places, () => undefined)).map(({ file }) => file);
}

/** Where a program is on a PATH, by the path that leads to it there. */
export async function findOnPath(program: string, searchPath = ""): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter)) {
    if (!isAbsolute(folder)) continue; // it would be another one in another folder
    const path = join(folder, process.platform === "win32" ? `${program}.exe` : program);
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}

/** Also a link that leads nowhere is there. */
async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
