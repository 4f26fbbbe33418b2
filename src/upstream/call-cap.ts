import { BridgeError } from "../core/errors.ts";

/** How many calls one execution may make; `where` it was set, or can be. */
export interface CallCapOptions {
  readonly count: number;
  readonly where: string;
}

/**
 * Counts what the executions of one session ask of servers: a loop without end must not reach them all the time. What
 * runs in the background between two executions counts as the earlier one's.
 */
export class CallCap {
  readonly #options: CallCapOptions;
  #made = 0;

  constructor(options: CallCapOptions) {
    this.#options = options;
  }

  beginRun(): void {
    this.#made = 0;
  }

  /** Counts one call. Throws `LIMIT_EXCEEDED` for one too many. */
  admit(): void {
    const { count, where } = this.#options;
    this.#made += 1;
    if (this.#made <= count) return;
    const message = `this run has made ${count} calls to servers, as many as ${where} allows`;
    throw new BridgeError("LIMIT_EXCEEDED", message, {
      hint: `Make fewer, or the others in another run, or ask the user to raise ${where}.`,
    });
  }
}
