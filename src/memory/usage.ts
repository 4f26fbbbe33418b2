import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isTemporary } from "../core/atomic-file.ts";
import { fromSystem, refuse } from "./faults.ts";
import { MAX_FILES } from "./limits.ts";

/** What other bridges write is seen after this at the latest. */
const MAX_AGE_MS = 5000;
const NAMED = 3;

interface Count {
  readonly at: number;
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
  #changes = 0;

  /** `folder` is all that counts, with what is in it. */
  constructor(folder: string, quotaBytes: number) {
    this.#folder = folder;
    this.#quotaBytes = quotaBytes;
  }

  /** Rejects with `MEMORY_REFUSED` where there is no room for it. `doing` is such as `saving the memory "x"`. */
  async admit(doing: string, growth: Growth): Promise<void> {
    const { before, after } = growth;
    const more = after - (before ?? 0);
    if (more <= 0 && before !== undefined) return; // what does not grow is no worse than it was
    if (this.#count === undefined || performance.now() - this.#count.at > MAX_AGE_MS) await this.#recount();
    if (!this.#hasRoom(growth)) await this.#recount(); // something may have been deleted meanwhile
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
      `${doing} needs ${size(more)} more, but ${size(bytes)} of the ${size(this.#quotaBytes)} of /projects are in use`,
      `Delete what is not needed${kept === "" ? "" : `; the largest files are ${kept}`}. The user can raise MCP_BRIDGE_PROJECTS_QUOTA.`,
    );
  }

  /** How often this process changed something. */
  get changes(): number {
    return this.#changes;
  }

  /** What was admitted was written; `after` is `undefined` where it was removed. */
  changed(before: number | undefined, after: number | undefined): void {
    this.#changes += 1;
    if (this.#count === undefined) return;
    this.#count.bytes += (after ?? 0) - (before ?? 0);
    this.#count.files += (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
  }

  #hasRoom({ before, after }: Growth): boolean {
    const { bytes, files } = this.#count ?? { bytes: 0, files: 0 };
    const isOneMore = before === undefined;
    return bytes + after - (before ?? 0) <= this.#quotaBytes && (!isOneMore || files < MAX_FILES);
  }

  async #recount(): Promise<void> {
    const found: { path: string; bytes: number }[] = [];
    const at = performance.now();
    try {
      const entries = await readdir(this.#folder, { recursive: true, withFileTypes: true });
      for (const entry of entries) {
        if (entry.isDirectory() || isTemporary(entry.name)) continue;
        const path = join(entry.parentPath, entry.name);
        const facts = await lstat(path).catch(() => undefined); // removed meanwhile
        if (facts !== undefined) found.push({ path: path.slice(this.#folder.length + 1), bytes: facts.size });
      }
    } catch (error) {
      throw fromSystem(error, "measuring what is kept", this.#folder);
    }
    found.sort((some, other) => other.bytes - some.bytes);
    this.#count = {
      at,
      bytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
      files: found.length,
      largest: found.slice(0, NAMED),
    };
  }
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const inMega = bytes / 1024 ** 2;
  return inMega < 1 ? `${(bytes / 1024).toFixed(1)} KB` : `${inMega.toFixed(1)} MB`;
}
