/** What is said when an execution did not end by itself: one or two sentences for the model, a number for a shell. */
import { constants } from "node:os";
import type { DiedFrame } from "../kernel/protocol.ts";

const LOST = "Variables, imports and functions of this session are gone; define them again.";
const KEPT = "Variables are kept.";

/** `waits` are the upstream calls that were under way when we stopped it, with how long they were. */
export function cutNote(
  cut: "timeout" | "cancelled",
  timeoutMs: number,
  stateLost: boolean,
  waits: readonly { readonly label: string; readonly ms: number }[],
): string {
  const what =
    cut === "timeout"
      ? `The code was stopped after its timeout of ${timeoutMs / 1000} s; give a longer \`timeout\` or do less at once.`
      : "The code was stopped: its call was cancelled, or whoever runs Sandpy stopped it.";
  return `${what}${describeWaits(waits)} ${stateLost ? `It did not react to an interrupt, so Python was restarted. ${LOST}` : KEPT}`;
}

export function deathNote(frame: DiedFrame, memoryBytes: number): string {
  return `Python was restarted: ${describeDeath(frame, memoryBytes)}. ${LOST}`;
}

export function endedNote(reason: string): string {
  return `The sandbox ended (${reason}) and will be started anew. ${LOST}`;
}

export function refusedImagesNote(count: number): string {
  return `${count} more ${count === 1 ? "image is" : "images are"} left out: show fewer or smaller ones at once.`;
}

export function idleNote(idleMs: number): string {
  return `The sandbox was stopped after ${idleMs / 1000} s without a call. ${LOST}`;
}

function describeWaits(waits: readonly { readonly label: string; readonly ms: number }[]): string {
  const [first, ...more] = waits;
  if (first === undefined) return "";
  const others = more.length === 0 ? "" : ` and ${more.length} more`;
  return ` It was waiting for ${first.label} (${(first.ms / 1000).toFixed(1)} s)${others}.`;
}

function describeDeath(frame: DiedFrame, memoryBytes: number): string {
  switch (frame.reason) {
    case "out_of_memory":
      return (
        `killed: out of memory, limit ${Math.round(memoryBytes / 1024 ** 2)}m; ` +
        "work on smaller pieces, or have the user raise MCP_BRIDGE_MEMORY"
      );
    case "signal":
      return `it crashed with ${frame.signal ?? "an unknown signal"}`;
    case "exit":
      return `its process ended with exit code ${frame.code ?? "unknown"}`;
    case "reset":
      return "it was asked to";
    case "protocol":
      return frame.detail ?? "it broke the frame protocol";
  }
}

/** The exit code of a program whose process died, as a shell says it; null where it was we who ended it. */
export function exitCodeOfDeath(frame: DiedFrame): number | null {
  switch (frame.reason) {
    case "exit":
      return frame.code;
    case "out_of_memory":
      return 128 + constants.signals.SIGKILL;
    case "signal":
      return (
        128 + ((constants.signals as Record<string, number>)[frame.signal ?? ""] ?? constants.signals.SIGKILL)
      );
    case "reset":
    case "protocol":
      return null;
  }
}
