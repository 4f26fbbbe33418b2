import { Pieces } from "./pieces.ts";

const NEWLINE = 0x0a;

/** What a {@link LineSplitter} yields: a whole line without its newline, or word that one was too long. */
export type SplitLine =
  | { readonly kind: "line"; readonly bytes: Uint8Array }
  | { readonly kind: "overflow"; readonly maxBytes: number };

/**
 * Splits a byte stream into lines, holding at most `maxBytes` of an unfinished one. A longer line yields one
 * `overflow` and is dropped up to its newline, so that a hostile writer cannot make us allocate.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #parts = new Pieces<Uint8Array>((parts) => Buffer.concat(parts));
  #held = 0;
  #dropping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Of a line whose end has not come yet. */
  get heldBytes(): number {
    return this.#held;
  }

  /** Yields the lines that `chunk` completes. It keeps `chunk`, and the bytes of lines may be views of it. */
  *push(chunk: Uint8Array): Generator<SplitLine> {
    let start = 0;
    while (start < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, newline === -1 ? chunk.length : newline);
      if (!this.#dropping && this.#held + piece.length > this.#maxBytes) {
        this.#clear();
        this.#dropping = true;
        yield { kind: "overflow", maxBytes: this.#maxBytes };
      }
      if (newline === -1) {
        if (!this.#dropping) this.#hold(piece);
        return;
      }
      if (this.#dropping) this.#dropping = false;
      else yield { kind: "line", bytes: this.#take(piece) };
      start = newline + 1;
    }
  }

  #hold(piece: Uint8Array): void {
    // A view would keep all of its buffer in memory.
    const isMost = piece.length * 2 > piece.buffer.byteLength;
    this.#parts.add(isMost ? piece : piece.slice());
    this.#held += piece.length;
  }

  #take(last: Uint8Array): Uint8Array {
    if (this.#held === 0) return last;
    this.#parts.add(last);
    this.#held = 0;
    return this.#parts.take() ?? last;
  }

  #clear(): void {
    this.#parts.clear();
    this.#held = 0;
  }
}
