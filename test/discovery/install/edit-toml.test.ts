import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { parse } from "smol-toml";
import {
  appendToml,
  removeToml,
  renderTomlTable,
  replaceToml,
  textOfToml,
} from "../../../src/discovery/install/edit-toml.ts";

const FILE = `# settings
model = "x"
prompt = """
[mcp_servers.fake]
command = "no"
"""
list = [
  [1, 2], # [mcp_servers.other]
]

[mcp_servers.a] # first
command = "a"

[mcp_servers.a.env]
KEY = 'v'

# about b
[mcp_servers."b c"]
command = "b"
args = [
  "[x]",
]
# end of b

[tui]
theme = "dark"
`;

test("takes a table and those below it out, and leaves remarks", () => {
  expect(removeToml(FILE, ["mcp_servers", "a"])).toBe(
    FILE.replace("\n[mcp_servers.a] # first\ncommand = \"a\"\n\n[mcp_servers.a.env]\nKEY = 'v'\n", ""),
  );
  expect(removeToml(FILE, ["mcp_servers", "b c"])).toBe(
    FILE.replace('[mcp_servers."b c"]\ncommand = "b"\nargs = [\n  "[x]",\n]\n', ""),
  );
});

test.each(["fake", "other", "none"])("finds no table %s that is text or not there", (name) => {
  expect(removeToml(FILE, ["mcp_servers", name])).toBe(FILE);
  expect(textOfToml(FILE, ["mcp_servers", name])).toBeUndefined();
});

test("reads a table as it is written", () => {
  expect(textOfToml(FILE, ["mcp_servers", "a"])).toBe(
    "[mcp_servers.a] # first\ncommand = \"a\"\n\n[mcp_servers.a.env]\nKEY = 'v'\n",
  );
});

test("puts another text in the place of one", () => {
  expect(replaceToml(FILE, ["mcp_servers", "a"], "command", 'C:\\x "y"')).toBe(
    FILE.replace('command = "a"', 'command = "C:\\\\x \\"y\\""'),
  );
});

test.each([
  ["", "[s]\na = 1\n"],
  ["x = 1", "x = 1\n\n[s]\na = 1\n"],
  ["x = 1\r\n", "x = 1\r\n\r\n[s]\r\na = 1\r\n"],
])("puts a table behind %j", (before, after) => {
  expect(appendToml(before, "[s]\na = 1\n")).toBe(after);
});

test("is undone by taking the table out, whatever stands before it", () => {
  const piece = fc.constantFrom(
    "# [mcp_servers.me]",
    "",
    "[other]\nx = 1",
    "[[list]]\ny = [\n[1],\n]",
    '[mcp_servers.x]\ncommand = "c"\nenv = { A = "]" }',
    "[third] # c\nz = '''\n[mcp_servers.me]\n'''",
    '[fourth]\nq = "a # b [c"',
  );
  const name = fc.oneof(
    fc.constant("me"),
    fc.string({ minLength: 1, maxLength: 8 }).filter((text) => text.isWellFormed()),
  );
  fc.assert(
    fc.property(fc.uniqueArray(piece), fc.constantFrom("\n", "\r\n"), name, (pieces, eol, key) => {
      const before = pieces
        .map((text) => `${text}\n`)
        .join("")
        .replaceAll("\n", eol);
      const old = parse(before);
      if (key in ((old["mcp_servers"] as object | undefined) ?? {})) return;
      const entry = { command: "c d", args: ['"', "\\", "\u007f\u0001é"] };
      const after = appendToml(before, renderTomlTable(["mcp_servers", key], entry));
      const servers = (parse(after)["mcp_servers"] ?? {}) as Record<string, unknown>;
      expect(Object.hasOwn(servers, key)).toBe(true);
      expect({ ...(servers[key] as object) }).toEqual(entry);
      if (before.trim() !== "") expect(removeToml(after, ["mcp_servers", key])).toBe(before);
    }),
    { numRuns: 1000 },
  );
});
