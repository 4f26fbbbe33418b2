// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables as files write them
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isShell, splitCommand, splitWords, unwrapForeign } from "../../src/discovery/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "sandpy command-"));
afterAll(() => rmSync(folder, { recursive: true }));
const within = (path: string) => resolve(folder, path);

describe("a line", () => {
  test.each([
    ["npx -y  a", ["npx", "-y", "a"]],
    [`a 'b c' "d e" f" g"`, ["a", "b c", "d e", "f g"]],
    [`a "" ''`, ["a", "", ""]],
    [String.raw`a b\ c \"d\"`, ["a", "b c", '"d"']],
    [String.raw`node C:\srv\index.js`, ["node", String.raw`C:\srv\index.js`]],
    [String.raw`a 'b\ c'`, ["a", String.raw`b\ c`]],
    ["a 'x && y'", ["a", "x && y"]],
    ["${A:-b c} {file:my key.txt} ${B}d", ["${A:-b c}", "{file:my key.txt}", "${B}d"]],
    ["a $(b | c) d", ["a", "$(b | c)", "d"]],
    ["  ", []],
  ])("is split into words: %s", (line, words) => {
    expect(splitWords(line)).toEqual({ kind: "words", words });
  });

  test.each([
    ["a && b", "&&"],
    ["a | b", "|"],
    ["a > b", ">"],
    ["a; b", ";"],
    ["a &", "&"],
  ])("is for a shell: %s", (line, sign) => {
    expect(splitWords(line)).toEqual({ kind: "shell", sign });
  });

  test("says which quote is not closed", () => {
    expect(splitWords(`a "b`)).toEqual({ kind: "unclosed", quote: '"' });
  });
});

describe("a command", () => {
  mkdirSync(join(folder, "My Tool.app"));
  writeFileSync(join(folder, "My Tool.app", "run"), "");

  test.each([
    ["npx", ["npx"]],
    ["npx -y a", ["npx", "-y", "a"]],
    ["./My Tool.app/run", ["./My Tool.app/run"]],
    ["./My Tool.app/run --flag 'x y'", ["./My Tool.app/run", "--flag", "x y"]],
    ["./No Tool.app/run", ["./No", "Tool.app/run"]],
    [String.raw`C:\Program Files\nodejs\npx.cmd`, [String.raw`C:\Program Files\nodejs\npx.cmd`]],
  ])("is a program and its first arguments: %s", (command, words) => {
    expect(splitCommand(command, false, within)).toEqual({ kind: "words", words });
  });
});

test("a path with its arguments beside it is no line, although nothing is there", () => {
  for (const command of ["/opt/My Tools/run", String.raw`C:\My Tools\run`, "${HOME}/My Tools/run"]) {
    expect(splitCommand(command, true, within)).toEqual({ kind: "words", words: [command] });
  }
});

test.each([
  [["cmd", "/c", "npx", "-y", "a"], "linux", ["npx", "-y", "a"]],
  [["cmd.exe", "/d", "/s", "/c", "npx"], "darwin", ["npx"]],
  [["CMD", "/C", "npx"], "linux", ["npx"]],
  [["cmd", "/c", "npx"], "win32", ["cmd", "/c", "npx"]],
  [["cmd", "/v", "npx"], "linux", ["cmd", "/v", "npx"]],
  [["cmd", "/c"], "linux", ["cmd", "/c"]],
  [["npx.cmd", "a"], "linux", ["npx", "a"]],
  [["tool.cmd", "a"], "linux", ["tool.cmd", "a"]],
] as const)("unwraps what only Windows has: %p on %s", (words, platform, expected) => {
  expect([...unwrapForeign(words, platform)]).toEqual([...expected]);
});

test.each([
  ["bash", true],
  ["/bin/sh", true],
  [String.raw`C:\Windows\System32\cmd.exe`, true],
  ["bashful", false],
  ["fresh", false],
])("knows a shell: %s", (command, expected) => {
  expect(isShell(command)).toBe(expected);
});
