import { expect, test } from "bun:test";
import { shownText, shownWord } from "../../../src/mcp/dashboard/shown-text.ts";
import { patient } from "../../helpers/patient.ts";

test.each([
  ["plain text", "a\n\tb", "a\n\tb"],
  ["colours", "\u001b[1;31mred\u001b[0m", "red"],
  ["titles and links", "\u001b]0;title\u0007\u001b]8;;http://x\u001b\\link", "link"],
  ["a sequence without an end", "\u001b]0;title", "␛]0;title"],
  ["progress", "10 %\r50 %\r100 %\nnext", "100 %\nnext"],
  ["line ends of Windows", "a\r\nb\r\n", "a\nb\n"],
  ["control characters", "a\0b\bc\u007f\u0085", "a␀b␈c␡\\u{85}"],
  ["text that turns", "a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"],
  ["emoji that are joined", "👩\u200d🔬", "👩\u200d🔬"],
])("shows %s", (_what, text, shown) => {
  expect(shownText(text)).toBe(shown);
});

test("needs no longer for what looks like the beginning of a sequence", () => {
  const startedAt = performance.now();
  for (const part of ["\u001b[", "\u001b]", "\r", "\u001b]8;;"]) shownText(part.repeat(16 * 1024));
  expect(performance.now() - startedAt).toBeLessThan(patient(2000));
});

test.each([
  ["lines", "a\n\tb", "a b"],
  ["what is long", "x".repeat(300), `${"x".repeat(200)}…`],
  ["what turns text", "a\u202eb", "a\\u{202e}b"],
])("shows %s as a word", (_what, text, shown) => {
  expect(shownWord(text)).toBe(shown);
});
