import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../core/log.ts";
import { PrivateFolder } from "../../core/private-folder.ts";

const MAX_FILE_BYTES = 32 * 1024 ** 2;
const MAX_FILES = 4000;
const MAX_TOTAL_BYTES = 256 * 1024 ** 2;
/** Looking at every file is done once in so many writes; that many can be there beyond the limit meanwhile. */
const WRITES_BETWEEN_SWEEPS = 50;

/** The catalogue on disk: one private file for each server. Nothing here rejects: it can all be made again. */
export class CatalogueFiles {
  readonly #folder: string | undefined;
  readonly #log: Log;
  #opening: Promise<PrivateFolder | undefined> | undefined;
  #writes = 0;

  /** `folder` is made at the first write; `undefined`: nothing is kept. */
  constructor(folder: string | undefined, log: Log) {
    this.#folder = folder;
    this.#log = log;
  }

  /** The text of a file and its time of modification; `unchanged` if that is `knownModifiedAt`. */
  async read(
    key: string,
    knownModifiedAt: number | undefined,
  ): Promise<{ readonly text: string; readonly modifiedAt: number } | "unchanged" | undefined> {
    if (this.#folder === undefined) return undefined;
    const facts = await stat(join(this.#folder, nameOf(key))).catch(() => undefined);
    if (facts === undefined || !facts.isFile() || facts.size > MAX_FILE_BYTES) return undefined;
    if (facts.mtimeMs === knownModifiedAt) return "unchanged";
    const text = await (await this.#open())?.read(nameOf(key));
    return text === undefined ? undefined : { text, modifiedAt: facts.mtimeMs };
  }

  /** Returns the file's time of modification; `undefined` where it was not written. */
  async write(key: string, text: string): Promise<number | undefined> {
    const folder = await this.#open();
    if (folder === undefined || Buffer.byteLength(text) > MAX_FILE_BYTES) return undefined;
    try {
      const path = await folder.write(nameOf(key), text);
      if (this.#writes++ % WRITES_BETWEEN_SWEEPS === 0) await this.#sweep(folder.folder);
      return (await stat(path)).mtimeMs;
    } catch (error) {
      this.#log.debug("could not keep the list of a server's tools", { error: String(error) });
      return undefined;
    }
  }

  #open(): Promise<PrivateFolder | undefined> {
    this.#opening ??=
      this.#folder === undefined ? Promise.resolve(undefined) : PrivateFolder.open(this.#folder);
    return this.#opening;
  }

  /** Removes the oldest files beyond the limits, and with them what a bridge that was killed left half written. */
  async #sweep(folder: string): Promise<void> {
    const names = await readdir(folder);
    const files: { path: string; bytes: number; modifiedAt: number }[] = [];
    for (const name of names) {
      const path = join(folder, name);
      const facts = await stat(path).catch(() => undefined);
      if (facts?.isFile()) files.push({ path, bytes: facts.size, modifiedAt: facts.mtimeMs });
    }
    files.sort((one, other) => other.modifiedAt - one.modifiedAt);
    let bytes = 0;
    for (const [index, file] of files.entries()) {
      bytes += file.bytes;
      if (index >= MAX_FILES || bytes > MAX_TOTAL_BYTES) await rm(file.path, { force: true });
    }
  }
}

function nameOf(key: string): string {
  return `${key}.json`;
}
