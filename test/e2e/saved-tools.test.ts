import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { createHome, type TestHome } from "./helpers/home.ts";

const ADD_MANY = (name: string) =>
  `for n in range(50): update_memory('log', lambda v: [*(v or []), ('${name}', n)])\n'done'`;
// Small stacks: where rlimits stand in for the engine's limit, address space counts as memory.
const THREADS = `import threading
threading.stack_size(256 * 1024)
def add(n): update_memory('threads', lambda v: [*(v or []), n])
threads = [threading.Thread(target=add, args=(n,)) for n in range(50)]
for t in threads: t.start()
for t in threads: t.join()
sorted(load_memory('threads')) == list(range(50))`;

let home: TestHome;
let bridge: Bridge;
beforeAll(async () => {
  home = createHome();
  bridge = await startBridge({ home });
  await bridge.python("None"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

const kept = (...parts: string[]) => join(home.path, "MCPs/user_tools", ...parts);

describe("memories", () => {
  test("are there after the bridge and its container are gone, with their types", async () => {
    const value = `{"v": [1, 2.0, None, True, "ü"], "3": {}, "n": 7 ** 3000}`;
    expect((await bridge.python(`save_memory("a", ${value})\nsave_memory("b", "x")`)).text).toStartWith(
      "memory 'b' saved",
    );
    await using next = await startBridge({ home, cwd: "/" });
    await next.python("None");
    expect((await next.python(`repr(load_memory("a")) == repr(${value})`)).text).toBe("True");
    expect((await next.python("[m.key for m in list_memories()]")).text).toBe("['a', 'b']");
    expect(readFileSync(kept("memory/b.json"), "utf8")).toContain('"x"');
  });

  test.each([
    ["{1, 2}", 'value["x"] is a set'],
    ["b'1'", 'value["x"] is a bytes'],
    ["float('nan')", 'value["x"] is nan'],
    ["{3: 1}", 'value["x"] has the int 3 as a key'],
  ])("are refused where they are no JSON: %s", async (value, part) => {
    const { text, isError } = await bridge.python(`save_memory("bad", {"x": ${value}})`);
    expect([isError, text]).toEqual([true, expect.stringContaining(part)]);
    expect(existsSync(kept("memory/bad.json"))).toBe(false);
  });

  test("lose no update of two bridges, nor of 50 threads", async () => {
    await using other = await startBridge({ home });
    await Promise.all([bridge.python(ADD_MANY("a")), other.python(ADD_MANY("b"))]);
    expect((await other.python("len(load_memory('log')), len({*map(tuple, load_memory('log'))})")).text).toBe(
      "(100, 100)",
    );
    expect((await bridge.python(THREADS)).text).toBe("True");
  });

  test("can be awaited, and an update that raises changes nothing", async () => {
    const code = `await save_memory("n", [1])
async def grow(v): return v + [2]
await update_memory("n", grow)
try: update_memory("n", lambda v: 1 / 0)
except ZeroDivisionError: pass
await load_memory("n"), await update_memory("n", lambda v: v + [3])`;
    expect((await bridge.python(code)).text).toBe("([1, 2], [1, 2, 3])");
  });

  test.each([
    ["update_memory('n', lambda v: v.append(4))", "the function returned None"],
    ["update_memory('n', lambda v: update_memory('n', len))", "return the new value from there"],
    ["memory.save('a', 1)", "save_memory(key, value)"],
    ["save_memory({'a': 1}, 'a')", "save_memory('a', value)"],
    ["save_memory('', 1)", "must not be empty"],
  ])("say what to write in place of %s", async (code, part) => {
    const { text, isError } = await bridge.python(code);
    expect([isError, text]).toEqual([true, expect.stringContaining(part)]);
  });

  test("never leave their folder", async () => {
    const keys = `["../x", "..", "/etc/passwd", "a/b", "a_b", "A", "a", "é", "e\\u0301", "con", "a\\0b", ".tmp", "x" * 300, "%2e%2e"]`;
    const code = `keys = ${keys}
for k in keys: save_memory(k, {"k": k})
[k for k in keys if load_memory(k) != {"k": k}], len({m.key for m in list_memories()} & {*keys}) == len(keys)`;
    expect((await bridge.python(code)).text).toBe("([], True)");
    expect(existsSync(join(home.path, "MCPs/x.json"))).toBe(false);
  });
});

describe("saved tools", () => {
  const TOOL = `import re, math as m
WORD = re.compile(r"\\w+")
LIMIT = 2
def _words(text):
    return WORD.findall(text)[:LIMIT]
def first_words(text: str) -> list:
    """Finds the first words of a text."""
    return [*_words(text), m.floor(2.5)]
`;

  test("are kept with what they need, and are there in the next session", async () => {
    const { text } = await bridge.python(`${TOOL}save_tool(first_words)`);
    expect(text).toContain("tool 'first_words' saved, with");
    expect(readFileSync(kept("user_tools.py"), "utf8")).toContain("import math as m");
    await using next = await startBridge({ home });
    await next.python("None");
    expect((await next.python("first_words('a b c')")).text).toBe("['a', 'b', 2]");
    expect((await next.python("from user_tools import first_words as f\nf('x')")).text).toBe("['x', 2]");
    const found = await next.python("await runtime.search_tool_docs('first words of text')");
    expect(found.text).toContain("first_words(text: str) -> list  # Finds the first words of a text");
    expect((await next.python("runtime.list_saved_tools()")).text).toContain(
      "first_words(text: str) -> list",
    );
  });

  test("reach sessions that are live with their next call", async () => {
    await using live = await startBridge({ home });
    await live.python("None");
    await bridge.python("def fresh(): return 'one'\nsave_tool(fresh)");
    expect((await live.python("fresh()")).text).toBe("'one'");
    await bridge.python("def fresh(): return 'two'\nsave_tool(fresh)");
    expect((await live.python("fresh()")).text).toBe("'two'");
    await live.python("runtime.delete_saved_tool('fresh')");
    expect((await bridge.python("[t.tool for t in runtime.list_saved_tools()]")).text).toBe(
      "['first_words']",
    );
  });

  test.each([
    ["syntax", "def broken(:\n", "line 1: SyntaxError"],
    ["raises", "import json\n1 / 0\n", "line 2: ZeroDivisionError"],
    ["loops", "while True: pass\n", "did not end within 2 s"],
    ["exits", "import os; os._exit(7)\n", "it ends Python"],
  ])("KEP-3: break no session with a file that %s", async (_name, source, part) => {
    using other = createHome();
    other.write("MCPs/user_tools/user_tools.py", source);
    await using next = await startBridge({ home: other });
    const { text, isError } = await next.python("print('runs')");
    expect([isError, text]).toEqual([false, expect.stringContaining("runs")]);
    expect(text).toContain("the saved tools can not be used");
    expect(text).toContain(part);
    expect((await next.python("1 + 1")).text).toBe("2");
  });
});
