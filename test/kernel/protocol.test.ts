import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseLine, renderLine } from "../../src/kernel/protocol.ts";

interface Row {
  readonly dir: "in" | "out";
  readonly valid: boolean;
  readonly line: string;
  readonly why?: string;
}

const rows: Row[] = readFileSync(join(import.meta.dir, "../contract/frames.jsonl"), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));

const bytes = (text: string) => new TextEncoder().encode(text);

describe("the shared contract", () => {
  const outgoing = rows.filter((row) => row.dir === "out");

  test("has frames of both kinds", () => {
    expect([outgoing.some((row) => row.valid), outgoing.some((row) => !row.valid)]).toEqual([true, true]);
  });

  test.each(
    outgoing.map((row) => [row.valid ? "accepts" : "rejects", row.why ?? "", row.line, row] as const),
  )("%s %s %s", (_verb, _why, line, row) => {
    expect("line" in parseLine(bytes(line))).toBe(row.valid);
  });
});

describe("parseLine", () => {
  test.each([
    ["no JSON", "hello"],
    ["nothing", ""],
    ["a number", "1"],
    ["an object", '{"type":"hello"}'],
    ["an array of three", '["s",{"type":"ready","generation":1},{"type":"ready","generation":1}]'],
    ["a kernel frame said by the supervisor", '["s",{"type":"rpc","id":1,"method":"servers","params":{}}]'],
    ["a supervisor frame said by the kernel", '["k",{"type":"stream","name":"stdout","data":"x"}]'],
    ["an unknown speaker", '["x",{"type":"ready","generation":1}]'],
    ["an unknown type", '["s",{"type":"shutdown"}]'],
    ["a fractional id", '["k",{"type":"rpc","id":1.5,"method":"servers","params":{}}]'],
    ["a negative id", '["k",{"type":"rpc","id":-1,"method":"servers","params":{}}]'],
    ["a stream of something else than text", '["s",{"type":"stream","name":"stdout","data":[1]}]'],
  ])("rejects %s", (_title, line) => {
    expect(parseLine(bytes(line))).toHaveProperty("invalid");
  });

  test("rejects invalid UTF-8 instead of guessing", () => {
    expect(parseLine(Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d))).toEqual({ invalid: "not JSON in UTF-8" });
  });

  test("does not read what would fill the memory, and knows which request to refuse", () => {
    const wide = (params: string) =>
      parseLine(bytes(`["k",{"type":"rpc","id":7,"method":"call_tool","params":${params}}]`));
    expect(wide(`{"a":[${"{},".repeat(1_000_000)}0]}`)).toMatchObject({
      line: [
        "k",
        { type: "rpc", id: 7, method: "call_tool", params: {}, fault: expect.stringMatching(/more values/) },
      ],
    });
    const few = wide(`{"a":[${"{},".repeat(100)}0],"fault":"mine"}`);
    expect(few).toMatchObject({ line: ["k", { id: 7, params: { fault: "mine" } }] });
    expect("cost" in few ? few.cost : 0).toBeGreaterThan(15_000);
    expect(parseLine(bytes(`["k",{"type":"done","id":7,"x":[${"{},".repeat(1_000_000)}0]}]`))).toEqual({
      invalid: "a frame of more values than are read",
    });
    expect(
      parseLine(bytes('["k",{"type":"rpc","id":1,"method":"servers","params":{},"fault":"mine"}]')),
    ).toMatchObject({
      line: ["k", { type: "rpc", id: 1, method: "servers", params: {} }],
    });
  });

  test("does not let a key named __proto__ reach a prototype", () => {
    const parsed = parseLine(
      bytes('["k",{"type":"rpc","id":1,"method":"servers","params":{"__proto__":{"polluted":true}}}]'),
    );
    expect(parsed).toHaveProperty("line");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("renderLine", () => {
  test("writes one line, whatever the code contains", () => {
    const code = 'a\nb\r\n\u2028 "x" \\ \u0000 😀';
    const line = renderLine([
      "k",
      { type: "execute", id: 7, code, servers: [], loaded: [], argv: null, filename: null, projects: "" },
    ]);
    expect([line.indexOf("\n"), line.slice(0, 32)]).toEqual([
      line.length - 1,
      '["k",{"type":"execute","id":7,"c',
    ]);
    expect(JSON.parse(line)[1].code).toBe(code);
  });
});
