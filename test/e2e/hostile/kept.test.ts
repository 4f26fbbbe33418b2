/** Code that makes the bridge hold more than it may, by requests that it forges. */
import { afterAll, beforeAll, test } from "bun:test";
import { startTarget, type Target } from "../helpers/attack.ts";
import { FORGERY } from "../helpers/forgery.ts";

let target: Target;
beforeAll(async () => {
  target = await startTarget();
  await target.bridge.python(
    "save_memory('large', 'x' * 8_000_000)\nwith open('/projects/large', 'wb') as file: file.write(b'x' * 8_000_000)",
  );
});
afterAll(async () => {
  await target[Symbol.asyncDispose]();
});

const REQUESTS = {
  "a memory": ["memory_load", "key='large'"],
  "a file": ["project_read", "path='large', offset=0"],
};

test.each(Object.entries(REQUESTS))(
  "EXH-14: asking for %s 300 times without reading the answers costs the bridge no more than asking once",
  async (_title, [method = "", params = ""]) => {
    await target.attack({
      code: `${FORGERY}
forge(*({"type": "rpc", "id": 10**6 + n, "method": "${method}", "params": dict(${params})} for n in range(300)))
import itertools
sum(itertools.repeat(0))`,
      timeout: 5,
      state: "lost",
      next: /./,
    });
  },
);

test.each([
  ["empty objects", "'{},' * 10_000_000"],
  ["empty lists", "'[],' * 10_000_000"],
  ["a number of many digits, and lists", "'1e999,' + '[],' * 10_000_000"],
  ["names that are all different", "''.join('{\"%x\":0},' % n for n in range(600_000))"],
  ["a few of those, many times", "''.join('{\"%x\":0},' % n for n in range(100_000))"],
])("EXH-14: a request of %s is refused before it takes a hundred times its size", async (_title, values) => {
  await target.attack({
    code: `${FORGERY}
head = '{"type":"rpc","id":%d,"method":"call_tool","params":{"server":"none","tool":"none","timeout":null,"arguments":{"a":['
line = ${values} + '0]}}}'
for n in range(4): forge(head % (10**6 + n) + line)
try: await mcp_tool
except NameError: print('still here')`,
    timeout: 30,
    says: "still here\n",
    state: "either",
    next: /./,
  });
});

test("a memory of a million empty lists is refused, and the old one stays", async () => {
  await using roomy = await startTarget({ MCP_BRIDGE_MEMORY: "1g" }); // Python needs most of that to put it into words
  await roomy.attack({
    code: `
save_memory('wide', 1)
try: save_memory('wide', [[]] * 1_150_000)
except runtime.MemoryStoreError as error: print(error)
print(load_memory('wide'))`,
    timeout: 30,
    says: /^the value of "wide" has more parts than one memory may have.*\n1\n$/,
    state: "kept",
  });
});
