import type { BridgeError } from "../../core/errors.ts";
import type { JobResult } from "./job-result.ts";
import { notesOf } from "./report.ts";

/** What `--json` prints of a program that ran. */
export function renderResult(job: JobResult) {
  const { outcome, exitCode, files, fault, calls } = job;
  const { status, stdout, stderr, result, error, durationMs, images } = outcome;
  return {
    status,
    exitCode,
    stdout: stdout.text,
    stderr: stderr.text,
    /** Characters left out of the middle of each stream. */
    leftOut: { stdout: stdout.dropped, stderr: stderr.dropped },
    result,
    error: error === null ? null : { type: error.ename, message: error.evalue, traceback: error.traceback },
    fault: describe(fault),
    durationMs: Math.round(durationMs),
    notes: notesOf(job),
    images,
    files,
    calls: calls.calls,
    callCount: calls.count,
  };
}

/** What `--json` prints where nothing ran, through a fault of ours or of how it was called. */
export function renderFault(fault: BridgeError, exitCode: number = fault.exitCode) {
  return {
    status: "refused",
    exitCode,
    stdout: "",
    stderr: "",
    leftOut: { stdout: 0, stderr: 0 },
    result: null,
    error: null,
    fault: describe(fault),
    durationMs: 0,
    notes: [],
    images: [],
    files: [],
    calls: [],
    callCount: 0,
  };
}

function describe(fault: BridgeError | undefined) {
  return fault === undefined ? null : { code: fault.code, message: fault.message, hint: fault.hint ?? null };
}
