import { BridgeError } from "../core/errors.ts";
import { aborted } from "../core/lifecycle.ts";

/** Runs jobs one after the other, in the order in which they came, and refuses more than `maxWaiting` at once. */
export class JobQueue {
  readonly #maxWaiting: number;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Rejects with `SESSION_BUSY` when the queue is full, with `CANCELLED` when `signal` aborts before the job's turn. */
  async run<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#waiting >= this.#maxWaiting) {
      throw new BridgeError("SESSION_BUSY", `${this.#waiting} calls wait in this session already`, {
        hint: "Wait for their results before you send more.",
      });
    }
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = before.then(() => done.promise);
    this.#waiting += 1;
    try {
      await Promise.race([before, aborted(signal)]);
      if (signal.aborted) throw new BridgeError("CANCELLED", "the call was cancelled before its code ran");
      return await job();
    } finally {
      this.#waiting -= 1;
      done.resolve();
    }
  }
}
