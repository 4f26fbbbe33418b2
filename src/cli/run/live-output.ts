import type { Writable } from "node:stream";

/** More than this unsent, and the program waits for the reader, as it would at a full pipe. */
const MAX_UNSENT_CHARS = 1024 * 1024;

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
  write(text: string): void | Promise<void> {
    if (this.#closed) return;
    const taken = Promise.withResolvers<void>();
    this.#unsent += text.length;
    this.#stream.write(text, (error) => {
      this.#error ??= error ?? undefined; // the event can come later than this
      this.#unsent -= text.length;
      taken.resolve();
    });
    if (this.#unsent > MAX_UNSENT_CHARS) return Promise.race([taken.promise, this.#closing.promise]);
  }
}
