/** Longer pieces are written as they are. */
const MAX_PIECE = 4096;
/** Joined at most: the reader has something to do meanwhile. */
const MAX_PIECES = 32;

interface Joined extends PromiseWithResolvers<void> {
  readonly pieces: (Uint8Array | string)[];
}

/**
 * Writes short pieces that come in one turn of the event loop as one: the system call, and the change to the reader that it
 * brings, cost more than all else about them. None waits for a later turn, and their order stays.
 */
export class JoinedWrites {
  readonly #write: (bytes: Uint8Array | string) => Promise<void>;
  #joined: Joined | undefined;

  /** `write` settles when the bytes are taken, or are not. */
  constructor(write: (bytes: Uint8Array | string) => Promise<void>) {
    this.#write = write;
  }

  /** Settles as the write does of which the bytes become a part. */
  write(bytes: Uint8Array | string): Promise<void> {
    if (bytes.length > MAX_PIECE) {
      this.flush();
      return this.#write(bytes);
    }
    if (this.#joined === undefined) {
      this.#joined = { pieces: [], ...Promise.withResolvers<void>() };
      process.nextTick(() => this.flush()); // after all that is ready to run
    }
    const { pieces, promise } = this.#joined;
    pieces.push(bytes);
    if (pieces.length === MAX_PIECES) this.flush();
    return promise;
  }

  /** Writes what waits, before something else is done with the descriptor. */
  flush(): void {
    const joined = this.#joined;
    if (joined === undefined) return;
    this.#joined = undefined;
    this.#write(join(joined.pieces)).then(joined.resolve, joined.reject);
  }
}

function join(pieces: readonly (Uint8Array | string)[]): Uint8Array | string {
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  return pieces.every((piece) => typeof piece === "string")
    ? pieces.join("")
    : Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)));
}
