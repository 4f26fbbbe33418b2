import { setTimeout as sleep } from "node:timers/promises";

/** The time, so that tests need not wait for it. */
export interface Clock {
  /** Milliseconds of a clock that only goes forward. */
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};
