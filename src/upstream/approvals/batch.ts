import { setTimeout as sleep } from "node:timers/promises";
import { abortedError } from "../abort.ts";
import type { ApprovalRequest, Verdict } from "./approvals.ts";

/** Calls that come without such a pause in between are one question. */
const QUIET_MS = 75;
const MAX_COLLECT_MS = 500;

interface Waiting {
  readonly arguments: unknown;
  readonly settle: (verdict: Verdict) => void;
}

/** Calls of one tool that wait for the same answer. */
export class Batch {
  /** The first of them. */
  readonly request: ApprovalRequest;
  readonly #openedAt = performance.now();
  readonly #waiting = new Set<Waiting>();
  readonly #gone = new AbortController();
  #lastAt = performance.now();
  #isTaken = false;

  constructor(request: ApprovalRequest) {
    this.request = request;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  get arguments(): readonly unknown[] {
    return [...this.#waiting].map((each) => each.arguments);
  }

  /** Aborts when nobody waits any more, once it was taken. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Waits for the answer, or rejects when `signal` aborts. */
  join({ arguments: args }: ApprovalRequest, signal: AbortSignal): Promise<Verdict> {
    this.#lastAt = performance.now();
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting);
        reject(abortedError(signal, "the wait for the user's approval"));
        if (this.#isTaken && this.isEmpty) this.#gone.abort();
      };
      const waiting: Waiting = {
        arguments: args,
        settle: (verdict) => {
          signal.removeEventListener("abort", leave);
          resolve(verdict);
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** Waits until no more calls come, but not for long. */
  async collect(): Promise<void> {
    for (;;) {
      const now = performance.now();
      const left = Math.min(this.#lastAt + QUIET_MS, this.#openedAt + MAX_COLLECT_MS) - now;
      if (left <= 0) return;
      await sleep(Math.ceil(left), undefined, { ref: false });
    }
  }

  /** Nobody joins any more. */
  take(): void {
    this.#isTaken = true;
  }

  settle(verdict: Verdict): void {
    for (const { settle } of [...this.#waiting]) settle(verdict);
    this.#waiting.clear();
  }
}
