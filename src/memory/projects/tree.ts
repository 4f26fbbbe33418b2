import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ProjectFile, ProjectList } from "../../kernel/host-memory.ts";
import { fromSystem } from "../faults.ts";
import { MAX_FILES } from "../limits.ts";
import { isHiddenName, MAX_LEVELS, MAX_PATH_BYTES } from "./paths.ts";

const TOOLS = "user_tools.py";

/**
 * Lists the regular files below a folder, sorted by path: at most 10,000, and none behind a link. `state` is "" where
 * there are none; what is behind its last "/" changes with the file of saved tools alone.
 */
export async function readTree(folder: string): Promise<ProjectList> {
  const files: ProjectFile[] = [];
  await readFolder(folder, "", 1, files);
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
    version: `${facts.ino}-${facts.mtimeNs}-${facts.size}`,
    modified_at: Number(facts.mtimeMs) / 1000,
  };
}

async function readFolder(
  folder: string,
  prefix: string,
  level: number,
  found: ProjectFile[],
): Promise<void> {
  let entries: Awaited<ReturnType<typeof namesOf>>;
  try {
    entries = await namesOf(folder);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || (prefix !== "" && code === "EACCES")) return; // removed meanwhile, or the user's own matter
    throw fromSystem(error, "listing what is kept", folder);
  }
  for (const entry of entries) {
    if (found.length >= MAX_FILES) return;
    const path = `${prefix}${entry.name}`;
    if (isHiddenName(entry.name) || Buffer.byteLength(path) > MAX_PATH_BYTES || !path.isWellFormed())
      continue;
    if (entry.isDirectory()) {
      if (level < MAX_LEVELS) await readFolder(join(folder, entry.name), `${path}/`, level + 1, found);
    } else if (entry.isFile()) {
      const facts = await lstat(join(folder, entry.name), { bigint: true }).catch(() => undefined);
      if (facts?.isFile() === true) found.push(describeFile(path, facts));
    }
  }
}

/** Sorted, so that it is always the same files that are too many. */
async function namesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}
