import type { Writable } from "node:stream";

/** A reader that is this far behind loses what comes: the program cannot be slowed down for it. */
const MAX_UNSENT_CHARS = 64 * 1024 * 1024;

/** Passes a program's output on as it comes, to a reader that may be slow, or gone. */
export class LiveOutput {
  readonly #stream: Writable;
  readonly #onClosed: () => void;
  #unsent = 0;
  #lost = 0;
  #closed = false;

  /** `onClosed` is called once when nobody reads any more, as after `| head`. */
  constructor(stream: Writable, onClosed: () => void) {
    this.#stream = stream;
    this.#onClosed = onClosed;
    stream.on("error", this.#close).on("close", this.#close);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Characters that were left out. */
  get lost(): number {
    return this.#lost;
  }

  write(text: string): void {
    if (this.#closed || text === "") return;
    if (this.#unsent + text.length > MAX_UNSENT_CHARS) {
      this.#lost += text.length;
      return;
    }
    this.#unsent += text.length;
    this.#stream.write(text, () => {
      this.#unsent -= text.length;
    });
  }

  readonly #close = (): void => {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClosed();
  };
}
