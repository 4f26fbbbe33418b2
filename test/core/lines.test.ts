import { describe, expect, test } from "bun:test";
import { LineSplitter } from "../../src/core/lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function split(maxBytes: number, ...chunks: string[]): string[] {
  const splitter = new LineSplitter(maxBytes);
  return chunks.flatMap((chunk) =>
    [...splitter.push(bytes(chunk))].map((line) =>
      line.kind === "line" ? new TextDecoder().decode(line.bytes) : "<overflow>",
    ),
  );
}

describe("LineSplitter", () => {
  test.each<[string, number, string[], string[]]>([
    ["yields whole lines", 100, ["a\nb\n"], ["a", "b"]],
    ["joins a line from many chunks", 100, ["he", "l", "lo\nw", "orld\n"], ["hello", "world"]],
    ["keeps empty lines", 100, ["\n\na\n"], ["", "", "a"]],
    ["holds back an unfinished line", 100, ["a\nb"], ["a"]],
    ["takes a line of exactly the limit", 3, ["abc\n"], ["abc"]],
    ["drops a longer line and goes on after it", 3, ["abcd\nok\n"], ["<overflow>", "ok"]],
    ["reports a long line once, over many chunks", 3, ["ab", "cd", "efgh", "ij\nok\n"], ["<overflow>", "ok"]],
    ["drops an endless line without a newline", 3, ["abcdefgh", "ijkl"], ["<overflow>"]],
    ["splits characters of several bytes between chunks", 100, ["ü", "ü\n"], ["üü"]],
  ])("%s", (_title, maxBytes, chunks, expected) => {
    expect(split(maxBytes, ...chunks)).toEqual(expected);
  });

  test("keeps no more of a chunk than what it holds of it", () => {
    const splitter = new LineSplitter(100);
    const chunk = bytes("a line\nabc");
    expect([...splitter.push(chunk)]).toHaveLength(1);
    chunk.fill(0x78); // what is held is a copy, so the chunk can go
    const [line] = [...splitter.push(bytes("d\n"))];
    expect(line).toEqual({ kind: "line", bytes: Buffer.from("abcd") });
  });
});
