import { describe, expect, test } from "bun:test";
import { Ledger } from "../../scripts/soak-programs/ledger.ts";
import { findUnclear, kindOf } from "../../scripts/soak-programs/reasons.ts";

const LOST = "Variables, imports and functions of this session are gone; define them again.";

describe("the reason of a call that failed", () => {
  test.each([
    ["a note", `[note] The sandbox ended (it was killed) and will be started anew. ${LOST}`],
    [
      "an exception",
      'Traceback (most recent call last):\n  File "<cell 1>"\nmcp.runtime.MCPError: a.b: it has ended',
    ],
    [
      "what failed, and what to do",
      'the sandbox did not start: it was killed\nTry again, or run "sandpy doctor".',
    ],
  ])("is clear: %s", (_what, text) => {
    expect(findUnclear(text)).toBeUndefined();
  });

  test.each([
    ["nothing", ""],
    ["what failed alone", "the sandbox did not start"],
    ["a value that nobody filled in", "the server undefined has ended\nTry again."],
    ["a place in our source", "it failed\n    at run (/$bunfs/sandpy:12:3)"],
    ["a bug's own words", "undefined is not a function\nTry again."],
  ])("is not clear: %s", (_what, text) => {
    expect(findUnclear(text)).toBeString();
  });

  test("is counted without what differs from case to case", () => {
    const one = kindOf('server "a" has ended after 12 s\nTry again.');
    expect(kindOf('server "b" has ended after 3.5 s\nTry again.')).toBe(one);
    expect(kindOf(`1\n[note] It was lost. ${LOST}`)).toStartWith("[note] It was lost.");
  });
});

describe("a memory that all add to", () => {
  const judge = (totals: readonly number[], unsure: number, total: number) => {
    const ledger = new Ledger();
    for (const each of totals) ledger.surely(each);
    for (let i = 0; i < unsure; i += 1) ledger.perhaps();
    return ledger.judge(total);
  };

  test.each([
    [[1, 2, 3], 0, 3],
    [[1, 3], 1, 3],
    [[1, 2], 1, 2],
  ])("is exact: answers %j, %d that failed, total %d", (totals, unsure, total) => {
    expect(judge(totals, unsure, total)).toEqual([]);
  });

  test.each([
    [[1, 2, 3], 0, 2],
    [[1, 2], 1, 4],
    [[1, 2, 2], 0, 3],
  ])("is wrong: answers %j, %d that failed, total %d", (totals, unsure, total) => {
    expect(judge(totals, unsure, total)).toHaveLength(1);
  });
});
