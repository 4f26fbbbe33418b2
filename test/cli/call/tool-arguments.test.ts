import { describe, expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import { readToolArguments } from "../../../src/cli/call/tool-arguments.ts";
import type { ToolSummary } from "../../../src/kernel/host-tools.ts";

const TOOL: ToolSummary = {
  name: "t",
  alias: "t",
  description: "",
  inputSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      text: { type: "string" },
      count: { type: "integer" },
      rate: { type: "number" },
      flag: { type: "boolean" },
      list: { type: "array" },
      object: { type: "object" },
      maybe: { anyOf: [{ type: "string" }, { type: "null" }] },
      either: { type: ["string", "integer"] },
      open: {},
      vague: { anyOf: [{ $ref: "#/x" }, { type: "null" }] },
    },
  },
};

async function read(words: readonly string[], stdin = "", tool: ToolSummary | undefined = TOOL) {
  const stream = new PassThrough();
  stream.end(stdin);
  const given = await readToolArguments(words, stream);
  return JSON.stringify(typeof given === "function" ? given(tool) : given);
}

describe("the arguments of a tool", () => {
  test.each<[readonly string[], string]>([
    [[], "{}"],
    [['{"a": [1, null]}'], '{"a":[1,null]}'],
    [[' {"a": "b=c"}'], '{"a":"b=c"}'],
    [['{"id": 12345678901234567890}'], '{"id":12345678901234567890}'],
    [["text=5"], '{"text":"5"}'],
    [["text="], '{"text":""}'],
    [["text=a=b:=c"], '{"text":"a=b:=c"}'],
    [["text=two\nlines"], '{"text":"two\\nlines"}'],
    [["count=5", "rate=0.5", "flag=true"], '{"count":5,"rate":0.5,"flag":true}'],
    [["count=12345678901234567890"], '{"count":12345678901234567890}'],
    [['list=["a"]', 'object={"k":null}'], '{"list":["a"],"object":{"k":null}}'],
    [["maybe=null"], '{"maybe":null}'],
    [["maybe=5"], '{"maybe":"5"}'],
    [["either=5"], '{"either":5}'],
    [["either=five"], '{"either":"five"}'],
    [["open=5", "vague=x"], '{"open":"5","vague":"x"}'],
    [["open:=5", "text:=null"], '{"open":5,"text":null}'],
  ])("%p are %s", async (words, json) => {
    expect(await read(words)).toBe(json);
  });

  test("come from stdin", async () => {
    expect(await read(["-"], '{"a": 1}\n')).toBe('{"a":1}');
  });

  test("of a tool that takes anything are text, with any name", async () => {
    const open = { ...TOOL, inputSchema: { type: "object" } };
    expect(await read(["a.b-c=5", "__proto__=x", "a:b=1"], "", open)).toBe(
      '{"a.b-c":"5","__proto__":"x","a:b":"1"}',
    );
  });

  test.each<[readonly string[], string, string | undefined]>([
    [["nope"], 'ARGUMENT "nope" is not JSON', "Give one JSON object"],
    [["[1]"], 'ARGUMENT "[1]" is no JSON object', "Give one JSON object"],
    [["5"], 'ARGUMENT "5" is no JSON object', undefined],
    [["-"], "what stdin holds is not JSON", undefined],
    [["@/no/such"], '"/no/such" cannot be read (ENOENT)', undefined],
    [["a=1", "nope"], 'ARGUMENT "nope" has no "="', "Give one JSON object"],
    [["text=1", "text=2"], 'argument "text" is given twice', "A list is JSON"],
    [["count=x"], 'argument "count" is "x": expected integer', undefined],
    [["count=0.5"], 'argument "count" is "0.5": expected integer', undefined],
    [["flag=yes"], 'argument "flag" is "yes": expected boolean', undefined],
    [["text:=x"], 'argument "text" is "x": expected JSON after ":="', "Text is given as NAME=TEXT."],
    [["txet=x"], 'tool "t" takes no argument "txet"', 'Did you mean "text"?'],
    [["zzz=x"], 'tool "t" takes no argument "zzz"', "It takes: text, count"],
  ])("%p are refused", async (words, message, hint) => {
    const error = (await read(words).catch((thrown: unknown) => thrown)) as Error & { hint?: string };
    expect(error).toMatchObject({ code: "USAGE", message });
    if (hint !== undefined) expect(error.hint).toStartWith(hint);
  });
});
