import type { ExecutionEnd } from "../kernel/kernel.ts";
import type { CallLimit } from "./call-group.ts";
import { CapturedImages } from "./images.ts";
import { LiveOutput } from "./live-output.ts";
import { deathNote, endedNote, exitCodeOfDeath, refusedImagesNote } from "./notes.ts";
import type { ExecuteRequest, Outcome } from "./outcome.ts";
import { CapturedOutput } from "./output.ts";
import type { ExecutionReporter } from "./reporter.ts";
import { TimeLimit } from "./time-limit.ts";

/** It is the cell's end that ends its calls, and its note that tells of them. */
const CALL_MARGIN_MS = 1000;

/** How a cell came to its end, and what else its result tells. */
export interface CellEnd {
  readonly end: ExecutionEnd;
  /** Why we stopped it, and the note that says so. */
  readonly cut: "timeout" | "cancelled" | undefined;
  readonly cutReason: string | undefined;
  /** Notes from before it. */
  readonly notes: readonly string[];
  /** What was written since the cell before it. */
  readonly late: CapturedOutput;
  readonly durationMs: number;
  /** The memory limit of the sandbox. */
  readonly memoryBytes: number;
}

/** What is collected of the execution whose turn it is, until it becomes a result. */
export class RunningCell {
  readonly output: CapturedOutput;
  readonly live: LiveOutput;
  readonly time: TimeLimit;
  /** For what it asks of the host: a little more than it has itself. */
  readonly callLimit: CallLimit;
  readonly images = new CapturedImages();
  readonly report: ExecutionReporter;

  constructor(request: ExecuteRequest, report: ExecutionReporter, maxOutputChars: number) {
    this.output = new CapturedOutput(maxOutputChars);
    this.live = new LiveOutput(request.onOutput);
    const time = new TimeLimit(request.timeoutMs);
    this.time = time;
    this.callLimit = {
      get leftMs() {
        return time.leftMs + CALL_MARGIN_MS;
      },
      pause: () => time.pause(),
    };
    this.report = report;
  }

  conclude({ end, cut, cutReason, late, durationMs, memoryBytes, ...before }: CellEnd): Outcome {
    const { output, images } = this;
    const notes = [...before.notes];
    if (cutReason !== undefined) notes.push(cutReason);
    else if (end.kind === "died") notes.push(deathNote(end.frame, memoryBytes));
    else if (end.kind === "ended") notes.push(endedNote(end.reason));
    if (images.refused > 0) notes.push(refusedImagesNote(images.refused));
    const done = end.kind === "done" ? end.frame : undefined;
    const plain = done?.status === "interrupted" ? "cancelled" : done?.status;
    return {
      status: cut ?? plain ?? "died",
      ...(cut === undefined || plain === undefined || plain === "cancelled" ? {} : { ownStatus: plain }),
      stdout: output.read("stdout"),
      stderr: output.read("stderr"),
      late: { stdout: late.read("stdout"), stderr: late.read("stderr") },
      result: done?.result ?? null,
      error: done?.error ?? null,
      ...describeDeath(end),
      exitCode: end.kind === "died" ? exitCodeOfDeath(end.frame) : (done?.exit_code ?? null),
      notes,
      images: images.images,
      durationMs,
      stateLost: end.kind !== "done",
    };
  }
}

function describeDeath(end: ExecutionEnd): Pick<Outcome, "death"> {
  switch (end.kind) {
    case "done":
      return {};
    case "died": {
      const { reason, signal, detail } = end.frame;
      return { death: { reason, signal, detail } };
    }
    case "ended":
      return { death: { reason: "sandbox", signal: null, detail: end.reason } };
  }
}
