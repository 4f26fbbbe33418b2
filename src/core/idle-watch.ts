import { outsideRuns } from "./run-context.ts";

export interface IdleWatchOptions {
  /** So long without a use is idle. */
  readonly idleMs: number;
  /** Whether it could be idle now; where it could not, its next use begins the watch anew. */
  readonly isIdle: () => boolean;
  readonly onIdle: () => void;
}

/**
 * Tells when something was not used for a while. A timer for each use would cost more than it is worth: there is one, which looks
 * when the last use was. It keeps no process alive.
 */
export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #usedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = false;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
  }

  /** When it was used last, by `performance.now()`. */
  get usedAt(): number {
    return this.#usedAt;
  }

  /** It was used until now. */
  touch(): void {
    this.#usedAt = performance.now();
    if (!this.#isStopped) this.#timer ??= this.#lookIn(this.#options.idleMs);
  }

  /** Until its next use, nobody needs to be told. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Nobody needs to be told any more. */
  stop(): void {
    this.#isStopped = true;
    this.cancel();
  }

  #lookIn(ms: number): ReturnType<typeof setTimeout> {
    return outsideRuns(() => setTimeout(() => this.#look(), ms)).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const { idleMs, isIdle, onIdle } = this.#options;
    if (!isIdle()) return;
    const leftMs = this.#usedAt + idleMs - performance.now();
    if (leftMs > 0) this.#timer = this.#lookIn(leftMs);
    else onIdle();
  }
}
