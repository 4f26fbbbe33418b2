import { expect, test } from "bun:test";
import { findNearest } from "../../src/core/nearest.ts";

const NAMES = ["serve", "servers", "a", "run", "--timeout", "--servers", "--version"];

test.each([
  ["srve", "serve"],
  ["SERVE", "serve"],
  ["rnu", "run"],
  ["--tiemout", "--timeout"],
  ["--server", "--servers"],
  ["--verbose", undefined],
  ["ru", "run"],
  ["server", "servers"],
  ["x", undefined],
  ["", undefined],
])("finds that %j is %p", (typed, expected) => {
  expect(findNearest(typed, NAMES)).toBe(expected);
});
