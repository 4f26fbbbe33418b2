import { BridgeError } from "../core/errors.ts";
import { MAX_TIMER_MS } from "../core/lifecycle.ts";

/** The error for work that `signal` stopped: the reason itself if it is ours, a timeout, or a cancellation. */
export function abortedError(signal: AbortSignal, what: string): BridgeError {
  const reason: unknown = signal.reason;
  if (reason instanceof BridgeError) return reason;
  if (reason instanceof Error && reason.name === "TimeoutError") {
    return new BridgeError("UPSTREAM_TIMEOUT", `${what} took longer than the time that was left`, {
      hint: "Give the run a larger timeout, or ask for less at once.",
    });
  }
  return new BridgeError("CANCELLED", `${what} was cancelled`);
}

/** Waits for shared work, but no longer than one caller wants to: the work itself goes on. */
export async function waitFor<T>(work: Promise<T>, signal: AbortSignal, what: string): Promise<T> {
  work.catch(() => undefined); // somebody else may be the one who hears of it
  if (signal.aborted) throw abortedError(signal, what);
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(abortedError(signal, what));
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop); // an AbortController for it would cost more than the rest of a call
  }
}

/** A signal that aborts as `signal` does, and with `error` after `ms`. `release` must be called when the work is done. */
export function limitTime(
  signal: AbortSignal,
  ms: number,
  error: () => BridgeError,
): { readonly signal: AbortSignal; release(): void } {
  const limited = new AbortController();
  const stop = () => limited.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => limited.abort(error()), Math.min(ms, MAX_TIMER_MS));
  return {
    signal: limited.signal,
    release() {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    },
  };
}
