/** Requests that are with a server at once of which nothing is known, */
const FIRST = 64;
/** and with one whose answers are large. */
const WARY = 32;
/** As many as one Python may have under way. */
const MAX = 256;
/** Of an answer that is worth holding back for. */
const LARGE_BYTES = 256 * 1024;
/** So many small answers after a large one are taken for a change. */
const FORGET_AFTER = 256;
/** Who takes longer to answer does not answer all at once either. */
const SLOW_MS = 1000;

interface Waiting {
  goOn(): void;
}

/**
 * How many requests go to one server at once. Bun (1.4.5) takes in some 1.3 MB of a response before it holds back its sender,
 * read or not, so 256 large ones would take 330 MB. So the first 64 show what a server's answers are like: each small one
 * lets in one more than it makes room for, a large one takes that back. From a server that has not answered in a second nobody
 * knows; others need not wait for it any longer.
 */
export class RequestFlow {
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;
  #allowed = FIRST;
  /** Small answers since the last large one; `undefined` where there was none. */
  #smallSince: number | undefined;

  /** Counts a request; a promise where it has to wait, which rejects with the reason of `signal` when that aborts. */
  enter(signal: AbortSignal): Promise<void> | undefined {
    if (this.#underWay < this.#allowed) {
      this.#underWay += 1;
      return undefined;
    }
    return this.#wait(signal);
  }

  /** A request that was counted is over; `bytes` are those of its answer, where there was one. */
  leave(bytes: number | undefined): void {
    this.#underWay -= 1;
    if (bytes !== undefined) this.#learn(bytes > LARGE_BYTES);
    for (const next of this.#waiting) {
      if (this.#underWay >= this.#allowed) break;
      next.goOn();
    }
  }

  #learn(isLarge: boolean): void {
    if (isLarge) {
      this.#allowed = WARY;
      this.#smallSince = 0;
    } else if (this.#smallSince === undefined) this.#allowed = Math.min(this.#allowed + 1, MAX);
    else if (this.#smallSince < FORGET_AFTER) this.#smallSince += 1;
    else this.#smallSince = undefined;
  }

  async #wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting: Waiting = {
      goOn: () => {
        this.#underWay += 1;
        this.#waiting.delete(waiting);
        resolve();
      },
    };
    this.#waiting.add(waiting);
    const slow = setTimeout(() => this.#smallSince === undefined && waiting.goOn(), SLOW_MS);
    slow.unref();
    const stop = () => {
      this.#waiting.delete(waiting);
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(slow);
      signal.removeEventListener("abort", stop);
    }
  }
}
