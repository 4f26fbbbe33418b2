import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { BridgeError } from "../core/errors.ts";
import { explainFileFault } from "../core/file-faults.ts";
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
  return openNew();
}

/**
 * Does what writes into such a folder, in the first where that is possible: a disk may be full. Rejects with
 * `ENGINE_FAILED` where it is possible in none.
 */
export async function writePrivately(
  env: Readonly<Record<string, string>>,
  write: (folder: PrivateFolder) => Promise<string>,
): Promise<string> {
  const failures: { readonly folder: string; readonly error: unknown }[] = [];
  for (const folder of candidateFolders(env)) {
    const opened = await PrivateFolder.open(folder);
    try {
      if (opened !== undefined) return await write(opened);
    } catch (error) {
      failures.push({ folder, error });
    }
  }
  try {
    return await write(await openNew());
  } catch (error) {
    const [first = { folder: tmpdir(), error }] = failures;
    const { what, hint } = explainFileFault(first.error);
    throw new BridgeError(
      "ENGINE_FAILED",
      `the sandbox needs a file in ${JSON.stringify(first.folder)}, which could not be written: ${what}`,
      {
        hint: hint ?? "Set XDG_CACHE_HOME or TMPDIR to a folder of yours that can be written.",
        cause: first.error,
      },
    );
  }
}

async function openNew(): Promise<PrivateFolder> {
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
