import { type Comparison, judge, ratioOf, type Target } from "./comparison.ts";
import { median, p95 } from "./statistics.ts";

const HEADER = ["bench", "measured", "median", "p95", "yardstick", "median", "p95", "ratio", "target", "met"];
const RIGHT = new Set([2, 3, 5, 6, 7]);
const ANSWERS = { met: "yes", close: "nearly", missed: "NO", shown: "" } as const;

/** The comparisons as a table for people; it is valid Markdown as well. */
export function renderTable(comparisons: readonly Comparison[]): string {
  const rows = [HEADER, ...comparisons.map(renderRow)];
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    RIGHT.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  const lines = rows.map((row) => `| ${row.map(pad).join(" | ")} |`);
  const rule = widths.map((width, column) => `${"-".repeat(width - 1)}${RIGHT.has(column) ? ":" : "-"}`);
  return [lines[0], `| ${rule.join(" | ")} |`, ...lines.slice(1)].join("\n");
}

/** The same for programs, with every sample. */
export function renderJson(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map((comparison) => ({
    ...comparison,
    median: median(comparison.ours),
    p95: p95(comparison.ours),
    yardstickMedian: median(comparison.theirs),
    yardstickP95: p95(comparison.theirs),
    ratio: ratioOf(comparison),
    verdict: judge(comparison),
  }));
  return JSON.stringify(rows, null, 2);
}

function renderRow(comparison: Comparison): string[] {
  const { bench, measured, yardstick, unit, ours, theirs, target } = comparison;
  return [
    bench,
    measured,
    `${short(median(ours))} ${unit}`,
    short(p95(ours)),
    yardstick,
    `${short(median(theirs))} ${unit}`,
    short(p95(theirs)),
    `${short(ratioOf(comparison))} ×`,
    renderTarget(target, unit),
    ANSWERS[judge(comparison)],
  ];
}

function renderTarget(target: Target | undefined, unit: string): string {
  if (target === undefined) return "";
  const sign = target.bound === "at most" ? "≤" : "≥";
  return `${sign} ${target.limit} ${target.of === "ratio" ? "×" : unit}`;
}

/** Three digits, which is more than such measurements are good for. */
function short(value: number): string {
  if (!Number.isFinite(value)) return "?";
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
