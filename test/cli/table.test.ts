import { expect, test } from "bun:test";
import { renderTable } from "../../src/cli/table.ts";

const COLUMNS = [
  { title: "A", minWidth: undefined },
  { title: "LONG", minWidth: 4 },
];

test("is as wide as its cells where nobody says how wide it may be", () => {
  expect(renderTable(COLUMNS, [["x", "a long cell"]], undefined)).toEqual(["A  LONG", "x  a long cell"]);
});

test("cuts what may be cut to the width of a terminal, and no more than that", () => {
  expect(renderTable(COLUMNS, [["x", "a long cell"]], 9)).toEqual(["A  LONG", "x  a lon…"]);
  expect(renderTable(COLUMNS, [["wide", "a long cell"]], 1)).toEqual(["A     LONG", "wide  a l…"]);
});

test("counts what a terminal shows, not characters", () => {
  expect(
    renderTable(
      COLUMNS,
      [
        ["筆記", "b"],
        ["a", "c"],
      ],
      undefined,
    ),
  ).toEqual(["A     LONG", "筆記  b", "a     c"]);
});
