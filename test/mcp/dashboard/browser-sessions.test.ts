import { expect, test } from "bun:test";
import { BrowserSessions } from "../../../src/mcp/dashboard/browser-sessions.ts";

test("EXH-19: 256 browsers are signed in, and the oldest makes room for another", () => {
  const sessions = new BrowserSessions();
  const keys = Array.from({ length: 257 }, (_, at) => sessions.open(`token-${at}`));
  expect(keys.filter((key) => sessions.tokenOf(key) === undefined)).toEqual(keys.slice(0, 1));
});

test("EXH-19: wrong tokens of 1,024 peers are remembered, and those of the longest ago forgotten", () => {
  const sessions = new BrowserSessions();
  for (let n = 0; n < 10; n++) sessions.fail("first");
  expect(sessions.waitSeconds("first")).toBeGreaterThan(0);
  for (let n = 0; n < 1024; n++) sessions.fail(`peer-${n}`);
  expect(sessions.waitSeconds("first")).toBe(0);
});
