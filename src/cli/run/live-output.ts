import type { Writable } from "node:stream";

/** More characters or bytes than this unsent, and the program waits for the reader, as it would at a full pipe. */
const MAX_UNSENT = 1024 * 1024;

/** Passes a program's output on as it comes, to a reader that may be slow, or gone. */
export class LiveOutput {
  readonly #stream: Writable;
  readonly #closing = Promise.withResolvers<void>();
  #unsent = 0;
  #closed = false;
  #error: Error | undefined;

  /** `onClosed` is called once when nobody reads any more, as after `| head`. */
  constructor(stream: Writable, onClosed: () => void) {
    this.#stream = stream;
    const close = () => {
      this.#closed = true;
      this.#closing.resolve();
    };
    stream.once("close", close).once("error", (error) => {
      this.#error ??= error;
      close();
    });
    void this.#closing.promise.then(onClosed);
  }

  /** Why it was not all written, where that is known. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** A promise, where there is one, holds the program back until the reader has caught up or is gone. */
  write(piece: string | Uint8Array): void | Promise<void> {
    if (this.#closed || piece.length === 0) return;
    const taken = Promise.withResolvers<void>();
    this.#unsent += piece.length;
    this.#stream.write(piece, (error) => {
      this.#error ??= error ?? undefined; // the event can come later than this
      this.#unsent -= piece.length;
      taken.resolve();
    });
    if (this.#unsent > MAX_UNSENT) return Promise.race([taken.promise, this.#closing.promise]);
  }
}
