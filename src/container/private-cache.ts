import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { PrivateFolder } from "../core/private-folder.ts";

/**
 * The folder for what we can make again: `$XDG_CACHE_HOME/sandpy`, `~/.cache/sandpy`, or one in the system's folder
 * for temporary files. It belongs to us alone, or it is not used: a stranger's seccomp profile would be worse than none.
 */
export async function openPrivateCache(env: Readonly<Record<string, string>>): Promise<PrivateFolder> {
  for (const folder of candidateFolders(env)) {
    const opened = await PrivateFolder.open(folder);
    if (opened !== undefined) return opened;
  }
  const made = await PrivateFolder.open(await mkdtemp(join(tmpdir(), "sandpy-")));
  if (made === undefined) throw new Error("a folder that was just made is not ours");
  return made;
}

function candidateFolders(env: Readonly<Record<string, string>>): string[] {
  const bases = [env["XDG_CACHE_HOME"], env["HOME"] === undefined ? undefined : join(env["HOME"], ".cache")];
  const usable = bases.filter((base) => base !== undefined && isAbsolute(base)) as string[];
  return [
    ...usable.map((base) => join(base, "sandpy")),
    join(tmpdir(), `sandpy-${process.getuid?.() ?? "user"}`),
  ];
}
