import { chmod, lstat, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile, sweepTemporaries } from "./atomic-file.ts";

/** Small files of ours in a folder that only the user may enter, each written in one step. */
export class PrivateFolder {
  readonly folder: string;
  #isSwept = false;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Opens a folder, made if need be; `undefined` where it cannot be made, or belongs to somebody else. */
  static async open(folder: string): Promise<PrivateFolder | undefined> {
    return (await makePrivate(folder)) ? new PrivateFolder(folder) : undefined;
  }

  /** The file's text; `undefined` when it cannot be read. */
  async read(name: string): Promise<string | undefined> {
    return readFile(join(this.folder, name), "utf8").catch(() => undefined); // absent and broken are one
  }

  /** Writes a file in one step, so that no reader sees half of it; returns its path. Only the user can read it. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    if (!this.#isSwept) {
      this.#isSwept = true;
      await sweepTemporaries(this.folder);
    }
    await replaceFile(path, text);
    return path;
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name), { force: true });
  }
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
