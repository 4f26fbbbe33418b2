/** Code that ends the interpreter it runs in, or keeps it from ending (group D of our attacks). */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { patient } from "../../helpers/patient.ts";
import { type Attack, describeAttacks, startTarget, type Target } from "../helpers/attack.ts";
import { containersOf } from "../helpers/engine.ts";

const GONE = "Variables, imports and functions of this session are gone; define them again.";
const restarted = (why: string) => `[note] Python was restarted: ${why}. ${GONE}`;

let target: Target;
beforeAll(async () => {
  target = await startTarget();
});
afterAll(async () => {
  await target[Symbol.asyncDispose]();
});

const cases = (title: string, rows: readonly [string, Attack][]) =>
  describeAttacks(title, () => target, rows);

cases("STA-3: a way to leave that ends the call alone:", [
  [
    "sys.exit(0)",
    { code: "import sys\nsys.exit(0)", says: "[exit] code 0", status: "success", state: "kept" },
  ],
  [
    "exit with a text",
    { code: "exit('bye')", says: "[stderr]\nbye\n[exit] code 1", status: "error", state: "kept" },
  ],
  [
    "SystemExit(3)",
    { code: "print('bye')\nraise SystemExit(3)", says: "bye\n[exit] code 3", status: "error", state: "kept" },
  ],
  [
    "KeyboardInterrupt",
    { code: "raise KeyboardInterrupt", says: /KeyboardInterrupt\n$/, status: "error", state: "kept" },
  ],
]);

cases("STA-3 STA-8: a way to leave that takes Python along:", [
  [
    "os._exit",
    {
      code: "import os\nprint('last words', flush=True)\nos._exit(7)",
      says: `last words\n${restarted("its process ended with exit code 7")}`,
      state: "lost",
      withinMs: 2000,
    },
  ],
  [
    "os.abort",
    {
      code: "import os\nos.abort()",
      says: restarted("it crashed with SIGABRT"),
      state: "lost",
      withinMs: 2000,
    },
  ],
  [
    "SIGKILL",
    {
      code: "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
      says: /Python was restarted: (it crashed with SIGKILL|killed)/,
      state: "lost",
      withinMs: 2000,
    },
  ],
  [
    "another program in its place, which gets no line of the next call",
    {
      code: "import os\nos.execvp('cat', ['cat'])",
      says: restarted("its process ended with exit code 0"),
      state: "lost",
      withinMs: 3000,
    },
  ],
  [
    "a crash in C",
    {
      code: "import ctypes\nprint('last words')\nctypes.string_at(0)",
      says: /SIGSEGV/,
      state: "lost",
      withinMs: 3000,
    },
  ],
]);

cases("STA-4: code that", [
  [
    "swallows every interrupt is killed",
    {
      code: "import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass",
      timeout: 1,
      status: "timeout",
      state: "lost",
      withinMs: 4500,
    },
  ],
  [
    "blocks and ignores signals is stopped",
    {
      code: "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\ntime.sleep(60)",
      timeout: 1,
      status: "timeout",
      state: "either",
      withinMs: 4500,
    },
  ],
]);

test("STA-13: that state was lost is said once", async () => {
  const between = "import os, threading\nthreading.Timer(0.1, lambda: os._exit(9)).start()";
  await target.bridge.python(between);
  let text = "";
  while (!text.includes("restarted")) text = (await target.bridge.python("'asked'")).text;
  expect(text).toContain(restarted("its process ended with exit code 9"));
  expect((await target.bridge.python("'asked'")).text).toBe("'asked'");
});

test("STA-9: hooks for the end do not delay the end of the session", async () => {
  await using doomed = await startTarget();
  const { bridge } = doomed;
  await bridge.python(`
import atexit, sys, threading, time
class Late:
    def __del__(self): time.sleep(60)
late = Late()
atexit.register(time.sleep, 60)
threading.Thread(target=time.sleep, args=(60,)).start()
sys.addaudithook(lambda event, args: time.sleep(60) if event == "cpython._PySys_ClearAuditHooks" else None)`);
  const startedAt = performance.now();
  await bridge[Symbol.asyncDispose]();
  expect(performance.now() - startedAt).toBeLessThan(patient(5000));
  expect(await containersOf(bridge.pid)).toEqual([]);
});
