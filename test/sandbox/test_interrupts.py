"""Interrupts: which code they stop, that state stays, and that they stop nothing else."""

from __future__ import annotations

import time
import unittest

from harness import Sandbox, patient

# Prints `go` once the main thread is in the last line of the cell; a print in the code itself might be what is hit.
WATCH = """
import sys, threading
def watch(line):
    main = threading.main_thread().ident
    def look():
        while True:
            frame = sys._current_frames()[main]
            while frame is not None:
                if frame.f_code.co_filename.startswith('<cell') and frame.f_lineno == line:
                    print('go')
                    return
                frame = frame.f_back
    threading.Thread(target=look, daemon=True).start()
"""
LOOPING = "asyncio.get_running_loop().call_later(0.05, print, 'go')\n"


class Interrupts(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)
        self.sandbox.run(WATCH + "import asyncio, time, threading, subprocess, os; kept = 'kept'")

    def begin(self, code: str) -> int:
        """Starts code; returns once its last line runs, or once it says so itself."""
        number = self.sandbox.start(code if "'go'" in code else f"watch({code.count(chr(10)) + 2})\n{code}")
        self.sandbox.output_until("go", 5)
        return number

    def stop(self, code: str):
        """Starts code, interrupts it in its last line, returns the outcome."""
        number = self.begin(code)
        self.sandbox.interrupt(number)
        return self.sandbox.finish(number, 5)

    def test_stops_each_kind_of_waiting_and_keeps_state(self) -> None:
        rows = [
            "while True: pass",
            "time.sleep(60)",
            "threading.Event().wait()",
            "t = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start()\nt.join()",
            "subprocess.run(['sleep', '60'])",
            "while True: os.system('sleep 60')",
            "import re\nprint('go')\nre.match('(a*)*b', 'a' * 40)",
            "class R:\n    def __repr__(self):\n        print('go')\n        while True: pass\nR()",
            "class E(Exception):\n    def __str__(self):\n        print('go')\n        while True: pass\nraise E",
            "await asyncio.sleep(0)\nwhile True: pass",
            "await asyncio.sleep(0)\ntime.sleep(60)",
            "asyncio.run(asyncio.sleep(60))",
            LOOPING + "await asyncio.sleep(60)",
            LOOPING + "await asyncio.gather(*[asyncio.sleep(60) for _ in range(10)])",
            "async def spin():\n    print('go')\n    while True: pass\n"
            "t = asyncio.get_running_loop().create_task(spin())\nawait asyncio.sleep(60)",
        ]
        for code in rows:
            with self.subTest(code=code):
                outcome = self.stop(code)
                self.assertEqual(outcome.status, "interrupted", outcome)
                self.assertEqual(self.sandbox.run("kept").result, "'kept'")
                self.assertEqual(self.sandbox.run("await asyncio.sleep(0, 1)").result, "1")

    def test_says_where_the_code_was(self) -> None:
        rows = [
            "def here():\n    while True: pass\nhere()",
            "async def here():\n    await asyncio.sleep(60)\n" + LOOPING + "await here()",
        ]
        for code in rows:
            error = self.stop(code).error
            self.assertEqual(error["ename"], "KeyboardInterrupt")
            self.assertIn("in here", error["traceback"])
            self.assertNotIn("<sandpy>", error["traceback"])

    def test_reaches_a_cell_that_has_not_begun(self) -> None:
        for _ in range(50):
            number = self.sandbox.start("while True: pass")
            self.sandbox.interrupt(number)
            self.assertEqual(self.sandbox.finish(number, 5).status, "interrupted")

    def test_ignores_a_wrong_or_finished_id(self) -> None:
        number = self.begin("for _ in range(10): time.sleep(0.02)")
        for wrong in (number - 1, number + 1, 0, 10**9):
            self.sandbox.interrupt(wrong)
        self.assertEqual(self.sandbox.finish(number).status, "ok")
        self.sandbox.interrupt(number)
        self.assertEqual(self.sandbox.run("'next'").result, "'next'")

    def test_leaves_background_work_alone(self) -> None:
        self.sandbox.run(
            "import asyncio\nticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n        await asyncio.sleep(0.01)\n"
            "task = asyncio.get_running_loop().create_task(tick())\nawait asyncio.sleep(0)"
        )
        self.assertEqual(self.stop(LOOPING + "await asyncio.sleep(60)").status, "interrupted")
        self.assertEqual(
            self.sandbox.run("n = len(ticks)\nwhile len(ticks) == n: await asyncio.sleep(0.01)\ntask.done()").result,
            "False",
        )

    def test_leaves_background_work_alone_that_computes_for_a_moment(self) -> None:
        self.sandbox.run(
            "import asyncio, time\ncount = 0\nasync def work():\n    global count\n    while True:\n        time.sleep(0.02)\n"
            "        count += 1\n        await asyncio.sleep(0)\n"
            "task = asyncio.get_running_loop().create_task(work())\nawait asyncio.sleep(0)"
        )
        for _ in range(3):
            outcome = self.stop(LOOPING + "await asyncio.sleep(60)")
            self.assertEqual((outcome.status, outcome.error["ename"]), ("interrupted", "KeyboardInterrupt"))
        self.assertEqual(self.sandbox.run("n = count\nwhile count == n: await asyncio.sleep(0)\ntask.done()").result, "False")

    def test_lets_a_cell_tidy_up_that_was_cancelled_beside_background_work(self) -> None:
        self.sandbox.run(
            "import asyncio, time\nasync def work():\n    while True:\n        time.sleep(0.02)\n        await asyncio.sleep(0)\n"
            "task = asyncio.get_running_loop().create_task(work())\nawait asyncio.sleep(0)"
        )
        code = LOOPING + "try:\n    await asyncio.sleep(60)\nfinally:\n    await asyncio.sleep(0.5)\n    print('tidy')"
        outcome = self.stop(code)
        self.assertEqual((outcome.status, outcome.stdout), ("interrupted", "tidy\n"))

    def test_can_be_caught_and_repeated(self) -> None:
        number = self.begin(
            "n = 0\nwhile n < 3:\n    try:\n        print('go')\n        while True: str()\n"
            "    except KeyboardInterrupt:\n        n += 1\nn"
        )
        for _ in range(2):
            self.sandbox.interrupt(number)
            self.sandbox.output_until("go")
        self.sandbox.interrupt(number)
        self.assertEqual(self.sandbox.finish(number).result, "3")

    def test_works_after_user_code_took_the_signal(self) -> None:
        self.sandbox.run(
            "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"
        )
        self.assertEqual(self.stop("while True: pass").status, "interrupted")

    def test_is_followed_by_reset_when_swallowed(self) -> None:
        number = self.begin(
            "while True:\n    try:\n        print('go')\n        while True: str()\n"
            "    except BaseException:\n        print('swallowed')"
        )
        self.sandbox.interrupt(number)
        self.sandbox.output_until("swallowed")
        begun = time.monotonic()
        self.assertEqual(self.sandbox.reset()["reason"], "reset")
        self.assertLess(time.monotonic() - begun, patient(2))
        self.assertEqual(self.sandbox.run("'n' in globals()").result, "False")

    def test_never_cuts_a_frame(self) -> None:
        self.sandbox.answer = lambda *_: {"content": []}
        for _ in range(30):
            number = self.sandbox.start("while True: mcp_fx.t(data='x' * 300_000).result()")
            self.sandbox.until("rpc")
            self.sandbox.interrupt(number)
            self.assertEqual(self.sandbox.finish(number).status, "interrupted")
        self.assertEqual(self.sandbox.invalid, [])


if __name__ == "__main__":
    unittest.main()
