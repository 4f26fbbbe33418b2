import { describe, expect, test } from "bun:test";
import { ParamHeaders } from "../../src/upstream/remote/param-headers.ts";

const header = (name: unknown, type: unknown = "string") => ({ type, "x-mcp-header": name });
const tool = (properties: object, more: object = {}) => ({
  name: "t",
  inputSchema: { type: "object", properties, ...more },
});

function learn(...tools: object[]): { headers: ParamHeaders; kept: readonly unknown[]; refused: string[] } {
  const headers = new ParamHeaders();
  const refused: string[] = [];
  const kept = headers.learn(tools, (name) => refused.push(name));
  return { headers, kept, refused };
}

describe("arguments that a tool wants in headers", () => {
  const { headers } = learn(
    tool({
      region: header("Region"),
      count: header("Count", "integer"),
      dry: header("Dry", "boolean"),
      plain: { type: "string" },
      where: { type: "object", properties: { city: header("City") } },
    }),
  );

  test.each<[Record<string, unknown>, Record<string, string>]>([
    [
      { region: "eu", count: 3, dry: false, plain: "x" },
      { "Mcp-Param-Region": "eu", "Mcp-Param-Count": "3", "Mcp-Param-Dry": "false" },
    ],
    [{ where: { city: "Bern" } }, { "Mcp-Param-City": "Bern" }],
    [{ region: null, where: null }, {}],
    [{ region: { a: 1 }, count: Number.NaN, where: [1] }, {}],
    [{ count: 2 ** 60 }, {}],
    [{ region: "" }, { "Mcp-Param-Region": "=?base64??=" }],
    [{ region: "Zürich" }, { "Mcp-Param-Region": "=?base64?WsO8cmljaA==?=" }],
    [{ region: " a" }, { "Mcp-Param-Region": "=?base64?IGE=?=" }],
    [{ region: "a\r\nX: y" }, { "Mcp-Param-Region": "=?base64?YQ0KWDogeQ==?=" }],
    [{ region: "=?base64?YQ==?=" }, { "Mcp-Param-Region": "=?base64?PT9iYXNlNjQ/WVE9PT89?=" }],
  ])("%j", (args, expected) => {
    expect(headers.of("t", args)).toEqual(expected);
  });

  test("are none of another tool", () => {
    expect(headers.of("other", { region: "eu" })).toEqual({});
  });
});

test.each<[string, object]>([
  ["no text", tool({ a: header(1) })],
  ["an empty name", tool({ a: header("") })],
  ["a name with a space", tool({ a: header("a b") })],
  ["a name that is not ASCII", tool({ a: header("ä") })],
  ["a number", tool({ a: header("A", "number") })],
  ["an object", tool({ a: header("A", "object") })],
  ["no type", tool({ a: { "x-mcp-header": "A" } })],
  ["two of one name", tool({ a: header("A"), b: header("a") })],
  ["the root", tool({}, { "x-mcp-header": "A" })],
  ["an item of a list", tool({ a: { type: "array", items: header("A") } })],
  ["a branch", tool({}, { anyOf: [{ properties: { a: header("A") } }] })],
  ["a definition", tool({}, { $defs: { a: header("A") } })],
  [
    "more levels than a schema has",
    tool(JSON.parse(`${'{"properties":{"a":'.repeat(300)}1${"}}".repeat(300)}`)),
  ],
])("leaves out a tool that declares %s", (_case, declared) => {
  const { kept, refused } = learn(declared, { name: "other", inputSchema: {} });

  expect(kept).toEqual([{ name: "other", inputSchema: {} }]);
  expect(refused).toEqual(["t"]);
});

test("takes a value that only looks like a declaration for what it is", () => {
  const { refused } = learn(tool({ a: { type: "object", default: header("no name"), enum: [header(1)] } }));

  expect(refused).toEqual([]);
});

test("a server that names its tools anew each time is not remembered without end", () => {
  const headers = new ParamHeaders();
  const named = (index: number) => ({ ...tool({ region: header("Region") }), name: `t${index}` });
  for (let index = 0; index <= 10_000; index++) headers.learn([named(index)], () => undefined);
  expect(headers.of("t0", { region: "eu" })).toEqual({});
  expect(headers.of("t1", { region: "eu" })).toEqual({ "Mcp-Param-Region": "eu" });
  headers.learn([{ ...tool({}), name: "t1" }], () => undefined);
  expect(headers.of("t1", { region: "eu" })).toEqual({});
});
