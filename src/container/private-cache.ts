import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * The folder for what we can make again: `$XDG_CACHE_HOME/sandpy`, `~/.cache/sandpy`, or one in the system's folder
 * for temporary files. It belongs to us alone, or it is not used: a stranger's seccomp profile would be worse than none.
 */
export async function openPrivateCache(env: Readonly<Record<string, string>>): Promise<PrivateCache> {
  for (const folder of candidateFolders(env)) {
    if (await makePrivate(folder)) return new PrivateCache(folder);
  }
  return new PrivateCache(await mkdtemp(join(tmpdir(), "sandpy-")));
}

/** Small files, written whole. */
export class PrivateCache {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The file's text; `undefined` when it cannot be read. */
  async read(name: string): Promise<string | undefined> {
    return readFile(join(this.folder, name), "utf8").catch(() => undefined); // a cache: absent and broken are one
  }

  /** Writes a file in one step, so that no reader sees half of it; returns its path. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    const temporary = join(this.folder, `.${name}.${randomBytes(6).toString("hex")}`);
    try {
      await writeFile(temporary, text, { mode: 0o600, flag: "wx" });
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    return path;
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }
}

function candidateFolders(env: Readonly<Record<string, string>>): string[] {
  const bases = [env["XDG_CACHE_HOME"], env["HOME"] === undefined ? undefined : join(env["HOME"], ".cache")];
  const usable = bases.filter((base) => base !== undefined && isAbsolute(base)) as string[];
  return [
    ...usable.map((base) => join(base, "sandpy")),
    join(tmpdir(), `sandpy-${process.getuid?.() ?? "user"}`),
  ];
}

async function makePrivate(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const facts = await lstat(folder);
    if (!facts.isDirectory() || facts.uid !== (process.getuid?.() ?? facts.uid)) return false;
    if ((facts.mode & 0o077) !== 0) await chmod(folder, 0o700);
    return true;
  } catch {
    return false; // no home, or a read-only one: the next candidate
  }
}
