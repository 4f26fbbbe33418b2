import { expect, test } from "bun:test";
import { parseExactJson } from "../../src/core/exact-json.ts";

test.each([
  '{"a":12345678901234567890}',
  "[9007199254740993,-9007199254740993,9007199254740991]",
  "[1e400,-1e400]",
  '{"text":"1234567890123456789012"}',
  '{"deep":[[{"n":100000000000000000000000000001}]]}',
  "123456789012345678901234567890",
])("%s comes out as it went in", (text) => {
  expect(JSON.stringify(parseExactJson(text))).toBe(text);
});

test("numbers that fit stay numbers", () => {
  expect(parseExactJson('[1, 2.5, 9007199254740991, 0.1234567890123456, 1e300, "1234567890123456"]')).toEqual(
    [1, 2.5, 9007199254740991, 0.1234567890123456, 1e300, "1234567890123456"],
  );
});

test("text that is not JSON throws", () => {
  expect(() => parseExactJson("{12345678901234567890")).toThrow(SyntaxError);
});
