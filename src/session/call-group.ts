import { BridgeError } from "../core/errors.ts";
import { CallAlarm } from "./call-alarm.ts";
import type { TimeLimit } from "./time-limit.ts";

/** What a {@link TimeLimit} is to those who share it. */
export type CallLimit = Pick<TimeLimit, "leftMs" | "pause">;

/**
 * Requests that end together: those of one cell have one limit, and a signal and a timer for each would cost more than all
 * else about them.
 */
export class CallGroup {
  readonly limit: CallLimit;
  readonly #stop = new AbortController();
  readonly #alarm: CallAlarm;
  #members = 0;
  #isKept: boolean;
  #isLate = false;

  /** `limit` is over when the first of `limits` is. A group that is kept waits for more members until it is let go. */
  constructor(limit: CallLimit, limits: readonly CallLimit[], isKept: boolean) {
    this.limit = limit;
    this.#isKept = isKept;
    this.#alarm = new CallAlarm(limits, () => {
      this.#isLate ||= !this.signal.aborted;
      this.stop(new BridgeError("UPSTREAM_TIMEOUT", "the request took longer than it may"));
    });
  }

  /** Aborts when the members are to end. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether it was stopped because its time is over. */
  get isLate(): boolean {
    return this.#isLate;
  }

  enter(): void {
    this.#members += 1;
  }

  leave(): void {
    this.#members -= 1;
    this.#endIfEmpty();
  }

  /** Nobody enters any more. */
  letGo(): void {
    this.#isKept = false;
    this.#endIfEmpty();
  }

  stop(reason: BridgeError): void {
    if (!this.signal.aborted) this.#stop.abort(reason);
  }

  /** Makes its limits stand still; returns how to go on. */
  pause(): () => void {
    return this.#alarm.pause();
  }

  #endIfEmpty(): void {
    if (this.#members === 0 && !this.#isKept) this.#alarm.stop();
  }
}
