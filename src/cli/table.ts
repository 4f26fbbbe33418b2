import type { Writable } from "node:stream";
import type { CliIo } from "./context.ts";
import { type Style, styleFor } from "./style.ts";

const GAP = 2;
/** Text in fewer columns is harder to read than text that a terminal breaks. */
const MIN_WRAP_COLUMNS = 30;
const ELLIPSIS = "…";

/** A column: its title, and the least width to which its cells may be cut; `undefined`: they are never cut. */
export interface Column {
  readonly title: string;
  readonly minWidth: number | undefined;
}

/** What stdout is: how wide, where it is a terminal, and how words stand out there. */
export interface Screen {
  readonly width: number | undefined;
  readonly style: Style;
}

export function screenOf(io: Pick<CliIo, "env" | "stdout">): Screen {
  return { width: terminalWidth(io.stdout), style: styleFor(io, io.stdout) };
}

/**
 * Renders rows in columns, no wider than the screen as long as the columns that may be cut have something to give. Without
 * a width nothing is cut: whoever reads it is a program. Cells are one line each and fit for a terminal already; those of
 * columns that are not cut may have a style.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, style }: Screen,
): string[] {
  const lines = [columns.map(({ title }) => title), ...rows];
  const widths = columns.map((_, index) => Math.max(...lines.map((cells) => widthOf(cells[index] ?? ""))));
  if (width !== undefined) shrink(widths, columns, width);
  const [head = "", ...body] = lines.map((cells) =>
    cells
      .map((cell, index) => fit(cell, widths[index] ?? 0))
      .join(" ".repeat(GAP))
      .trimEnd(),
  );
  return [style.bold(head), ...body];
}

/**
 * Breaks a line between words, so that with its indent it is no wider than `width`; `undefined`: it stays whole. The first
 * of the lines that it gives has no indent.
 */
export function wrapText(text: string, indent: number, width: number | undefined): string {
  const room = Math.max(MIN_WRAP_COLUMNS, (width ?? Number.POSITIVE_INFINITY) - indent);
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || widthOf(`${last} ${word}`) > room) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join(`\n${" ".repeat(indent)}`);
}

/** The columns of a terminal; `undefined` for anything else. */
export function terminalWidth(stream: Writable): number | undefined {
  const { isTTY, columns } = stream as Writable & { isTTY?: boolean; columns?: number };
  return isTTY === true && columns !== undefined && columns > 0 ? columns : undefined;
}

/** Takes what is too much from the widest column that may be cut, again and again. */
function shrink(widths: number[], columns: readonly Column[], width: number): void {
  let excess = widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1)) - width;
  while (excess > 0) {
    let widest = -1;
    for (const [index, { minWidth }] of columns.entries()) {
      const own = widths[index] ?? 0;
      if (minWidth !== undefined && own > minWidth && own > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
    excess -= 1;
  }
}

function fit(cell: string, width: number): string {
  const own = widthOf(cell);
  if (own <= width) return cell + " ".repeat(width - own);
  let cut = "";
  for (const character of cell) {
    if (widthOf(cut + character) > width - 1) break;
    cut += character;
  }
  return cut + ELLIPSIS + " ".repeat(Math.max(0, width - 1 - widthOf(cut)));
}

function widthOf(text: string): number {
  return Bun.stringWidth(text);
}
