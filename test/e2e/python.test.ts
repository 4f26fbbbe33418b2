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
});

describe("the timeout", () => {
  test.each([
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
