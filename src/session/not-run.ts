import { BridgeError, toBridgeError } from "../core/errors.ts";

const MAX_NAMED = 5;

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

/** The first fault of servers that code was to have at its start, which says that it did not run, and how it does. */
export function notConnected(faults: readonly (readonly [server: string, fault: unknown])[]): BridgeError {
  const { code, message, hint, data, cause } = toBridgeError(faults[0]?.[1]);
  const more = faults.length - MAX_NAMED;
  const named = faults.slice(0, MAX_NAMED).map(([server]) => JSON.stringify(server));
  const names = [...named, ...(more > 0 ? [`${more} more`] : [])].join(" and ");
  const advice = `Nothing was run. Leave ${names} out of the servers to run without ${faults.length > 1 ? "them" : "it"}.`;
  return new BridgeError(code, message, {
    hint: hint === undefined ? advice : `${hint}\n${advice}`,
    ...(data === undefined ? {} : { data }),
    cause,
  });
}
