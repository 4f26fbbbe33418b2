import { expect, test } from "bun:test";
import { TailOutput } from "../../../src/mcp/dashboard/tail-output.ts";

test("keeps both streams in their order", () => {
  const output = new TailOutput();
  output.append("stdout", "a");
  output.append("stdout", "b");
  output.append("stderr", "c");
  output.append("stdout", "d");
  expect(output.pieces).toEqual([
    { stream: "stdout", text: "ab" },
    { stream: "stderr", text: "c" },
    { stream: "stdout", text: "d" },
  ]);
  expect(output.leftOut).toBe(0);
});

test.each([
  ["one large piece", ["x".repeat(50_000)]],
  ["many pieces", Array.from({ length: 5000 }, () => "0123456789")],
])("keeps the end of %s and counts the rest", (_what, texts) => {
  const output = new TailOutput();
  for (const text of texts) output.append("stdout", text);
  const whole = texts.join("");
  expect(output.pieces).toEqual([{ stream: "stdout", text: whole.slice(-16 * 1024) }]);
  expect(output.leftOut).toBe(whole.length - 16 * 1024);
});

test("stays small where streams take turns", () => {
  const output = new TailOutput();
  for (let nth = 0; nth < 10_000; nth++) output.append(nth % 2 === 0 ? "stdout" : "stderr", "x");
  expect(output.pieces.length).toBe(256);
  expect(output.leftOut).toBe(10_000 - 256);
});
