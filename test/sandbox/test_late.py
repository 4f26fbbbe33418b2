"""What is imported late: nobody notices when, nor can break it in the meantime."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
import unittest

import test_units  # noqa: F401  makes the package importable
from harness import PYTHON, Sandbox
from test_hostile import SABOTAGE

late = importlib.import_module("_sandpy.late")

IMPORTED = "import sys\n'asyncio' in sys.modules"
AWAIT = "import asyncio\nawait asyncio.sleep(0, 'awaited')"
AWAIT_ALONE = "class A:\n    def __await__(self):\n        return 'awaited'\n        yield\nawait A()"
BRINGS = """
import fcntl, os, sys
before = set(sys.modules)
import asyncio, inspect, importlib.util, keyword, re, signal, traceback, warnings
print(*{name for name in set(sys.modules) - before if '.' not in name})
"""
COSTLY = ("asyncio", "collections", "contextlib", "enum", "json", "linecache", "re", "selectors", "traceback", "typing")


def is_late() -> bool:
    """Tells whether this Python's asyncio comes late; before 3.11 an exception of ours derives from one of its own."""
    code = "import sys; print(sys.version_info >= (3, 11))"
    return subprocess.run([PYTHON, "-I", "-c", code], stdout=subprocess.PIPE, check=True).stdout.strip() == b"True"


class Late(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)

    def value(self, code: str) -> str:
        outcome = self.sandbox.run(code, 10)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.result

    def test_keeps_what_costs_much_from_the_first_result(self) -> None:
        code = f"import sys\nprint(*[name for name in {COSTLY} if name in sys.modules])"
        # Some Pythons, and what is installed beside them, bring one or the other by themselves.
        there = subprocess.run([PYTHON, "-I", "-c", code], stdout=subprocess.PIPE, check=True).stdout.decode()
        with Sandbox() as sandbox:  # before it has had a quiet moment
            outcome = sandbox.run(code, 10)
        self.assertEqual(outcome.stdout == there, is_late(), outcome)

    def test_imports_asyncio_for_a_first_cell_that_awaits(self) -> None:
        self.assertEqual(self.value("await __import__('asyncio').sleep(0, 7)"), "7")

    def reset(self) -> None:
        self.sandbox.send("s", {"type": "reset"})
        self.sandbox.until("ready")

    def test_imports_asyncio_for_a_kernel_in_use_when_nothing_is_under_way(self) -> None:
        deadline = time.monotonic() + 20
        pause = 0.1
        while self.value(IMPORTED) != "True":
            self.assertLess(time.monotonic(), deadline)
            time.sleep(pause)
            pause *= 2

    def test_imports_asyncio_once_for_an_unused_kernel_and_all_later_ones_and_tells_nobody(self) -> None:
        deadline = time.monotonic() + 20
        pause = 0.4
        time.sleep(pause)  # whatever reaches the kernel, to ask it, would make it a used one
        resets = 1
        while self.value(IMPORTED) != "True":
            self.assertLess(time.monotonic(), deadline)
            self.reset()
            resets += 1
            pause *= 2
            time.sleep(pause)
        self.reset()
        self.assertEqual(self.value(IMPORTED), "True")
        told = [frame["type"] for who, frame in self.sandbox.frames if who == "s"]
        self.assertEqual([told.count("ready"), told.count("died")], [resets + 1, resets])

    def test_makes_the_loop_current_for_who_imports_asyncio(self) -> None:
        self.assertEqual(self.value("import asyncio\nloop = asyncio.get_event_loop()\nloop.is_running()"), "False")
        self.assertEqual(self.value("asyncio.get_running_loop() is loop and await asyncio.sleep(0, True)"), "True")

    def test_runs_tasks_of_a_first_cell_that_awaits_nothing(self) -> None:
        self.value("import asyncio\nt = asyncio.get_event_loop().create_task(asyncio.sleep(0.01))\nNone")
        deadline = time.monotonic() + 20
        while self.value("t.done()") != "True":
            self.assertLess(time.monotonic(), deadline)

    def test_lets_a_thread_import_asyncio(self) -> None:
        code = "import threading\ndef f():\n    import asyncio\nt = threading.Thread(target=f)\nt.start()\nt.join()"
        self.sandbox.run(code)
        self.assertEqual(self.value(AWAIT), "'awaited'")
        self.assertEqual(self.value("asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 1))"), "1")

    def test_finds_the_source_of_classes_in_a_first_cell(self) -> None:
        self.assertEqual(
            self.value("class A:\n    a = 1\nimport inspect\ninspect.getsource(A)"), repr("class A:\n    a = 1\n")
        )

    def test_knows_all_that_comes_with_it(self) -> None:
        if is_late():
            command = [PYTHON, "-I", "-S", "-c", BRINGS]
            brought = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().split()
            self.assertIn("asyncio", brought)
            self.assertEqual(sorted(set(brought) - late.NEEDED - set(sys.builtin_module_names)), [])

    def test_lets_no_file_of_the_user_take_the_place_of_what_asyncio_needs(self) -> None:
        self.value(
            "import os, tempfile\nos.chdir(tempfile.mkdtemp())\n"
            "for n in ('asyncio', 'logging', 'socket', 'ssl', 'inspect', 'string', 'subprocess', 'contextvars', 'queue', 'hashlib', 'mine'):\n"
            "    open(n + '.py', 'w').write('1 / 0' if n != 'mine' else 'x = 1')"
        )
        self.assertEqual(self.value("import logging, socket, queue, hashlib, mine\nlogging.INFO, mine.x"), "(20, 1)")
        self.assertEqual(self.value(AWAIT), "'awaited'")

    def test_is_not_broken_by_a_first_cell(self) -> None:
        for code in (
            SABOTAGE.replace(" asyncio,", "").replace("asyncio.get_running_loop = asyncio.create_task = boom\n", ""),
            SABOTAGE,
            "import asyncio\nasyncio.new_event_loop = asyncio.set_event_loop = asyncio.current_task = None",
            "import sys\nsys.meta_path[:] = []",
            "import sys\nsys.meta_path.pop(0)",
            "import sys\nsys.path[:] = []",
            "import sys\nsys.modules.clear()",
            "import builtins\nbuiltins.__import__ = lambda *a, **k: 1 / 0",
            "import builtins\nvars(builtins).clear()",
            "import sys\nsys.setrecursionlimit(60)",
        ):
            with self.subTest(code=code), Sandbox() as sandbox:
                sandbox.run(code, 5)
                outcome = sandbox.run(AWAIT_ALONE, 5)
                self.assertEqual((outcome.status, outcome.result), ("ok", "'awaited'"), outcome)


if __name__ == "__main__":
    unittest.main()
