import { expect, test } from "bun:test";
import { assignPythonNames, toPythonName } from "../../src/core/python-names.ts";

const NAMES = {
  read_file: "read_file",
  "send-email": "send_email",
  "auth.who-am-i": "auth_who_am_i",
  "2fa check": "_2fa_check",
  import: "import_",
  None: "None_",
  match: "match",
  print: "print",
  __init__: "x__init__",
  _repr_html_: "x_repr_html_",
  _private: "_private",
  "naïve/put": "naïve_put",
  高德地图: "高德地图",
  ﬁle: "file", // a ligature: Python reads it as two letters
  Å: "Å",
  "a\nb\0": "a_b_",
  "😀": "unnamed",
  "": "unnamed",
  "🏳️‍🌈x": "x____x",
};

test.each(Object.entries(NAMES))("%j is %s in Python", (name, alias) => {
  expect(toPythonName(name)).toBe(alias.normalize("NFKC"));
});

test("a very long name is cut, between characters", () => {
  expect(toPythonName("x".repeat(10_000))).toBe("x".repeat(100));
  expect(toPythonName("𝒳y".repeat(1000)).isWellFormed()).toBe(true);
});

test.each([
  [
    ["a.b", "a_b", "a-b", "a_b_2"],
    ["a_b_4", "a_b", "a_b_3", "a_b_2"], // "-" is before ".": the order of the list is no matter
  ],
  [
    ["a-b", "a b"],
    ["a_b_2", "a_b"],
  ],
  [
    ["x", "x", "x"],
    ["x", "x_2", "x_3"],
  ],
  [
    ["?", "!"],
    ["unnamed_2", "unnamed"],
  ],
  [
    ["Tool", "tool"],
    ["Tool", "tool"],
  ],
])("%j become %j", (names, aliases) => {
  expect(assignPythonNames(names)).toEqual(aliases);
});

test("Python itself agrees that all of them are identifiers in their final form", () => {
  const script =
    "import json, keyword, sys, unicodedata\n" +
    "for name in json.load(sys.stdin):\n" +
    "    assert name.isidentifier() and not keyword.iskeyword(name), name\n" +
    "    assert unicodedata.normalize('NFKC', name) == name, name\n";
  const aliases = assignPythonNames([...Object.keys(NAMES), "ſ", "ᴀ-b", "\u0345", "x\u0301", "٣", "·a", "℘"]);

  const { exitCode, stderr } = Bun.spawnSync(["python3", "-c", script], {
    stdin: Buffer.from(JSON.stringify(aliases)),
  });

  expect(stderr.toString()).toBe("");
  expect(exitCode).toBe(0);
});
