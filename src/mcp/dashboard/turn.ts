import { withDeadline } from "../../core/lifecycle.ts";

/** Whoever asks does not wait longer for what can come later. */
const PATIENCE_MS = 500;

/** Lets work be done once at a time, and with pauses. */
export class Turn {
  readonly #pauseMs: number;
  #working: Promise<void> | undefined;
  #doneAt = Number.NEGATIVE_INFINITY;

  constructor(pauseMs: number) {
    this.#pauseMs = pauseMs;
  }

  /** Resolves when the work is done, when it is not due, or when it takes too long; it goes on then. */
  async take(work: () => Promise<void>): Promise<void> {
    if (this.#working === undefined && performance.now() - this.#doneAt < this.#pauseMs) return;
    this.#working ??= work()
      .catch(() => undefined) // what was known before stays
      .finally(() => {
        this.#doneAt = performance.now();
        this.#working = undefined;
      });
    await withDeadline(this.#working, PATIENCE_MS, "asking").catch(() => undefined);
  }
}
