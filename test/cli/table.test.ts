import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { PLAIN, styleFor } from "../../src/cli/style.ts";
import { renderTable, wrapText } from "../../src/cli/table.ts";

const COLUMNS = [
  { title: "A", minWidth: undefined },
  { title: "LONG", minWidth: 4 },
];

test("is as wide as its cells where nobody says how wide it may be", () => {
  expect(renderTable(COLUMNS, [["x", "a long cell"]], { width: undefined, style: PLAIN })).toEqual([
    "A  LONG",
    "x  a long cell",
  ]);
});

test("cuts what may be cut to the width of a terminal, and no more than that", () => {
  expect(renderTable(COLUMNS, [["x", "a long cell"]], { width: 9, style: PLAIN })).toEqual([
    "A  LONG",
    "x  a lon…",
  ]);
  expect(renderTable(COLUMNS, [["wide", "a long cell"]], { width: 1, style: PLAIN })).toEqual([
    "A     LONG",
    "wide  a l…",
  ]);
});

test("counts what a terminal shows, not characters", () => {
  expect(
    renderTable(
      COLUMNS,
      [
        ["筆記", "b"],
        ["a", "c"],
      ],
      { width: undefined, style: PLAIN },
    ),
  ).toEqual(["A     LONG", "筆記  b", "a     c"]);
});

test("makes its head stand out, and counts no escape sequence as width", () => {
  const style = styleFor({ env: { FORCE_COLOR: "1" } }, new PassThrough());
  expect(renderTable(COLUMNS, [[style.green("x"), "cell"]], { width: 7, style })).toEqual([
    "\u001b[1mA  LONG\u001b[22m",
    "\u001b[32mx\u001b[39m  cell",
  ]);
});

test("breaks text between words, and never into less than 30 columns", () => {
  const text = "one two three four five six seven";
  expect(wrapText(text, 4, undefined)).toBe(text);
  expect(wrapText(text, 4, 35)).toBe("one two three four five six\n    seven");
  expect(wrapText(text, 4, 6)).toBe("one two three four five six\n    seven");
});
