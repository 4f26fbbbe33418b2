import type { StopSignal } from "../context.ts";

/** What comes so soon after a signal is the same wish: timeout(1) signals its child, and then the group that it is in. */
const SAME_WISH_MS = 250;

/** What signals ask of a job: the first that its program ends, a later one that nothing is waited for any more. */
export class JobStop {
  readonly #program = new AbortController();
  readonly #all = new AbortController();
  #name: StopSignal | undefined;
  #since = 0;
  readonly #now: () => number;

  /** `now` is in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Aborts when the program is to end: it is interrupted, and what it leaves is still taken out. */
  get program(): AbortSignal {
    return this.#program.signal;
  }

  /** Aborts when all is to end at once. */
  get all(): AbortSignal {
    return this.#all.signal;
  }

  /** The first signal. */
  get name(): StopSignal | undefined {
    return this.#name;
  }

  readonly note = (name: StopSignal): void => {
    if (this.#name === undefined) {
      this.#name = name;
      this.#since = this.#now();
      this.endProgram();
    } else if (this.#now() - this.#since > SAME_WISH_MS) this.#all.abort();
  };

  /** Also without a signal, as when nobody reads any more. */
  readonly endProgram = (): void => this.#program.abort();
}
