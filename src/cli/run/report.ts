import { EXIT_SIGNALS } from "./exit-code.ts";
import type { JobResult } from "./job-result.ts";

/** Says on stderr, by `write`, what the program's own output does not. */
export function report(result: JobResult, write: (text: string) => void): void {
  const { status, error } = result.outcome;
  if (status === "cancelled") return; // whoever stopped it knows
  if (error !== null) write(`${error.traceback.trimEnd()}\n`);
  for (const line of remarks(result)) write(`sandpy: ${line}\n`);
}

/** What is to be said of how a program ended and what became of its files. */
export function remarks({ outcome, timeoutMs, inputs, notes, fault }: JobResult): readonly string[] {
  const failed =
    fault === undefined ? [] : [`${fault.message}${fault.hint === undefined ? "" : `\n${fault.hint}`}`];
  return [...inputs.notes, ...remarksOnEnd(outcome, timeoutMs), ...notes, ...failed];
}

function remarksOnEnd(
  { status, exitCode, notes, death }: JobResult["outcome"],
  timeoutMs: number,
): readonly string[] {
  if (status === "timeout") {
    return [`the program was stopped after ${timeoutMs / 1000} s\nGive it longer with --timeout=<seconds>.`];
  }
  // The notes of an outcome are for a model, whose session goes on; a program is over.
  if (death?.reason === "out_of_memory") {
    return ["the program was killed: out of memory\nGive it more with --memory=<size>."];
  }
  if (death?.reason === "signal") return [`the program was ended by ${death.signal ?? "an unknown signal"}`];
  const isItsChoice = status === "died" && exitCode !== null && exitCode <= EXIT_SIGNALS; // os._exit
  return isItsChoice ? [] : notes;
}
