"""Interrupts: which code they stop, that state stays, and that they stop nothing else."""

from __future__ import annotations

import time
import unittest

from harness import Sandbox

READY = "print('go')\n"


class Interrupts(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)

    def stop(self, code: str, **fields: object):
        """Starts code that prints `go`, interrupts it, returns the outcome."""
        number = self.sandbox.start(code, **fields)
        self.sandbox.output_until("go")
        self.sandbox.interrupt(number)
        return self.sandbox.finish(number, 5)

    def test_stops_each_kind_of_waiting_and_keeps_state(self) -> None:
        self.sandbox.run("import asyncio, time, threading, subprocess, os; kept = 'kept'")
        rows = [
            READY + "while True: pass",
            READY + "time.sleep(60)",
            READY + "await asyncio.sleep(60)",
            READY + "asyncio.run(asyncio.sleep(60))",
            READY + "await asyncio.gather(*[asyncio.sleep(60) for _ in range(10)])",
            READY + "await asyncio.sleep(0)\nwhile True: pass",
            READY + "await asyncio.sleep(0)\ntime.sleep(60)",
            READY + "threading.Event().wait()",
            READY + "t = threading.Thread(target=time.sleep, args=(60,), daemon=True)\nt.start()\nt.join()",
            READY + "subprocess.run(['sleep', '60'])",
            READY + "while True: os.system('sleep 60')",
            READY + "class R:\n    def __repr__(self):\n        while True: pass\nR()",
            READY + "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
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
        for code in (READY + "def here():\n    while True: pass\nhere()", READY + "import asyncio\nasync def here():\n    await asyncio.sleep(60)\nawait here()"):
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
        number = self.sandbox.start(READY + "import time\nfor _ in range(5): time.sleep(0.02)\n'whole'")
        self.sandbox.output_until("go")
        for wrong in (number - 1, number + 1, 0, 10**9):
            self.sandbox.interrupt(wrong)
        self.assertEqual(self.sandbox.finish(number).result, "'whole'")
        self.sandbox.interrupt(number)
        self.assertEqual(self.sandbox.run("'next'").result, "'next'")

    def test_leaves_background_work_alone(self) -> None:
        self.sandbox.run(
            "import asyncio\nticks = []\nasync def tick():\n    while True:\n        ticks.append(1)\n        await asyncio.sleep(0.01)\n"
            "task = asyncio.get_running_loop().create_task(tick())\nawait asyncio.sleep(0)"
        )
        self.assertEqual(self.stop(READY + "await asyncio.sleep(60)").status, "interrupted")
        self.assertEqual(self.sandbox.run("n = len(ticks)\nwhile len(ticks) == n: await asyncio.sleep(0.01)\ntask.done()").result, "False")

    def test_can_be_caught_and_repeated(self) -> None:
        number = self.sandbox.start(
            READY + "n = 0\nwhile n < 3:\n    try:\n        while True: str()\n    except KeyboardInterrupt:\n        n += 1\n        print('caught')\nn"
        )
        self.sandbox.output_until("go")
        for _ in range(3):
            self.sandbox.interrupt(number)
            self.sandbox.output_until("caught")
        self.assertEqual(self.sandbox.finish(number).result, "3")

    def test_works_after_user_code_took_the_signal(self) -> None:
        self.sandbox.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])")
        self.assertEqual(self.stop(READY + "while True: pass").status, "interrupted")

    def test_is_followed_by_reset_when_swallowed(self) -> None:
        number = self.sandbox.start(READY + "while True:\n    try:\n        while True: str()\n    except BaseException: print('swallowed')")
        self.sandbox.output_until("go")
        self.sandbox.interrupt(number)
        self.sandbox.output_until("swallowed")
        begun = time.monotonic()
        self.assertEqual(self.sandbox.reset()["reason"], "reset")
        self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual(self.sandbox.run("'n' in globals()").result, "False")

    def test_never_cuts_a_frame(self) -> None:
        self.sandbox.answer = lambda *_: {"content": []}
        for _ in range(30):
            number = self.sandbox.start(READY + "while True: mcp_fx.t(data='x' * 300_000).result()")
            self.sandbox.output_until("go")
            self.sandbox.until("rpc")
            self.sandbox.interrupt(number)
            self.assertEqual(self.sandbox.finish(number).status, "interrupted")
        self.assertEqual(self.sandbox.invalid, [])


if __name__ == "__main__":
    unittest.main()
