import { describeDeath } from "../death.ts";
import { EXIT_SIGNALS } from "./exit-code.ts";
import type { JobResult } from "./job-result.ts";

/** Says on stderr, by `write`, what the program's own output does not. */
export function report(result: JobResult, write: (text: string) => void): void {
  const { status, ownStatus, error } = result.outcome;
  const isKnown = status === "cancelled" && ownStatus === undefined; // to whoever stopped it
  if (error !== null && !isKnown) write(`${error.traceback.trimEnd()}\n`);
  for (const line of remarks(result)) write(`sandpy: ${line}\n`);
}

/** What is to be said of how a program ended and what became of its files. */
export function remarks(result: JobResult): readonly string[] {
  const { fault } = result;
  const failed =
    fault === undefined ? [] : [`${fault.message}${fault.hint === undefined ? "" : `\n${fault.hint}`}`];
  return [...notesOf(result), ...failed];
}

/** The same without a fault of ours. */
export function notesOf({ outcome, timeoutMs, inputs, notes }: Omit<JobResult, "fault">): readonly string[] {
  return [...inputs.notes, ...notesOnEnd(outcome, timeoutMs), ...notes];
}

/** The notes of an outcome are for a model, whose session goes on; a program that did not end by itself is over. */
function notesOnEnd(outcome: JobResult["outcome"], timeoutMs: number): readonly string[] {
  const { status, exitCode, death, notes } = outcome;
  if (status === "cancelled") return []; // whoever stopped it knows
  if (status === "timeout") {
    return [`the program was stopped after ${timeoutMs / 1000} s\nGive it longer with --timeout=<seconds>.`];
  }
  if (status !== "died") return notes;
  const isItsChoice = exitCode !== null && exitCode <= EXIT_SIGNALS; // os._exit
  if (isItsChoice) return [];
  const advice = death === undefined ? undefined : ADVICE[death.reason];
  return [`the program ${describeDeath(outcome) ?? "died"}${advice === undefined ? "" : `\n${advice}`}`];
}

const ADVICE: Partial<Record<NonNullable<JobResult["outcome"]["death"]>["reason"], string>> = {
  out_of_memory: "Give it more with --memory=<size>.",
  sandbox: "Somebody stopped the container, or the machine is short of memory. Run it again.",
};
