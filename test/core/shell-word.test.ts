import { expect, test } from "bun:test";
import { shellPath, shellWord } from "../../src/core/shell-word.ts";

const WORDS = ["plain", "a/b.c-d_e:f@g", "two words", "it's", "$HOME", "~/x", "*", ";rm", "", "\n", "ünï"];

test.each(WORDS)("%j comes out of a shell as it went in", (word) => {
  const { stdout } = Bun.spawnSync(["sh", "-c", `printf %s ${shellWord(word)}`]);
  expect(stdout.toString()).toBe(word);
});

test.each(["~/", "~/plain", "~/two words/it's"])("%j means the home", (path) => {
  const { stdout } = Bun.spawnSync(["sh", "-c", `printf %s ${shellPath(path)}`], { env: { HOME: "/h" } });
  expect(stdout.toString()).toBe(`/h/${path.slice(2)}`);
});

test("a path without a home is a word", () => {
  expect(shellPath("/a b")).toBe("'/a b'");
});
