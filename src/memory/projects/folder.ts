import { constants, existsSync } from "node:fs";
import { chmod, type FileHandle, lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { giveTo, type Owner } from "../../core/atomic-file.ts";
import { makeFolder } from "../make-folder.ts";

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * A folder that stays the one that was opened, whatever is put into its place meanwhile: paths in it go by its descriptor,
 * where the system has such paths (Linux). Elsewhere it is looked at once, and then gone to by its name.
 */
export class Folder implements AsyncDisposable {
  readonly #path: string;
  readonly #handle: FileHandle | undefined;

  private constructor(path: string, handle?: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Rejects as the system does: with `ENOTDIR` where it is no folder, or a link to one. */
  static async open(path: string): Promise<Folder> {
    if (process.platform === "linux" && existsSync("/proc/self/fd")) {
      const handle = await open(path, FLAGS);
      return new Folder(`/proc/self/fd/${handle.fd}`, handle);
    }
    if (!(await lstat(path)).isDirectory()) throw Object.assign(new Error("no folder"), { code: "ENOTDIR" });
    return new Folder(path);
  }

  /** The path of what lies in it: of use as long as it is open. */
  at(name: string): string {
    return join(this.#path, name);
  }

  /** Its own path. */
  get path(): string {
    return this.#path;
  }

  /** Opens a folder in it. With `make` one is made where there is none, for nobody else to enter. */
  async enter(name: string, make?: { readonly owner: Owner | undefined }): Promise<Folder> {
    const path = this.at(name);
    const isMade = make !== undefined && (await makeFolder(path));
    const folder = await Folder.open(path);
    try {
      if (isMade) {
        await chmod(folder.path, 0o700);
        await giveTo(folder.path, make.owner);
      }
      return folder;
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }
}
