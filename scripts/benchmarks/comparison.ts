import { median } from "./statistics.ts";

/** What a comparison must keep to: a ratio to the yardstick, or, where that is no time, a value. */
export interface Target {
  readonly of: "ratio" | "value";
  readonly bound: "at most" | "at least";
  readonly limit: number;
  /** How far a miss may go before it counts, as a share of the limit: measurements of time have noise. */
  readonly tolerance: number;
}

/** One claim, measured: our samples beside those of the yardstick, taken in the same run. */
export interface Comparison {
  readonly bench: string;
  readonly measured: string;
  readonly yardstick: string;
  readonly unit: "ms" | "MB" | "tokens" | "calls/s" | "%";
  readonly ours: readonly number[];
  readonly theirs: readonly number[];
  /** Absent for what is shown and not claimed. */
  readonly target?: Target;
}

/** `close`: missed by less than the tolerance. `shown`: there is no target. */
export type Verdict = "met" | "close" | "missed" | "shown";

const TIME_TOLERANCE = 0.25;

export function atMost(limit: number, tolerance = TIME_TOLERANCE): Target {
  return { of: "ratio", bound: "at most", limit, tolerance };
}

export function atLeast(limit: number, tolerance = TIME_TOLERANCE): Target {
  return { of: "ratio", bound: "at least", limit, tolerance };
}

export function valueAtMost(limit: number, tolerance = 0): Target {
  return { of: "value", bound: "at most", limit, tolerance };
}

export function valueAtLeast(limit: number, tolerance = 0): Target {
  return { of: "value", bound: "at least", limit, tolerance };
}

/** The median of ours as a multiple of the yardstick's. */
export function ratioOf({ ours, theirs }: Comparison): number {
  return median(ours) / median(theirs);
}

export function judge(comparison: Comparison): Verdict {
  const { target } = comparison;
  if (target === undefined) return "shown";
  const reached = target.of === "ratio" ? ratioOf(comparison) : median(comparison.ours);
  const slack = target.limit * target.tolerance;
  if (target.bound === "at most") {
    if (reached <= target.limit) return "met";
    return reached <= target.limit + slack ? "close" : "missed";
  }
  if (reached >= target.limit) return "met";
  return reached >= target.limit - slack ? "close" : "missed"; // NaN is a miss too
}

/** 0 when no target was missed by more than its tolerance and every bench ran to its end. */
export function exitCodeOf(comparisons: readonly Comparison[], failures: number): 0 | 1 {
  return failures > 0 || comparisons.some((comparison) => judge(comparison) === "missed") ? 1 : 0;
}
