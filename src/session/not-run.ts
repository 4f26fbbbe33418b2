import { BridgeError } from "../core/errors.ts";

/** The reason with which a call is stopped by somebody else than its client. Where its code runs already, its result says so. */
export function interrupted(): BridgeError {
  return new BridgeError("CANCELLED", "the call was interrupted before its code ran", {
    hint: "Nothing ran, and variables are as they were. Call again where its result is still wanted.",
  });
}

/** Why a call that was stopped did not run: the reason, where it says so; else `failure`, which knows how far it was. */
export function notRun({ reason }: AbortSignal, failure?: unknown): unknown {
  if (reason instanceof BridgeError) return reason;
  return failure ?? new BridgeError("CANCELLED", "the call was cancelled before its code ran");
}
