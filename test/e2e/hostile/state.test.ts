/** Code that wrecks the interpreter it runs in (group D of our attacks). */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Attack, describeAttacks, startTarget, type Target } from "../helpers/attack.ts";

const LATE = "[note] Written since the previous call, by code still running in the background:\nlate\n";

let target: Target;
beforeAll(async () => {
  target = await startTarget();
});
afterAll(async () => {
  await target[Symbol.asyncDispose]();
});

const cases = (title: string, rows: readonly [string, Attack][]) =>
  describeAttacks(title, () => target, rows);

test("STA-1: what a thread prints after its call is marked as late in the next result", async () => {
  const { text } = await target.attack({
    code: "import threading\ngo = threading.Event()\nt = threading.Thread(target=lambda: (go.wait(), print('late')))\nt.start()\nprint('returned')",
    says: "returned\n",
    state: "kept",
  });
  expect(text).not.toContain("late");
  await target.bridge.python(
    "import time\nthreading.Thread(target=lambda: (time.sleep(0.1), go.set())).start()",
  );
  let next = "";
  while (next === "")
    next = String((await target.bridge.call({ code: "None" })).text).replace("(no output)", "");
  // Between two calls, most likely; what comes while the next one runs cannot be told from its own.
  expect([LATE, "late\n"]).toContain(next);
  expect((await target.bridge.python("t.join()\n'own'")).text).toBe("'own'");
});

cases("STA-2: the event loop", [
  [
    "is the same for the next call after tasks that never end",
    {
      code: "import asyncio\nasync def forever():\n    while True:\n        try: await asyncio.sleep(3600)\n        except asyncio.CancelledError: pass\ntask = asyncio.ensure_future(forever())\nawait asyncio.sleep(0)",
      status: "success",
      state: "kept",
    },
  ],
  [
    "goes on after it was stopped",
    { code: "asyncio.get_running_loop().stop()\nawait asyncio.sleep(0, 'on')", says: "'on'", state: "kept" },
  ],
  [
    "is replaced after it was closed",
    { code: "asyncio.get_event_loop().close()", status: "success", state: "kept" },
  ],
  ["awaits again", { code: "await asyncio.sleep(0, 'again')", says: "'again'", state: "kept" }],
]);

cases("STA-5 STA-7: the next call finds whole what this one broke:", [
  [
    "json, asyncio, os, streams and built-ins",
    {
      code: `
import asyncio, builtins, json, os, sys, threading, time
def broken(*args, **more): raise RuntimeError("broken")
json.dumps = json.loads = json.JSONEncoder.encode = broken
asyncio.get_running_loop = asyncio.create_task = asyncio.new_event_loop = broken
sys.stdout.write = sys.stdout.flush = sys.excepthook = sys.displayhook = broken
sys.stdout = sys.stderr = sys.stdin = None
time.time = time.monotonic = time.sleep = os.read = os.write = threading.Thread.start = broken
for name in [m for m in sys.modules if m.startswith(("traceback", "linecache", "encodings", "mcp", "codecs"))]: del sys.modules[name]
sys.path.clear(); sys.meta_path.clear()
for name in ("print", "open", "repr", "str", "len", "compile", "exec", "isinstance", "type"): setattr(builtins, name, broken)`,
      state: "either",
      withinMs: 3000,
    },
  ],
  [
    "all built-ins",
    {
      code: "vars(__builtins__ if not isinstance(__builtins__, dict) else object).clear()",
      state: "either",
      withinMs: 3000,
    },
  ],
  [
    "the recursion limit and the C stack",
    {
      code: "import sys\nsys.setrecursionlimit(2**31 - 1)\nclass Down:\n    def __repr__(self): return repr(self)\nrepr(Down())",
      status: "error",
      state: "either",
      timeout: 10,
    },
  ],
  [
    "its own namespace",
    { code: "kept = globals()['canary']\nglobals().clear()\ncanary = 'alive'", state: "kept" },
  ],
  [
    "exceptions that cannot be shown",
    {
      code: "class Liar(Exception):\n    def __str__(self): raise Liar\n    __repr__ = __str__\nraise Liar",
      says: /Liar/,
      status: "error",
      state: "kept",
    },
  ],
]);

cases("STA-11: source that does not compile is an error with its line:", [
  [
    "a wrong statement",
    { code: "x = 1\ny = = 2", says: /line 2\n +y = = 2\n/, status: "error", state: "kept" },
  ],
  [
    "wrong indentation",
    {
      code: "if 1:\n    x = 1\n  y = 2",
      says: /line 3\n.*IndentationError/s,
      status: "error",
      state: "kept",
    },
  ],
  ["a null byte", { code: "x = 1\0", says: /null byte/, status: "error", state: "kept" }],
  ["half a character", { code: "x = '\ud800'", state: "kept" }],
  [
    "5 MB with a wrong end",
    {
      code: `${`x = "${"1".repeat(992)}"\n`.repeat(5000)}y =`,
      says: /line 5001\n +y =\n/,
      status: "error",
      state: "kept",
    },
  ],
  [
    "brackets without end",
    {
      code: "(".repeat(100_000),
      says: /SyntaxError|MemoryError|RecursionError|restarted/,
      status: "error",
      state: "either",
    },
  ],
]);

cases("STA-12: what a program sets", [
  [
    "is set",
    {
      code: "import os, sys\nos.chdir('/tmp')\nos.umask(0o027)\nos.environ['MARK'] = 'set'\nsys.path.append('/tmp/modules')",
      status: "success",
      state: "kept",
    },
  ],
  [
    "is still set in the next call",
    {
      code: "[os.getcwd(), os.umask(0o027), os.environ['MARK'], sys.path[-1]]",
      says: "['/tmp', 23, 'set', '/tmp/modules']",
      state: "kept",
    },
  ],
]);

cases("STA-14: a value whose repr", [
  [
    "raises is described",
    {
      code: "class V:\n    def __repr__(self): raise ValueError('no')\nV()",
      says: "<V object; its repr failed with ValueError: no>",
      status: "success",
      state: "kept",
    },
  ],
  [
    "is no text is described",
    {
      code: "class V:\n    def __repr__(self): return 5\nV()",
      says: /^<V object; its repr failed with TypeError/,
      status: "success",
      state: "kept",
    },
  ],
  [
    "prints is shown with what it prints",
    {
      code: "class V:\n    def __repr__(self):\n        print('printed')\n        return 'V'\nV()",
      says: "printed\nV",
      state: "kept",
    },
  ],
  [
    "never returns is stopped",
    {
      code: "class V:\n    def __repr__(self):\n        while True: pass\nV()",
      timeout: 1,
      status: "timeout",
      state: "kept",
      withinMs: 4000,
    },
  ],
]);

test("STA-10: fifty calls at once are answered in order, each with its own", async () => {
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      target.bridge.python(`seen = [] if ${n} == 0 else seen + [${n}]\nprint(${n}, len(seen))`),
    ),
  );
  expect(answers.map(({ text }) => text)).toEqual(Array.from({ length: 50 }, (_, n) => `${n} ${n}\n`));
});
