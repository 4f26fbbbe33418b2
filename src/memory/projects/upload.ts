import { BridgeError } from "../../core/errors.ts";
import type { FilePiece } from "../../kernel/host-memory.ts";
import { refuse, shown } from "../faults.ts";

/** Of all sessions: two files of the usual quota. One that is larger by itself still has room where there is no other. */
const MAX_OPEN_BYTES = 128 * 1024 * 1024;
/** Pieces come one after the other: what is silent for so long makes room for others. */
const STALE_MS = 5000;

interface OpenFile {
  readonly path: string;
  readonly content: Buffer;
  at: number;
  usedAt: number;
}

/** The files that all sessions are sending now, and what they may take together in memory. */
export class OpenUploads {
  readonly #now: () => number;
  readonly #open = new Map<Upload, OpenFile>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  of(upload: Upload): OpenFile | undefined {
    const open = this.#open.get(upload);
    if (open !== undefined) open.usedAt = this.#now();
    return open;
  }

  /** Makes room in memory for a file. Throws `LIMIT_EXCEEDED` where others take it. */
  begin(upload: Upload, path: string, total: number): void {
    this.#open.delete(upload);
    const usedAt = this.#now();
    for (const [other, { usedAt: then }] of this.#open) {
      if (this.#bytes + total > MAX_OPEN_BYTES && usedAt - then > STALE_MS) this.#open.delete(other);
    }
    if (this.#open.size > 0 && this.#bytes + total > MAX_OPEN_BYTES) {
      throw new BridgeError(
        "LIMIT_EXCEEDED",
        `other sessions keep large files just now, so ${shown(path)} was not kept`,
        {
          hint: "Try again in some seconds.",
        },
      );
    }
    this.#open.set(upload, { path, content: Buffer.alloc(total), at: 0, usedAt });
  }

  end(upload: Upload): void {
    this.#open.delete(upload);
  }

  get #bytes(): number {
    return [...this.#open.values()].reduce((sum, { content }) => sum + content.length, 0);
  }
}

/**
 * The file that one session sends in pieces, held in memory until it is whole: one at a time, since Python sends them one
 * after the other. One that is not finished ends with the next, or with the process that sent it.
 */
export class Upload {
  readonly #all: OpenUploads;

  constructor(all: OpenUploads) {
    this.#all = all;
  }

  /** The content, once it is whole. Throws `MEMORY_REFUSED` for a piece that does not follow the one before. */
  take({ path, offset, total, data }: FilePiece & { readonly total: number }): Buffer | undefined {
    const piece = Buffer.from(data, "base64");
    if (offset === 0) this.#all.begin(this, path, total);
    const open = this.#all.of(this);
    const fits =
      open?.path === path &&
      open.at === offset &&
      open.content.length === total &&
      offset + piece.length <= total &&
      (piece.length > 0 || total === 0);
    if (open === undefined || !fits) {
      this.clear();
      throw refuse(`a piece of the file ${shown(path)} does not follow the one before`);
    }
    piece.copy(open.content, offset);
    open.at += piece.length;
    if (open.at < total) return undefined;
    this.clear();
    return open.content;
  }

  /** Drops what is not finished. */
  clear(): void {
    this.#all.end(this);
  }
}
