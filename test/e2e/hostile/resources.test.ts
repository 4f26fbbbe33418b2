/** Code that takes all it can get (group B of our attacks). Memory, processes and disk are in isolation.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Attack, cpuSeconds, peakMib, startTarget, type Target } from "../helpers/attack.ts";
import { startBridge } from "../helpers/client.ts";
import { flavour } from "../helpers/engine.ts";

const MAX_MIB = 300e6 / 1024 ** 2;
const FLOOD_BYTES = 256 * 1024 ** 2;

let target: Target;
let peer: Target;
beforeAll(async () => {
  [target, peer] = await Promise.all([startTarget(), startTarget()]);
});
afterAll(async () => {
  await Promise.all([target[Symbol.asyncDispose](), peer[Symbol.asyncDispose]()]);
});

describe("code that takes", () => {
  test.each<[string, Attack]>([
    [
      "EXH-3: as many threads as it gets is refused more, and the next call has one",
      {
        code: `
import threading
gate, made = threading.Event(), []
try:
    for _ in range(2000):
        made.append(threading.Thread(target=gate.wait))
        made[-1].start()
except RuntimeError as error:
    print(error)
gate.set()
for thread in made[:-1]: thread.join()
print(threading.active_count() < 4)`,
        says: "can't start new thread\nTrue\n",
        state: "kept",
      },
    ],
    [
      "EXH-8: every descriptor still gets its answer",
      {
        code: `
import os
held = []
try:
    while True: held.append(os.open(os.devnull, os.O_RDONLY))
except OSError as error:
    print(error.strerror)`,
        says: "Too many open files\n",
        state: "kept",
      },
    ],
    [
      "EXH-8: every descriptor and gives none back until the next call",
      { code: "print(len(held) > 100)\nwhile held: os.close(held.pop())", says: "True\n", state: "kept" },
    ],
  ])("%s", async (_title, attack) => {
    await target.attack(attack);
  });
});

describe("the processor", () => {
  test.each<[string, Attack]>([
    [
      "EXH-4: a blow-up of a regular expression is interrupted",
      {
        code: "import re\nre.match('(x+)+$', 'x' * 60 + '!')",
        timeout: 1,
        status: "timeout",
        state: "kept",
        withinMs: 4000,
      },
    ],
    [
      "EXH-4: one endless call in C is killed, and the variables with it",
      {
        code: "import itertools\nsum(itertools.repeat(0))",
        timeout: 1,
        status: "timeout",
        says: "[note] The code was stopped after its timeout of 1 s; give a longer `timeout` or do less at once. It did not react to an interrupt, so Python was restarted. Variables, imports and functions of this session are gone; define them again.",
        state: "lost",
        withinMs: 4000,
      },
    ],
  ])("%s", async (_title, attack) => {
    await target.attack(attack);
  });
});

describe("a flood", () => {
  test.each([
    ["EXH-9: of stdout", "for _ in range(256): os.write(1, b'o' * 1023 * 1024 + b'\\n' * 1024)", "stdout"],
    [
      "EXH-10: of stderr, from a child",
      `subprocess.run([sys.executable, "-c", "import os\\nfor _ in range(256): os.write(2, b'e' * 1024 * 1024)"])`,
      "stderr",
    ],
    ["EXH-11: of one line", "for _ in range(256): os.write(1, b'l' * 1024 * 1024)", "stdout"],
  ])("%s is cut in the middle; another session goes on meanwhile", async (_title, code, stream) => {
    const [answer, other] = await Promise.all([
      target.attack({
        code: `import os, subprocess, sys\n${code}\nprint('the end')`,
        status: "success",
        state: "kept",
        timeout: 60,
      }),
      answeredWithin(peer, 3000),
    ]);
    expect(other).toBe(true);
    expect(answer.structured["truncated"]).toBe(true);
    expect(answer.text).toContain("the end\n");
    const text = String(answer.structured[stream]);
    expect(text.length).toBeLessThan(70_000);
    const [, left = "", kept = "", written = ""] =
      /(\d+) characters left out; the first (\d+) of (\d+) bytes are in the sandbox/.exec(text) ?? [];
    expect(Number(written)).toBeGreaterThanOrEqual(FLOOD_BYTES);
    expect(Number(written)).toBeLessThanOrEqual(FLOOD_BYTES + "the end\n".length);
    expect(Number(left)).toBeGreaterThan(FLOOD_BYTES - 70_000);
    expect(Number(kept)).toBeGreaterThan(0);
  });

  test("EXH-18: of single bytes costs the bridge little", async () => {
    const before = cpuSeconds(target.bridge.pid);
    const code = "import os\nfor _ in range(1_000_000): os.write(1, b'.')";
    const { structured } = await target.attack({ code, status: "success", state: "kept", timeout: 60 });
    expect(structured["truncated"]).toBe(true);
    expect(cpuSeconds(target.bridge.pid) - before).toBeLessThan(5);
  });
});

describe("EXH-7: empty files without number", () => {
  const code = (folder: string) => `
import os
os.makedirs("${folder}")
for n in range(1_000_000): os.close(os.open(f"${folder}/{n}", os.O_CREAT))`;

  test("in the sandbox are bounded by its memory, or are too many, and the next call has a sandbox", async () => {
    await using small = await startBridge({ env: { MCP_BRIDGE_MEMORY: "128m" } });
    await small.python("canary = 1"); // the first result may carry a note about the engine
    const answer = await small.call({ code: code("/dev/shm/many"), timeout: 60 });
    expect(answer.text).toMatch(/\d+ files in .* hold about \d+ of 128 MiB|more than 200000 files were made/);
    expect(answer.text).toContain("Variables, imports and functions of this session are gone");
    for (const each of [1, 2]) expect((await small.python(`print(${each})`)).text).toBe(`${each}\n`);
    expect(peakMib(small.pid)).toBeLessThan(MAX_MIB);
  }, 60_000);

  test.if(flavour === "docker")("are refused where the engine counts them", async () => {
    const says = /No space left on device/;
    await target.attack({ code: code("/tmp/many"), says, status: "error", state: "kept" });
    await target.attack({ code: "import shutil\nshutil.rmtree('/tmp/many')", state: "kept" });
  });
});

describe("EXH-12: a result that is", () => {
  test.each<[string, string, RegExp | string]>([
    [
      "deep",
      "x = []\nfor _ in range(100_000): x = [x]\nx",
      "[[[[[[[[[[[[[[[[[[[[[… 1 item]]]]]]]]]]]]]]]]]]]]]",
    ],
    ["wide", "{str(n): n for n in range(300_000)}", /^\{'0': 0,\n '1': 1,.*… \d+ more\}$/s],
    ["cyclic", "loop = []\nloop.append(loop)\nloop", /^\[\[\.\.\.\]\]$/],
    ["a huge integer", "10 ** 100_000", "<int of about 100001 digits>"],
    ["a huge text", "'y' * 50_000_000", /^'y+… \[cut after \d+ characters\]$/],
  ])("%s has bounds", async (_title, code, says) => {
    const { text } = await target.attack({ code, says, state: "kept" });
    expect(text.length).toBeLessThan(140_000);
  });
});

/** Whether a session answers in that time. */
async function answeredWithin(other: Target, ms: number): Promise<boolean> {
  const startedAt = performance.now();
  return (await other.bridge.python("print(2)")).text === "2\n" && performance.now() - startedAt < ms;
}
