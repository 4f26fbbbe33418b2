import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Bridge, startBridge } from "./helpers/client.ts";

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge();
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

describe("a session", () => {
  test("keeps variables, imports and functions between calls", async () => {
    await bridge.python("import math\nbase = 3\ndef fact(n):\n    return 1 if n < 2 else n * fact(n - 1)");
    expect(await bridge.python("[fact(5), math.pi > base, [base * i for i in (1, 2)]]")).toEqual({
      text: "[120, True, [3, 6]]",
      isError: false,
    });
  });

  test("runs top-level await, and asyncio.run in a cell without one", async () => {
    expect((await bridge.python("import asyncio\nawait asyncio.sleep(0, 'slept')")).text).toBe("'slept'");
    expect((await bridge.python("asyncio.run(asyncio.sleep(0, 'ran'))")).text).toBe("'ran'");
  });

  test("keeps background tasks going between calls and marks what they print", async () => {
    await bridge.python(
      "async def later():\n    for n in range(200):\n        await asyncio.sleep(0.01)\n        print('tick', n)\n" +
        "task = asyncio.create_task(later()); await asyncio.sleep(0)",
    );
    const { text } = await bridge.python("await task\nprint('done')");
    expect(text).toContain("tick 199");
    expect(text).toContain("done");
  });

  test("shows a traceback with the user's line and none of ours", async () => {
    const { text, isError } = await bridge.python("def half(n):\n    return n / 0\n\nhalf(4)");
    expect(isError).toBe(true);
    expect(text).toContain("return n / 0");
    expect(text).toContain("ZeroDivisionError: division by zero");
    expect(text).not.toContain("<sandpy>");
  });

  test("shows a syntax error with its line, and nothing of the call before", async () => {
    await bridge.python("print('first-call'); kept = 1");
    const { text, isError } = await bridge.python("y = = 2");
    expect([
      isError,
      text.includes("SyntaxError"),
      text.includes("y = = 2"),
      text.includes("first-call"),
    ]).toEqual([true, true, true, false]);
    expect((await bridge.python("print(kept)")).text).toBe("1\n");
  });

  test("sees output below sys.stdout, and a forged frame only as text", async () => {
    const forged =
      '["s",{"type":"died","generation":1,"reason":"exit","code":0,"signal":null,"detail":null}]';
    const child = (stream: string) =>
      `subprocess.run([sys.executable, '-c', 'import sys; print("child", file=sys.${stream})'])`;
    const { text } = await bridge.python(
      [
        "import os, subprocess, sys",
        `os.write(1, ${JSON.stringify(`${forged}\n`)}.encode())`,
        child("stdout"),
        child("stderr"),
        "print('py')",
      ].join("\n"),
    );
    expect(text).toBe(`${forged}\nchild\npy\n[stderr]\nchild\n`);
    expect((await bridge.python("'next'")).text).toBe("'next'");
  });

  test("ends the cell, not the session, on sys.exit", async () => {
    await bridge.python("before = 1");
    const { isError, text } = await bridge.python("import sys\nprint('bye')\nsys.exit(3)");
    expect([text.includes("bye"), text.includes("3"), isError]).toEqual([true, true, true]);
    expect((await bridge.python("before")).text).toBe("1");
  });

  test("queues two calls that overlap, each with its own output", async () => {
    const code = (letter: string) =>
      `import time\nfor _ in range(20):\n    print("${letter}"); time.sleep(.01)`;
    const [a, b] = await Promise.all([bridge.python(code("A")), bridge.python(code("B"))]);
    expect([a.text, b.text]).toEqual(["A\n".repeat(20), "B\n".repeat(20)]);
  });

  test("streams output to a client that asked for progress", async () => {
    const messages: string[] = [];
    const answer = await bridge.call(
      { code: "import time\nfor n in range(5):\n    print('step', n)\n    time.sleep(0.15)" },
      { onProgress: (message) => messages.push(message) },
    );
    expect(messages.length).toBeGreaterThan(1);
    expect(messages.join("")).toContain("step 0");
    expect(answer.text).toBe("step 0\nstep 1\nstep 2\nstep 3\nstep 4\n");
  });

  test("keeps head and tail of a flood of output and goes on", async () => {
    const { text } = await bridge.python(
      "print('head')\nfor _ in range(3000):\n    print('x' * 10_000)\nprint('tail')",
    );
    expect([text.startsWith("head\n"), text.endsWith("tail\n"), text.length < 70_000]).toEqual([
      true,
      true,
      true,
    ]);
    expect(text).toMatch(/\d+ characters left out/);
    expect((await bridge.python("1 + 1")).text).toBe("2");
  });
});

describe("the timeout", () => {
  test.each([
    ["a busy loop", "n = 0\nwhile True: n += 1"],
    ["a blocking call", "import time\ntime.sleep(60)"],
    ["an await", "import asyncio\nawait asyncio.sleep(60)"],
  ])("interrupts %s and keeps the state", async (_title, code) => {
    await bridge.python("kept = 'still here'");
    const { text, isError } = await bridge.python(code, { timeout: 1 });
    expect([isError, text.includes("timeout of 1 s"), text.includes("Variables are kept")]).toEqual([
      true,
      true,
      true,
    ]);
    expect((await bridge.python("kept")).text).toBe("'still here'");
  });

  test("restarts Python where an interrupt does not reach it, and says that the state is gone", async () => {
    await bridge.python("kept = 1");
    const spin = "import itertools\nsum(itertools.repeat(0))"; // one endless call in C
    const { text, isError } = await bridge.python(spin, { timeout: 1 });
    expect([isError, text.includes("are gone")]).toEqual([true, true]);
    expect((await bridge.python("'kept' in globals()")).text).toBe("False");
  });

  test("ends a call that the client cancels, and the session goes on", async () => {
    const abort = new AbortController();
    const call = bridge.call(
      { code: "import time\nprint('started', flush=True)\ntime.sleep(60)" },
      {
        signal: abort.signal,
        onProgress: () => abort.abort(),
      },
    );
    expect(
      await call.then(
        () => "answered",
        () => "cancelled",
      ),
    ).toBe("cancelled");
    expect((await bridge.python("'alive'")).text).toBe("'alive'");
  });
});

describe("a Python that dies", () => {
  test.each([
    ["crashes", "import ctypes\nctypes.string_at(0)", "SIGSEGV"],
    ["leaves", "import os\nos._exit(7)", "exit code 7"],
  ])("is replaced when it %s, and the result says so", async (_title, code, reason) => {
    await bridge.python("kept = 1");
    const { text, isError } = await bridge.python(`print('last words')\n${code}`);
    expect([isError, text.includes("last words"), text.includes(reason), text.includes("are gone")]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect((await bridge.python("'kept' in globals()")).text).toBe("False");
  });
});
