import { expect, test } from "bun:test";
import fc from "fast-check";
import { readElements, readMembers } from "../../src/memory/json-members.ts";

/** JSON with white space and escapes wherever they may stand. */
const anyJson = fc.tuple(fc.json(), fc.constantFrom(0, 1, 4), fc.boolean()).map(([text, indent, isAscii]) => {
  const shown = JSON.stringify(JSON.parse(text), undefined, indent);
  return isAscii
    ? shown.replaceAll(/[^ -~\n]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : shown;
});

test("members are read as they were written", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(fc.string(), anyJson), { selector: ([name]) => name }), (members) => {
      const text = ` {\n${members.map(([name, value]) => `${JSON.stringify(name)} :\t${value} `).join(",\r\n")} } `;
      expect(readMembers(text)).toEqual(members);
    }),
  );
});

test("elements are read as they were written, with their places", () => {
  fc.assert(
    fc.property(fc.array(anyJson), (values) => {
      const text = `\n[ ${values.join(" ,\n ")}]`;
      const elements = readElements(text);
      expect(elements.map((element) => element.text)).toEqual(values);
      for (const { text: own, offset } of elements) expect(text.slice(offset, offset + own.length)).toBe(own);
    }),
  );
});

test.each(["", "[]", "null", "{", '{"a":1,}', '{"a":1}x', "{'a':1}"])("%j has no members", (text) => {
  expect(() => readMembers(text)).toThrow(SyntaxError);
});
