import { setTimeout as sleep } from "node:timers/promises";
import { BridgeError, type ErrorCode } from "./errors.ts";

/** Timers hold 32 bits. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Something with a lifetime; `close()` is idempotent and shares one promise. */
export interface Closable extends AsyncDisposable {
  close(): Promise<void>;
}

/**
 * The resources of one owner. They close in reverse order of `add`, each under `deadlineMs`; every closer runs
 * although others fail, and the first failure is thrown at the end.
 */
export class Scope implements Closable {
  readonly #closers: { readonly what: string; readonly close: () => unknown }[] = [];
  readonly #deadlineMs: number;
  #closing: Promise<void> | undefined;

  constructor(deadlineMs = 5000) {
    this.#deadlineMs = deadlineMs;
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** Registers a closer; `what` names it in an error. On a closed scope it runs at once. */
  add(what: string, close: () => unknown): void {
    if (this.#closing === undefined) this.#closers.push({ what, close });
    else void Promise.resolve(close()).catch(() => undefined); // the scope's own errors are already reported
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const { what, close } of this.#closers.splice(0).reverse()) {
      try {
        await withDeadline(Promise.resolve(close()), this.#deadlineMs, `closing ${what}`);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}

/**
 * Waits for `promise` at most `ms` milliseconds, then rejects with `code`, naming `what`. The promise itself goes on;
 * its later rejection is swallowed. `hint` says what to do about it.
 */
export async function withDeadline<T>(
  promise: Promise<T>,
  ms: number,
  what: string,
  code: ErrorCode = "INTERNAL",
  hint?: string,
): Promise<T> {
  const timer = new AbortController();
  const late = sleep(ms, undefined, { signal: timer.signal, ref: false }).then(() => {
    throw new BridgeError(code, `${what} took longer than ${ms} ms`, hint === undefined ? {} : { hint });
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined); // aborted: nobody waits for it
    promise.catch(() => undefined); // reported by the race, or too late to matter
  }
}

/**
 * Settles as `promise` does, or resolves with undefined as soon as `signal` aborts. It leaves no listener on the signal,
 * which may live as long as the bridge. The promise itself goes on; a rejection that comes too late is swallowed.
 */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  promise.catch(() => undefined); // reported by the race, or too late to matter
  const stopped = Promise.withResolvers<undefined>();
  const stop = () => stopped.resolve(undefined);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
