import { expect, test } from "bun:test";
import { toTokens } from "../../../src/upstream/oauth/token-source.ts";

test.each([
  ["empty", ""],
  ["two lines", "a\r\nX-Evil: 1"],
  ["no ASCII", "a\u2028b"],
  ["without end", "x".repeat(20_000)],
])("takes no token that is %s", (_case, token) => {
  expect(() => toTokens({ access_token: token }, undefined)).toThrow(
    "the token that was issued is empty, too long or no plain text",
  );
});

test.each([
  ["negative", -1e308],
  ["endless", Number.POSITIVE_INFINITY],
])("keeps a life that is %s as a time that JSON knows", (_case, seconds) => {
  const { expiresAt, renewAt } = toTokens({ access_token: "t", expires_in: seconds }, undefined);

  for (const time of [expiresAt, renewAt]) expect(Number.isFinite(time)).toBe(true);
});
