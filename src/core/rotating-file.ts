import { appendFileSync, constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { withFileLock } from "./file-lock.ts";

const LOCK_WAIT_MS = 1000;
/** A file that cannot be put aside may grow to this many times its size. */
const MAX_OVERRUN = 2;
/** Created for the user alone; a pipe that nobody reads must not be waited for. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
const MODE = 0o600;

export interface RotatingFileOptions {
  /** Absolute. Its folder is made if need be. */
  readonly path: string;
  /** A file that would become larger is put aside as `path.1`, that one as `path.2`, and so on. */
  readonly maxBytes: number;
  /** How many files that were put aside are kept. */
  readonly keep: number;
}

/**
 * A file of lines that several processes append to and that does not grow without end. It is opened for each write, so
 * that nobody writes for long to a file that another process has put aside.
 */
export class RotatingFile {
  readonly #options: RotatingFileOptions;
  #isTorn = false;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  /** Appends whole lines in one write, which no other process's can come between. Rejects where that is not possible. */
  async append(lines: string): Promise<void> {
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines); // half a line of an earlier try ends here
    let file = await this.#open();
    try {
      const stats = await file.stat();
      if (stats.isFile() && isOver(stats.size, bytes.length, this.#options.maxBytes)) {
        await file.close();
        await this.#rotate(bytes.length).catch((error: unknown) => {
          // Another process may be slow at it, or the folder read-only: up to a point the lines matter more.
          if (stats.size >= this.#options.maxBytes * MAX_OVERRUN) throw error;
        });
        file = await this.#open();
      }
      const { bytesWritten } = await file.write(bytes);
      this.#isTorn = bytesWritten < bytes.length && (bytesWritten > 0 || this.#isTorn);
      if (bytesWritten < bytes.length) throw new Error("not all of it could be written");
    } finally {
      await file.close().catch(() => undefined); // closed already, or written all the same
    }
  }

  /** The same at once, for the end of the process; never throws, and puts nothing aside. */
  appendNow(lines: string): void {
    try {
      appendFileSync(this.#options.path, lines, { mode: MODE, flag: FLAGS as unknown as string });
    } catch {
      // nobody is left to be told
    }
  }

  async #open(): Promise<FileHandle> {
    const { path } = this.#options;
    try {
      return await open(path, FLAGS, MODE);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      return open(path, FLAGS, MODE);
    }
  }

  /** Each process sees for itself that the file is full; the first one that has the lock puts it aside. */
  async #rotate(more: number): Promise<void> {
    const { path, maxBytes, keep } = this.#options;
    await withFileLock(`${path}.lock`, { waitMs: LOCK_WAIT_MS }, async () => {
      const stats = await stat(path).catch(ignoreMissing); // another process has put it aside
      if (stats === undefined || !isOver(stats.size, more, maxBytes)) return;
      for (let number = keep; number > 0; number--) {
        const from = number === 1 ? path : `${path}.${number - 1}`;
        await rename(from, `${path}.${number}`).catch(ignoreMissing);
      }
    });
  }
}

/** What is larger by itself goes into a file of its own. */
function isOver(size: number, more: number, maxBytes: number): boolean {
  return size > 0 && size + more > maxBytes;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
