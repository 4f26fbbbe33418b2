import { BridgeError } from "../core/errors.ts";
import { untilAborted } from "../core/lifecycle.ts";
import { notRun } from "./not-run.ts";

/** What a queue may hold: jobs, the running one included, and the bytes that they keep in memory. */
export interface QueueLimits {
  readonly jobs: number;
  readonly bytes: number;
}

/** Runs jobs one after the other, in the order in which they came, and refuses those beyond its limits. */
export class JobQueue {
  readonly #limits: QueueLimits;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #bytes = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /**
   * `bytes` is what the job keeps in memory while it waits. Rejects with `SESSION_BUSY` when the queue is full, with
   * `CANCELLED` when `signal` aborts before the job's turn. An empty queue takes any job.
   */
  async run<T>(job: () => Promise<T>, bytes: number, signal: AbortSignal): Promise<T> {
    const isFull = this.#waiting >= this.#limits.jobs || this.#bytes + bytes > this.#limits.bytes;
    if (isFull && this.#waiting > 0) {
      throw new BridgeError("SESSION_BUSY", `${this.#waiting} calls wait in this session already`, {
        hint: "Wait for their results before you send more.",
      });
    }
    const before = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = before.then(() => done.promise);
    this.#waiting += 1;
    this.#bytes += bytes;
    try {
      if (this.#waiting > 1) await untilAborted(before, signal); // else nobody is before it
      if (signal.aborted) throw notRun(signal);
      return await job();
    } finally {
      this.#waiting -= 1;
      this.#bytes -= bytes;
      done.resolve();
    }
  }
}
