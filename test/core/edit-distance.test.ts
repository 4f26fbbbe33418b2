import { expect, test } from "bun:test";
import { editDistance } from "../../src/core/edit-distance.ts";

test.each([
  ["", "", 0],
  ["", "abc", 3],
  ["abc", "", 3],
  ["same", "same", 0],
  ["srve", "serve", 1],
  ["rnu", "run", 1],
  ["kitten", "sitting", 3],
  ["a".repeat(255), "b".repeat(255), 255],
])("from %j to %j is %i", (one, other, distance) => {
  expect(editDistance(one, other)).toBe(distance);
});
