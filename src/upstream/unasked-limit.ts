import { setTimeout as sleep } from "node:timers/promises";

const WINDOW_MS = 100;
const MAX_MESSAGES = 1000;
const MAX_BYTES = 8 * 1024 ** 2;

/**
 * How much of what nobody asked for (notifications, requests, empty lines) is read from one server: 10,000 messages and
 * 80 MiB in a second. One that writes more is read later, and so waits: it would keep a processor busy for ever.
 */
export class UnaskedLimit {
  #windowStart = Number.NEGATIVE_INFINITY;
  #messages = 0;
  #bytes = 0;

  /** Counts a message; a promise where the next one is to wait. */
  take(bytes: number): Promise<void> | undefined {
    const now = performance.now();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#messages = this.#bytes = 0;
    }
    this.#messages += 1;
    this.#bytes += bytes;
    if (this.#messages < MAX_MESSAGES && this.#bytes < MAX_BYTES) return undefined;
    return sleep(WINDOW_MS - (now - this.#windowStart), undefined, { ref: false });
  }
}
