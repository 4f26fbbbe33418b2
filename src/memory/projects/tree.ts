import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { isTemporary, sweepTemporary } from "../../core/atomic-file.ts";
import type { ProjectFile, ProjectList } from "../../kernel/host-memory.ts";
import { fromSystem } from "../faults.ts";
import { MAX_FILES } from "../limits.ts";
import { Folder } from "./folder.ts";
import { isHiddenName, MAX_LEVELS, MAX_PATH_BYTES } from "./paths.ts";

const TOOLS = "user_tools.py";
/** What is looked at, folders too: what the user keeps there may be of any size. */
const MAX_ENTRIES = 4 * MAX_FILES;
/** Removed meanwhile, something else by now, or the user's own matter. */
const NOT_SEEN: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES"]);

/**
 * Lists the regular files below a folder, sorted by path: at most 10,000, and none behind a link. `state` is "" where
 * there are none; what is behind its last "/" changes with the file of saved tools alone.
 */
export async function readTree(folder: string): Promise<ProjectList> {
  const files: ProjectFile[] = [];
  try {
    await using top = await Folder.open(folder);
    await readFolder(top, "", 1, { files, left: MAX_ENTRIES });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw fromSystem(error, "listing what is kept", folder);
  }
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  if (files.length === 0) return { state: "", files };
  const hash = createHash("sha256");
  for (const { path, version } of files) hash.update(`${path}\0${version}\n`);
  const tools = files.find(({ path }) => path === TOOLS)?.version ?? "";
  return { state: `${hash.digest("hex").slice(0, 24)}/${tools}`, files };
}

/** What {@link readTree} says of one file. */
export function describeFile(path: string, facts: BigIntStats): ProjectFile {
  return {
    path,
    bytes: Number(facts.size),
    version: versionOf(facts),
    modified_at: Number(facts.mtimeMs) / 1000,
  };
}

/** Another one whenever the content is. */
export function versionOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino}-${mtimeNs}-${size}`;
}

interface Walk {
  readonly files: ProjectFile[];
  left: number;
}

async function readFolder(folder: Folder, prefix: string, level: number, walk: Walk): Promise<void> {
  for (const entry of await namesOf(folder, prefix)) {
    walk.left -= 1;
    if (walk.files.length >= MAX_FILES || walk.left < 0) return;
    const path = `${prefix}${entry.name}`;
    if (isTemporary(entry.name)) await sweepTemporary(folder.path, entry.name);
    if (isHiddenName(entry.name) || Buffer.byteLength(path) > MAX_PATH_BYTES || !path.isWellFormed())
      continue;
    if (entry.isDirectory()) {
      if (level < MAX_LEVELS) await readBelow(folder, entry.name, `${path}/`, level + 1, walk);
    } else if (entry.isFile()) {
      const facts = await lstat(folder.at(entry.name), { bigint: true }).catch(() => undefined);
      if (facts?.isFile() === true) walk.files.push(describeFile(path, facts));
    }
  }
}

async function readBelow(
  folder: Folder,
  name: string,
  prefix: string,
  level: number,
  walk: Walk,
): Promise<void> {
  let below: Folder;
  try {
    below = await folder.enter(name);
  } catch (error) {
    if (NOT_SEEN.has((error as NodeJS.ErrnoException).code ?? "")) return;
    throw error;
  }
  await using opened = below;
  await readFolder(opened, prefix, level, walk);
}

/** Sorted, so that it is always the same files that are too many. */
async function namesOf(folder: Folder, prefix: string) {
  try {
    const entries = await readdir(folder.path, { withFileTypes: true });
    return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    if (prefix !== "" && NOT_SEEN.has((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}
