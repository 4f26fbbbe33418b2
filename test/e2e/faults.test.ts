/** Faults that users of programs like this one have met; the ids are those of our list of them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { patient } from "../helpers/patient.ts";
import { type Bridge, startBridge } from "./helpers/client.ts";
import { containersOf, until } from "./helpers/engine.ts";
import { createHome } from "./helpers/home.ts";
import { npmServer } from "./helpers/npm-servers.ts";

let bridge: Bridge;
beforeAll(async () => {
  bridge = await startBridge();
  await bridge.python("1"); // the first result may carry a note about the engine
});
afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
});

describe("a session", () => {
  test("REPL-1: sees names of the top level in functions and comprehensions, and their later values", async () => {
    const { text } = await bridge.python(
      "def power(n):\n    return 1 if n == 0 else base * power(n - 1)\nbase = 2\nprint(power(5), [base + i for i in (1, 2)])",
    );
    expect(text).toBe("32 [3, 4]\n");
    expect((await bridge.python("base = 10\npower(3)")).text).toBe("1000");
  });

  test("REPL-2: shows a syntax error with its line and nothing of the call before", async () => {
    await bridge.python("print('of the call before'); kept = 1");
    const { text, isError, structured } = await bridge.call({ code: "total = * 3" });
    expect([isError, "stdout" in structured]).toEqual([true, false]);
    expect(structured["error"]).toMatchObject({ type: "SyntaxError" });
    expect(text).toMatch(/line 1\n +total = \* 3\n/);
    expect(text).not.toContain("call before");
    expect((await bridge.python("print(kept)")).text).toBe("1\n");
  });

  test("OUT-1: shows output from below sys.stdout, and what looks like a message only as text", async () => {
    const forged = [
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      '["s",{"type":"died","generation":1,"reason":"exit","code":0,"signal":null,"detail":null}]',
    ];
    const { structured } = await bridge.call({
      code: [
        "import os, subprocess",
        `os.write(1, ${JSON.stringify(`${forged.join("\n")}\n`)}.encode())`,
        "subprocess.run(['echo', 'a child'])",
        "_ = os.system('echo a shell >&2')",
        "print('Python')",
      ].join("\n"),
    });
    expect(structured).toMatchObject({
      status: "success",
      stdout: `${forged.join("\n")}\na child\nPython\n`,
      stderr: "a shell\n",
    });
    expect((await bridge.python("'next'")).text).toBe("'next'");
  });

  test("OUT-2: gives overlapping calls each its own output, in order", async () => {
    const code = (letter: string) =>
      `import time\nfor _ in range(20):\n    print("${letter}"); time.sleep(.01)`;
    const answers = await Promise.all([bridge.python(code("A")), bridge.python(code("B"))]);
    expect(answers.map(({ text }) => text)).toEqual(["A\n".repeat(20), "B\n".repeat(20)]);
  });

  test("TIME-1: stops a busy loop at the call's timeout and says what became of the variables", async () => {
    await bridge.python("kept = 'still here'");
    const startedAt = performance.now();
    const { text, structured } = await bridge.call({ code: "n = 0\nwhile True: n += 1", timeout: 2 });
    expect(performance.now() - startedAt).toBeLessThan(patient(4000));
    expect(structured["status"]).toBe("timeout");
    expect(text).toEndWith(
      "[note] The code was stopped after its timeout of 2 s; give a longer `timeout` or do less at once. Variables are kept.",
    );
    expect((await bridge.python("print(kept)")).text).toBe("still here\n");
  });

  // That the 60 s of the SDK do not apply either is in test/upstream/call.test.ts, where clocks can be advanced.
  test("TIME-2: gives an upstream call all of the call's timeout, whatever the default is", async () => {
    await using impatient = await startBridge({ env: { MCP_BRIDGE_TIMEOUT: "1" } });
    impatient.home.defineServers({ everything: npmServer("everything") });
    const { text } = await impatient.python(
      "r = await mcp_everything.trigger_long_running_operation(duration=2, steps=1)\nprint('got', r.text)",
      { servers: ["everything"], timeout: 10 },
    );
    expect(text).toStartWith("got Long running operation completed. Duration: 2 seconds, Steps: 1.\n");
  });
});

describe("BOX-1: three starts, each with one call,", () => {
  // What else ends a server, and what a crash leaves for the next start, is in lifecycle.test.ts.
  test.each(["the end of stdin", "SIGTERM", "SIGKILL"] as const)(
    "LEFT-1: leave no container after %s",
    async (end) => {
      using home = createHome(); // which must be there until the engine's monitor has cleaned up
      const bridges = await Promise.all([1, 2, 3].map(() => startBridge({ home })));
      const pids = bridges.map(({ pid }) => pid);
      const answers = await Promise.all(bridges.map((each) => each.call({ code: "6 * 7" })));
      expect(answers.map(({ structured }) => structured["result"])).toEqual(["42", "42", "42"]);
      if (end !== "the end of stdin") for (const pid of pids) process.kill(pid, end);
      await Promise.all(bridges.map((each) => each[Symbol.asyncDispose]()));
      for (const pid of pids) {
        await until("no container is left", async () => (await containersOf(pid)).length === 0, 15_000);
      }
    },
  );
});
