import { setTimeout as sleep } from "node:timers/promises";
import { BoundedText } from "../core/bounded-text.ts";

const INTERVAL_MS = 100;
/** With the marker for what was left out, a message stays below 4 KiB characters. */
const MAX_MESSAGE_CHARS = 4000;

/** One `notifications/progress` without its token. */
export interface ProgressUpdate {
  /** Characters of output so far: it grows with every update, as the protocol demands. */
  readonly progress: number;
  readonly message: string;
}

/**
 * Streams output as progress updates: at most one in 100 ms and one under way at a time. What arrives meanwhile waits
 * in a bounded buffer, so neither a chatty program nor a client that reads slowly makes us hold more than that.
 */
export class ProgressStream {
  readonly #notify: (update: ProgressUpdate) => Promise<void>;
  #pending = new BoundedText(MAX_MESSAGE_CHARS);
  #progress = 0;
  #pumping = false;
  #stopped = false;

  /** `notify` resolves when the client's pipe has taken the update. */
  constructor(notify: (update: ProgressUpdate) => Promise<void>) {
    this.#notify = notify;
  }

  /** `skipped` characters that came before the text are not in it. */
  append(text: string, skipped = 0): void {
    if (this.#stopped || text === "") return;
    this.#progress += skipped + text.length;
    if (skipped > 0) this.#pending.skip(skipped);
    this.#pending.append(text);
    if (!this.#pumping) void this.#pump();
  }

  /** No update leaves after this: the reply follows, and it has all of the output. */
  stop(): void {
    this.#stopped = true;
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    while (!this.#stopped && !this.#pending.isEmpty) {
      const message = this.#pending.toString().toWellFormed();
      this.#pending = new BoundedText(MAX_MESSAGE_CHARS);
      try {
        await this.#notify({ progress: this.#progress, message });
      } catch {
        this.#stopped = true; // the connection is gone, and says so elsewhere
      }
      await sleep(INTERVAL_MS, undefined, { ref: false });
    }
    this.#pumping = false;
  }
}
