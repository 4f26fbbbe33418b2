import { type BridgeError, EXIT_CODES } from "../../core/errors.ts";
import type { Outcome } from "../../session/outcome.ts";
import type { UpstreamCalls } from "./upstream-calls.ts";

/** What `--json` prints of a program that ran. */
export function renderOutcome(outcome: Outcome, exitCode: number, calls: UpstreamCalls) {
  const { status, stdout, stderr, result, error, durationMs, notes, images } = outcome;
  return {
    status,
    exitCode,
    stdout: stdout.text,
    stderr: stderr.text,
    /** Characters left out of the middle of each stream. */
    leftOut: { stdout: stdout.dropped, stderr: stderr.dropped },
    result,
    error: error === null ? null : { type: error.ename, message: error.evalue, traceback: error.traceback },
    fault: null,
    durationMs: Math.round(durationMs),
    notes,
    images,
    calls: calls.calls,
    callCount: calls.count,
  };
}

/** What `--json` prints where nothing ran, through a fault of ours or of how it was called. */
export function renderFault({ code, message, hint }: BridgeError, exitCode: number = EXIT_CODES[code]) {
  return {
    status: "refused",
    exitCode,
    stdout: "",
    stderr: "",
    leftOut: { stdout: 0, stderr: 0 },
    result: null,
    error: null,
    fault: { code, message, hint: hint ?? null },
    durationMs: 0,
    notes: [],
    images: [],
    calls: [],
    callCount: 0,
  };
}
