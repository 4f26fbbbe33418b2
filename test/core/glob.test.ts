import { expect, test } from "bun:test";
import { matchesGlob, matchesStars } from "../../src/core/glob.ts";
import { patient } from "../helpers/patient.ts";

test.each([
  ["*", "", true],
  ["*", "anything", true],
  ["get_*", "get_x", true],
  ["get_*", "get_", true],
  ["get_*", "forget_x", false],
  ["g?t", "get", true],
  ["g?t", "gt", false],
  ["*_x", "a_x_x", true],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  ["a.c", "abc", false],
  ["[ab]", "a", false],
  ["", "", true],
  ["", "a", false],
])("the glob %p and the name %p: %p", (glob, name, fits) => {
  expect(matchesGlob(glob, name)).toBe(fits);
});

test("a glob made to be slow is not", () => {
  const started = performance.now();
  expect(matchesStars("*a".repeat(500), "a".repeat(20_000) + "b".repeat(20_000))).toBe(false);
  expect(matchesGlob(`${"*a".repeat(50)}b`, "a".repeat(10_000))).toBe(false);
  expect(performance.now() - started).toBeLessThan(patient(1000));
});

test.each([
  ["*", "", true],
  ["a*c", "abc", true],
  ["a*c", "ac", true],
  ["a*c", "abd", false],
  ["*a*b", "xaxb", true],
  ["* @playwright/mcp@*", "-y @playwright/mcp@latest", true],
  ["a", "aa", false],
  ["a?c", "abc", false],
  ["a?c*", "a?cd", true],
  ["", "", true],
  ["", "a", false],
])("the pattern %j and the text %j: %p", (pattern, text, expected) => {
  expect(matchesStars(pattern, text)).toBe(expected);
});
