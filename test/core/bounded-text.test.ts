import { describe, expect, test } from "bun:test";
import { BoundedText } from "../../src/core/bounded-text.ts";

const marker = (count: number) => `<${count}>`;

function filled(maxChars: number, ...pieces: string[]): BoundedText {
  const text = new BoundedText(maxChars);
  for (const piece of pieces) text.append(piece);
  return text;
}

describe("BoundedText", () => {
  test.each<[string, number, string[], string, number]>([
    ["keeps a short text as it is", 10, ["abc", "def"], "abcdef", 0],
    ["keeps a text of exactly the limit", 6, ["abcdef"], "abcdef", 0],
    ["keeps head and tail and counts the rest", 6, ["abcdefghij"], "abc<4>hij", 4],
    ["does so over many pieces", 6, [..."abcdefghij"], "abc<4>hij", 4],
    ["gives an odd unit to the head", 5, ["abcdefghij"], "abc<5>ij", 5],
    ["is empty without a piece", 5, [], "", 0],
  ])("%s", (_title, maxChars, pieces, expected, dropped) => {
    const text = filled(maxChars, ...pieces);
    expect([text.toString(marker), text.dropped, text.isEmpty]).toEqual([expected, dropped, expected === ""]);
  });

  test("counts what was left out before it, and joins nothing over the gap", () => {
    const text = filled(6, "abcd");
    text.skip(5);
    text.append("xy");
    expect([text.toString(marker), text.dropped]).toEqual(["abc<6>xy", 6]);
    const early = filled(6, "a");
    early.skip(2);
    early.append("bcdefgh");
    expect([early.toString(marker), early.dropped]).toEqual(["a<6>fgh", 6]);
    const first = new BoundedText(6);
    first.skip(2);
    first.append("x");
    expect([first.toString(marker), first.isEmpty]).toEqual(["<2>x", false]);
  });

  test("never leaves half of a surrogate pair", () => {
    const text = filled(6, "ab😀cdefgh😀i").toString(marker);
    expect(text.isWellFormed()).toBe(true);
  });

  test("holds little however much is appended", () => {
    const text = new BoundedText(1000);
    const piece = "x".repeat(10_000);
    for (let i = 0; i < 20_000; i += 1) text.append(piece);
    expect(text.dropped).toBe(200_000_000 - 1000);
    expect(text.toString(marker).length).toBe(1000 + "<199999000>".length);
  });
});
