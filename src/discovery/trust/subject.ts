import { realpath } from "node:fs/promises";
import { dirname, relative } from "node:path";
import type { ServerDefinition } from "../server-definition.ts";
import type { TrustEntry } from "./trust-store.ts";

/** One server as trust is about it. */
export interface TrustSubject extends Omit<TrustEntry, "at"> {
  /** The folder as its origin names it, for what people read. */
  readonly namedFolder: string;
}

/** What to trust of a server that a project file defines; `undefined` for all others, which need none. */
export async function trustSubject(
  server: ServerDefinition,
  resolveFolder: (folder: string) => Promise<string> = realFolder,
): Promise<TrustSubject | undefined> {
  const [{ scope, file, key, folder: named }] = server.origins;
  if (scope !== "project") return undefined;
  const namedFolder = named ?? dirname(file);
  const folder = await resolveFolder(namedFolder);
  // Relative: the same project is the same one by every path that leads to it.
  return { namedFolder, folder, file: relative(namedFolder, file), key, pin: server.pin };
}

/** Whether two entries are about the same server. */
export function isSameSubject(
  one: Pick<TrustEntry, "folder" | "file" | "key">,
  other: Pick<TrustEntry, "folder" | "file" | "key">,
): boolean {
  return one.folder === other.folder && one.file === other.file && one.key === other.key;
}

/** A folder without symbolic links and `..`; one that is gone stays as it was named. */
export function realFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder);
}
