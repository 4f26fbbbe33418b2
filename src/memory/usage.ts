import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isTemporary } from "../core/atomic-file.ts";
import { fromSystem, refuse } from "./faults.ts";
import { MAX_FILES } from "./limits.ts";

/** What other bridges write is seen after this at the latest. */
const MAX_AGE_MS = 5000;
/** Counting again takes at most this share of the time, also for one who asks for room without end where there is none. */
const MAX_SHARE = 20;
const MIN_AGE_MS = 50;
/** What is looked at, folders too: beyond that, there is no room for more. */
const MAX_ENTRIES = 4 * MAX_FILES;
const AT_ONCE = 64;
const NAMED = 3;

interface Count {
  readonly at: number;
  readonly tookMs: number;
  bytes: number;
  files: number;
  readonly largest: readonly { readonly path: string; readonly bytes: number }[];
}

/** A file that is to be written: its size now, `undefined` where there is none, and then. */
export interface Growth {
  readonly before: number | undefined;
  readonly after: number;
}

/** How much a caller keeps, and whether there is room for more. */
export class Usage {
  readonly #folder: string;
  readonly #quotaBytes: number;
  #count: Count | undefined;
  #counting: Promise<void> | undefined;
  #changes = 0;
  /** What is being written just now: room that is taken. */
  #growingBytes = 0;
  #growingFiles = 0;
  /** What was written while a count was under way, which may have passed its place already. */
  #missedBytes = 0;
  #missedFiles = 0;

  /** `folder` is all that counts, with what is in it. */
  constructor(folder: string, quotaBytes: number) {
    this.#folder = folder;
    this.#quotaBytes = quotaBytes;
  }

  /** Rejects with `MEMORY_REFUSED` where there is no room for it. `doing` is such as `saving the memory "x"`. */
  async admit(doing: string, growth: Growth): Promise<void> {
    const { before, after } = growth;
    if (!grows(growth)) return;
    if (this.#ageMs > MAX_AGE_MS) await this.#recount();
    if (this.#hasRoom(growth)) return;
    const { tookMs = 0 } = this.#count ?? {};
    // Something may have been deleted meanwhile.
    if (this.#ageMs > Math.max(MIN_AGE_MS, tookMs * MAX_SHARE)) await this.#recount();
    if (this.#hasRoom(growth)) return;
    const { bytes = 0, files = 0, largest = [] } = this.#count ?? {};
    const kept = largest.map((file) => `${JSON.stringify(file.path)} (${size(file.bytes)})`).join(", ");
    if (files + (before === undefined ? 1 : 0) > MAX_FILES) {
      throw refuse(
        `${doing} would make more than the ${MAX_FILES} files that are kept`,
        "Delete memories or files of /projects that are not needed any more.",
      );
    }
    throw refuse(
      `${doing} needs ${size(after - (before ?? 0))} more, but ${size(bytes)} of the ${size(this.#quotaBytes)} of /projects are in use`,
      `Delete what is not needed${kept === "" ? "" : `; the largest files are ${kept}`}. The user can raise MCP_BRIDGE_PROJECTS_QUOTA.`,
    );
  }

  /** Does what makes a file grow, while the room for it is held: many may be written at once. Rejects as {@link admit}. */
  async grow<T>(doing: string, growth: Growth, work: () => Promise<T>): Promise<T> {
    const { before, after } = growth;
    // Others that waited for the same count may have taken the room between its end and here.
    do await this.admit(doing, growth);
    while (grows(growth) && !this.#hasRoom(growth));
    const bytes = Math.max(after - (before ?? 0), 0);
    const files = before === undefined ? 1 : 0;
    this.#growingBytes += bytes;
    this.#growingFiles += files;
    try {
      return await work();
    } finally {
      this.#growingBytes -= bytes;
      this.#growingFiles -= files;
    }
  }

  get #ageMs(): number {
    return performance.now() - (this.#count?.at ?? -Infinity);
  }

  /** How often this process changed something. */
  get changes(): number {
    return this.#changes;
  }

  /** What was admitted was written; `after` is `undefined` where it was removed. */
  changed(before: number | undefined, after: number | undefined): void {
    this.#changes += 1;
    const bytes = (after ?? 0) - (before ?? 0);
    const files = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    if (this.#counting !== undefined) {
      this.#missedBytes += Math.max(bytes, 0);
      this.#missedFiles += Math.max(files, 0);
    }
    if (this.#count === undefined) return;
    this.#count.bytes += bytes;
    this.#count.files += files;
  }

  #hasRoom({ before, after }: Growth): boolean {
    const { bytes, files } = this.#count ?? { bytes: 0, files: 0 };
    const isOneMore = before === undefined;
    const wouldBe = bytes + this.#growingBytes + after - (before ?? 0);
    return wouldBe <= this.#quotaBytes && (!isOneMore || files + this.#growingFiles < MAX_FILES);
  }

  /** Those who ask at once share it. */
  #recount(): Promise<void> {
    this.#counting ??= this.#countAll().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #countAll(): Promise<void> {
    const at = performance.now();
    const walk: Walk = { files: 0, bytes: 0, largest: [], left: MAX_ENTRIES };
    this.#missedBytes = 0;
    this.#missedFiles = 0;
    try {
      await countFolder(this.#folder, "", walk);
    } catch (error) {
      throw fromSystem(error, "measuring what is kept", this.#folder);
    }
    const { largest, left } = walk;
    const bytes = walk.bytes + this.#missedBytes;
    const files = walk.files + this.#missedFiles;
    const tookMs = performance.now() - at;
    this.#count = { at, tookMs, bytes, files: left < 0 ? Math.max(files, MAX_FILES) : files, largest };
  }
}

/** What does not grow is no worse than it was. */
function grows({ before, after }: Growth): boolean {
  return before === undefined || after > before;
}

interface Walk {
  files: number;
  bytes: number;
  largest: readonly { readonly path: string; readonly bytes: number }[];
  /** How many entries may still be looked at; below zero there were more. */
  left: number;
}

async function countFolder(folder: string, prefix: string, walk: Walk): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (prefix !== "" && (error.code === "ENOENT" || error.code === "EACCES")) return []; // removed, or the user's own matter
    throw error;
  });
  for (let at = 0; at < entries.length && walk.left >= 0; at += AT_ONCE) {
    const some = entries.slice(at, at + AT_ONCE);
    walk.left -= some.length;
    const files = some.filter((entry) => !entry.isDirectory() && !isTemporary(entry.name));
    await Promise.all(files.map(({ name }) => countFile(join(folder, name), `${prefix}${name}`, walk)));
    for (const entry of some) {
      if (entry.isDirectory() && walk.left >= 0)
        await countFolder(join(folder, entry.name), `${prefix}${entry.name}/`, walk);
    }
  }
}

async function countFile(place: string, path: string, walk: Walk): Promise<void> {
  const facts = await lstat(place).catch(() => undefined); // removed meanwhile
  if (facts === undefined) return;
  const bytes = facts.size;
  walk.files += 1;
  walk.bytes += bytes;
  const least = walk.largest.length < NAMED ? -1 : (walk.largest.at(-1)?.bytes ?? -1);
  if (bytes <= least) return;
  walk.largest = [...walk.largest, { path, bytes }]
    .sort((some, other) => other.bytes - some.bytes)
    .slice(0, NAMED);
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const inMega = bytes / 1024 ** 2;
  return inMega < 1 ? `${(bytes / 1024).toFixed(1)} KB` : `${inMega.toFixed(1)} MB`;
}
