import { MAX_TIMER_MS } from "../core/lifecycle.ts";

/** An amount of time that runs out, and stands still while a person is asked. */
export class TimeLimit {
  readonly #endsAt: number;
  #stoodMs = 0;
  #pauses = 0;
  #pausedAt = 0;
  readonly #waiting = new Set<() => void>();

  constructor(ms: number) {
    this.#endsAt = performance.now() + ms;
  }

  /** Milliseconds; below 0 once it is over. */
  get leftMs(): number {
    const now = this.#pauses > 0 ? this.#pausedAt : performance.now();
    return this.#endsAt + this.#stoodMs - now;
  }

  /** Stands still from now on; returns how to go on. It goes on once all who paused it have said so. */
  pause(): () => void {
    if (this.#pauses === 0) this.#pausedAt = performance.now();
    this.#pauses += 1;
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      this.#pauses -= 1;
      if (this.#pauses > 0) return;
      this.#stoodMs += performance.now() - this.#pausedAt;
      for (const goOn of [...this.#waiting]) goOn();
    };
  }

  /** Calls `ring` once when it is over; returns how to forget that. */
  whenOver(ring: () => void): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      if (this.#pauses > 0) return; // looked at again when it goes on
      const { leftMs } = this;
      if (leftMs > 0) {
        timer = setTimeout(look, timerMs(leftMs));
        return;
      }
      this.#waiting.delete(look);
      ring();
    };
    this.#waiting.add(look);
    look();
    return () => {
      clearTimeout(timer);
      this.#waiting.delete(look);
    };
  }
}

/** What a timer can take: it rings a little early, and holds 32 bits. */
export function timerMs(ms: number): number {
  return Math.min(Math.max(1, Math.ceil(ms)), MAX_TIMER_MS);
}
