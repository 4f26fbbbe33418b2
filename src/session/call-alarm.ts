import type { TimeLimit } from "./time-limit.ts";
import { timerMs } from "./time-limit.ts";

type Limit = Pick<TimeLimit, "leftMs" | "pause">;

/**
 * Rings once when the first of some limits is over. One timer, and by hand: those of `AbortSignal.timeout` would stay
 * until they ring, for a million requests of a second too.
 */
export class CallAlarm {
  readonly #limits: readonly Limit[];
  readonly #ring: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasStopped = false;

  constructor(limits: readonly Limit[], ring: () => void) {
    this.#limits = limits;
    this.#ring = ring;
    // Also where nothing is left: who is to hear of it may not listen yet.
    this.#timer = setTimeout(() => this.#look(), timerMs(this.#leftMs));
  }

  /** Makes all of the limits stand still; returns how to go on. */
  pause(): () => void {
    clearTimeout(this.#timer);
    const goOn = this.#limits.map((limit) => limit.pause());
    return () => {
      for (const each of goOn) each();
      if (!this.#hasStopped) this.#look();
    };
  }

  stop(): void {
    this.#hasStopped = true;
    clearTimeout(this.#timer);
  }

  get #leftMs(): number {
    return Math.min(...this.#limits.map(({ leftMs }) => leftMs));
  }

  /** Some of the limits may have stood still since the timer was set. */
  #look(): void {
    clearTimeout(this.#timer); // several may have paused it, and each looks when it goes on
    const leftMs = this.#leftMs;
    if (leftMs <= 0) this.#ring();
    else this.#timer = setTimeout(() => this.#look(), timerMs(leftMs));
  }
}
