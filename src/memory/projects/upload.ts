import type { FilePiece } from "../../kernel/host-memory.ts";
import { refuse, shown } from "../faults.ts";

/**
 * The file that one session sends in pieces, held in memory until it is whole: one at a time, since Python sends them one
 * after the other. One that is not finished ends with the next, or with the process that sent it.
 */
export class Upload {
  #open: { readonly path: string; readonly content: Buffer; at: number } | undefined;

  /** The content, once it is whole. Throws `MEMORY_REFUSED` for a piece that does not follow the one before. */
  take({ path, offset, total, data }: FilePiece & { readonly total: number }): Buffer | undefined {
    const piece = Buffer.from(data, "base64");
    if (offset === 0) this.#open = { path, content: Buffer.alloc(total), at: 0 };
    const open = this.#open;
    const fits =
      open?.path === path &&
      open.at === offset &&
      open.content.length === total &&
      offset + piece.length <= total &&
      (piece.length > 0 || total === 0);
    if (open === undefined || !fits) {
      this.#open = undefined;
      throw refuse(`a piece of the file ${shown(path)} does not follow the one before`);
    }
    piece.copy(open.content, offset);
    open.at += piece.length;
    if (open.at < total) return undefined;
    this.#open = undefined;
    return open.content;
  }

  /** Drops what is not finished. */
  clear(): void {
    this.#open = undefined;
  }
}
