/** Tools as Python functions, through the binary; the ids are those of our list of faults that others have met. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { memoryServer } from "./helpers/npm-servers.ts";

const SERVER = join(import.meta.dir, "../fixtures/servers/catalogue-server.py");

const text = (...texts: string[]) => texts.map((each) => ({ type: "text", text: each }));
const object = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});
const open = { type: "object" };
const TOOLS = [
  { name: "q", inputSchema: object({ from: {}, class: {}, "cik-A": {}, self: {} }) },
  ...["send-email", "auth.who-am-i", "2fa check", "import", "naïve/put"].map((name) => ({
    name,
    inputSchema: open,
  })),
  {
    name: "nulls",
    inputSchema: object(
      {
        q: { type: "string" },
        after: { type: "string" },
        tag: { anyOf: [{ type: "string" }, { type: "null" }] },
        opt: { type: "object" },
      },
      ["q"],
    ),
  },
  { name: "fails", inputSchema: open, result: { isError: true, content: text("no such repo") } },
  { name: "fails_mutely", inputSchema: open, result: { isError: true, content: [] } },
  { name: "rows", inputSchema: open, result: { content: text("r1", "r2", "r3") } },
  { name: "json", inputSchema: open, result: { content: text('{"id": 12345678901234567890, "of": ["a"]}') } },
];

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge();
  const file = join(bridge.home.path, "tools.json");
  await Bun.write(file, JSON.stringify(TOOLS));
  bridge.home.defineServers({
    "fx-1": { command: "python3", args: [SERVER, file] },
    memory: memoryServer(bridge.home),
  });
  await bridge.python("1"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

describe("a tool", () => {
  test.each([
    ["SCHEMA-1: original names", "q(**{'from': 'a', 'cik-A': 1})", { from: "a", "cik-A": 1 }],
    ["SCHEMA-1: names for Python", "q(from_='b', class_='c', self=1)", { from: "b", class: "c", self: 1 }],
    [
      "SCHEMA-3",
      "nulls(q='x', after=None, tag=None, opt={'k': None})",
      { q: "x", tag: null, opt: { k: null } },
    ],
  ])("receives exactly what was meant: %s", async (_title, call, received) => {
    const { text: shown } = await bridge.python(`print((await mcp_fx_1.${call}).text)`);
    expect(JSON.parse(shown).arguments).toEqual(received);
  });

  test("SCHEMA-2: is called by the name that the documentation shows, and by its own", async () => {
    const { text: shown } = await bridge.python(`
import json
docs = await runtime.query_tool_docs('fx-1')
called = []
for doc in docs:
    if doc['tool'][:5] in ('fails', 'nulls', 'rows', 'json'): continue
    path = repr(doc)[len('await '):].partition('(')[0]
    for tool in (eval(path), mcp_servers['fx-1'][doc['tool']]):
        called.append((await tool()).data['tool'] == doc['tool'])
    called.append((await runtime.call_tool('fx-1', doc['tool'])).data['tool'] == doc['tool'])
print(len(called), all(called))`);
    expect(shown).toBe("18 True\n");
  });

  test.each([
    ["RES-1: with its text", "fails", "no such repo"],
    ["RES-1: without a text", "fails_mutely", "without a text"],
  ])("raises its error %s", async (_title, tool, message) => {
    const { text: shown, isError } = await bridge.python(
      `r = await mcp_fx_1.${tool}(q='z')\nprint('went on')`,
    );
    expect(isError).toBe(true);
    expect(shown).toContain(`mcp.runtime.MCPError: fx-1.${tool}: `);
    expect(shown).toContain(message);
    expect(shown).not.toContain("went on\n");
  });

  test("RES-2: gives all blocks of its text, in order", async () => {
    const { text: shown } = await bridge.python(
      "r = await mcp_fx_1.rows()\nprint(r)\n[b.text for b in r.content]",
    );
    expect(shown).toBe("r1\nr2\nr3\n['r1', 'r2', 'r3']");
  });

  test("gives JSON text as data, with all digits, also to who takes the result for it", async () => {
    const { text: shown } = await bridge.python(
      "r = await mcp_fx_1.json()\nr.data['id'], r['id'], r['of'][0]",
    );
    expect(shown).toBe("(12345678901234567890, 12345678901234567890, 'a')");
  });

  test.each([
    [
      "mcp_fx_1.nulls()",
      "fx-1.nulls() is missing 'q'. The tool is: nulls(q: str, after: str = ..., tag: str | None = ..., opt: dict = ...)",
    ],
    ["await mcp_fx_1.nulls(q='x', aftr=1)", "got an unexpected argument 'aftr'; did you mean 'after'?"],
    ["await mcp_fx_1.send_emial()", "no tool is called 'send_emial'. Did you mean 'send_email'?"],
    ["await mcp_memory.rows()", "it is a tool of another server: await mcp_fx_1.rows()"],
    ["await mcp_fx_2.rows()", "did you mean `mcp_fx_1`?"],
    ["await mcp_servers['fx1x'].rows()", "Did you mean 'fx-1'?"],
  ])("is not called by %s, which says what to write", async (code, message) => {
    const { text: shown, isError } = await bridge.python(code);
    expect(isError).toBe(true);
    expect(shown).toContain(message);
  });

  test.each([
    "import mcp.servers.fx_1 as fx; print((await fx.rows()).text[:2])",
    "from mcp.servers.fx_1 import *; print((await rows()).text[:2])",
    "from mcp import fx_1; print((await fx_1.rows()).text[:2])",
    "print((await mcp.fx_1.rows()).text[:2])",
    "import mcp_fx_1; print(mcp_fx_1.rows().result().text[:2])",
    "print((await mcp_fx_1.Rows()).text[:2])",
  ])("is reached by %s", async (code) => {
    expect((await bridge.python(code)).text).toBe("r1\n");
  });
});
