import { setTimeout as sleep } from "node:timers/promises";
import type { Cell, ExecutionEnd, Kernel } from "../kernel/kernel.ts";
import type { TimeLimit } from "./time-limit.ts";

/** An interrupted program has this long to clean up before its process is killed. */
const INTERRUPT_GRACE_MS = 2000;
/** The supervisor replaces a process in milliseconds; one that does not answer is killed with its container. */
export const RESET_DEADLINE_MS = 3000;

/** How an execution was brought to its end. */
export interface ExecutionRun {
  readonly end: ExecutionEnd;
  /** Why we stopped it, where we did. */
  readonly cut: "timeout" | "cancelled" | undefined;
}

export interface ExecutionLimits {
  /** The time that the cell may take. */
  readonly time: TimeLimit;
  readonly signal: AbortSignal;
  /** Called once when we begin to stop it. */
  readonly onCut: () => void;
}

/**
 * Runs one cell to its end, which comes at the latest about 5 s after its time is over: first an interrupt,
 * which keeps the state, then a fresh Python process, last the end of the container.
 */
export async function runCell(kernel: Kernel, cell: Cell, limits: ExecutionLimits): Promise<ExecutionRun> {
  const ending = kernel.execute(cell);
  const first = await firstOf(ending, limits);
  if (typeof first === "object") return { end: first, cut: undefined };

  limits.onCut();
  const cut = first;
  kernel.interrupt(cell.id);
  const interrupted = await Promise.race([ending, sleep(INTERRUPT_GRACE_MS, undefined, { ref: false })]);
  if (interrupted !== undefined) return { end: interrupted, cut };
  try {
    await kernel.reset(RESET_DEADLINE_MS);
  } catch {
    await kernel.close(); // the supervisor does not answer: the container goes
  }
  return { end: await ending, cut };
}

/** Resolves with the end of the cell, or with why that is not waited for. */
async function firstOf(
  ending: Promise<ExecutionEnd>,
  { time, signal }: ExecutionLimits,
): Promise<ExecutionEnd | "timeout" | "cancelled"> {
  const first = Promise.withResolvers<ExecutionEnd | "timeout" | "cancelled">();
  void ending.then(first.resolve);
  const forget = time.whenOver(() => first.resolve("timeout"));
  const cancel = () => first.resolve("cancelled");
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await first.promise;
  } finally {
    forget();
    signal.removeEventListener("abort", cancel);
  }
}
