import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { parse } from "jsonc-parser";
import { insertJson, removeJson, replaceJson } from "../../../src/discovery/install/edit-json.ts";

const ENTRY = { kind: "value", key: "me", value: { command: "x", args: ["a"] } } as const;
const add = (text: string, path: readonly string[] = ["s"]) => insertJson(text, path, ENTRY);

describe("an entry is put", () => {
  test.each([
    [
      "into nothing",
      "",
      '{\n  "s": {\n    "me": {\n      "command": "x",\n      "args": ["a"]\n    }\n  }\n}\n',
    ],
    [
      "behind comments alone",
      "// c",
      '// c\n{\n  "s": {\n    "me": {\n      "command": "x",\n      "args": ["a"]\n    }\n  }\n}\n',
    ],
    [
      "into an empty object",
      "{}",
      '{\n  "s": {\n    "me": {\n      "command": "x",\n      "args": ["a"]\n    }\n  }\n}',
    ],
    [
      "with the tabs of the file",
      '{\n\t"s": {\n\t\t"a": 1\n\t}\n}\n',
      '{\n\t"s": {\n\t\t"a": 1,\n\t\t"me": {\n\t\t\t"command": "x",\n\t\t\t"args": ["a"]\n\t\t}\n\t}\n}\n',
    ],
    [
      "with its four blanks and its line ends",
      '{\r\n    "s": {\r\n        "a": 1\r\n    }\r\n}',
      '{\r\n    "s": {\r\n        "a": 1,\r\n        "me": {\r\n            "command": "x",\r\n            "args": ["a"]\r\n        }\r\n    }\r\n}',
    ],
    [
      "behind a trailing comma, with one of its own",
      '{\n  "s": {\n    "a": 1, // one\n  },\n}',
      '{\n  "s": {\n    "a": 1, // one\n    "me": {\n      "command": "x",\n      "args": ["a"]\n    },\n  },\n}',
    ],
    [
      "behind the remark of the line before, and before those below",
      '{\n  "s": {\n    "a": 1 /* , */ // one, two\n    // "b": 2\n  }\n}',
      '{\n  "s": {\n    "a": 1, /* , */ // one, two\n    "me": {\n      "command": "x",\n      "args": ["a"]\n    }\n    // "b": 2\n  }\n}',
    ],
    [
      "behind a remark in an object without entries",
      '{\n  "s": {\n    // none yet\n  }\n}',
      '{\n  "s": {\n    // none yet\n    "me": {\n      "command": "x",\n      "args": ["a"]\n    }\n  }\n}',
    ],
    ["into a line", '{"s":{"a":1}}', '{"s":{"a":1, "me": { "command": "x", "args": ["a"] }}}'],
  ])("%s", (_where, before, after) => {
    expect(add(before)).toBe(after);
    expect(add(before.replaceAll("\r\n", "\n"))).toBe(after.replaceAll("\r\n", "\n"));
  });

  test.each(["[1]", '{"s": []}', '{"s": null}', '{"s": 3}'])("never into %s", (text) => {
    expect(() => add(text)).toThrow("to be an object in braces");
  });
});

test.each([
  ["the first", "a", '{\n  "s": {\n    "b": 2, // two\n    "c": 3\n  }\n}'],
  ["one in the middle", "b", '{\n  "s": {\n    "a": 1, // two\n    "c": 3\n  }\n}'],
  ["the last, with the comma before it", "c", '{\n  "s": {\n    "a": 1,\n    "b": 2 // two\n  }\n}'],
])("takes %s out", (_which, key, after) => {
  expect(removeJson('{\n  "s": {\n    "a": 1,\n    "b": 2, // two\n    "c": 3\n  }\n}', ["s"], key)).toBe(
    after,
  );
});

test("puts another value in the place of one", () => {
  expect(replaceJson('{"s": {"a": /* x */ "old" , "b": 1}}', ["s", "a"], "new")).toBe(
    '{"s": {"a": /* x */ "new" , "b": 1}}',
  );
});

/** JSON as people write it: any layout, remarks anywhere, commas at the end. */
const trivia = fc.constantFrom("", " ", "\n", "\n  ", "\t", " // ,}\n", ' /* {"a": */ ', "\n\n    // x\n");
const scalar = fc.oneof(
  fc.constantFrom('"x"', "1", "true", "null", '"// no {"', '"\\"},"'),
  fc.constant("[1, 2,]"),
);
function objectText(depth: number): fc.Arbitrary<string> {
  const value = depth === 0 ? scalar : fc.oneof(scalar, objectText(depth - 1));
  const property = fc.tuple(trivia, value, trivia);
  return fc
    .tuple(fc.array(property, { maxLength: 4 }), trivia, fc.boolean())
    .map(([properties, end, comma]) => {
      const parts = properties.map(
        ([before, inner, after], index) => `${before}"k${index}"${after}:${before}${inner}${after}`,
      );
      return `{${parts.join(",")}${comma && parts.length > 0 ? "," : ""}${end}}`;
    });
}

test("changes nothing but the entry, whatever the text looks like", () => {
  const paths = fc.constantFrom(["k0"], ["s"], ["k1", "k0"], ["k0", "new"], []);
  let edited = 0;
  fc.assert(
    fc.property(objectText(2), paths, trivia, (body, path, around) => {
      const before = `${around}${body}${around}`;
      let after: string;
      try {
        after = insertJson(before, path, ENTRY);
      } catch {
        return; // there is something else at that path
      }
      edited++;
      const value = parse(before, [], { allowTrailingComma: true });
      const errors: never[] = [];
      const found = parse(after, errors, { allowTrailingComma: true });
      expect(errors).toEqual([]);
      expect(at(found, path)).toEqual({ ...at(value, path), me: ENTRY.value });
      const gone = removeJson(after, path, "me");
      if (path.length === 0 || at(value, path) !== undefined) {
        if (Object.keys(at(value, path) ?? {}).length > 0) expect(gone).toBe(before);
        expect(parse(gone, [], { allowTrailingComma: true })).toEqual(value);
      }
    }),
    { numRuns: 3000 },
  );
  expect(edited).toBeGreaterThan(500);
});

function at(value: unknown, path: readonly string[]): Record<string, unknown> | undefined {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value) as
    | Record<string, unknown>
    | undefined;
}
