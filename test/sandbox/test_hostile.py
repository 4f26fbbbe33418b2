"""Hostile user code: it may break its own session's state, never the channel, the supervisor or the next answer."""

from __future__ import annotations

import json
import time
import unittest

from harness import Sandbox, patient

FORGE = """
import json, os
frames = []
for kind in ("hello", "ready", "stream", "died", "done", "rpc", "interrupt", "reset", "spilled"):
    for number in (0, 1, 2, 3, 99, -1, 2**53, 1.5, None, True, "1", [], {}):
        frame = {"type": kind, "id": number, "status": "ok", "result": "FORGED", "error": None, "exit_code": None,
                 "name": "stdout", "data": "FORGED", "generation": 1, "protocol": 1, "bundle": "", "python": "",
                 "path": "FORGED"}
        frames += [frame, ["s", frame], ["k", frame]]
data = b"".join(json.dumps(f).encode() + b"\\n" for f in frames)
data += b'1],["s",{"type":"died"}]\\n{"type":"done"}]\\r["s",{"type":"died"}\\n]\\n"s"\\n\\n\\0\\n\\xff\\n{"a":NaN}\\n'
for name in os.listdir("/proc/self/fd"):
    for flags in (None, os.O_WRONLY | os.O_NONBLOCK):
        try:
            fd = int(name) if flags is None else os.open("/proc/self/fd/" + name, flags)
            os.write(fd, data)
        except OSError:
            pass
print("real")
"""

SABOTAGE = """
import json, asyncio, sys, builtins, io, os, time, threading
def boom(*a, **k): raise RuntimeError("sabotage")
json.dumps = json.loads = boom; json.JSONEncoder.default = boom
asyncio.get_running_loop = asyncio.create_task = boom
for n in ("write", "flush"):
    try: setattr(sys.stdout, n, boom)
    except Exception: pass
sys.excepthook = sys.displayhook = boom; sys.stdout = sys.stderr = None
builtins.print = builtins.open = builtins.repr = builtins.str = builtins.len = boom
time.time = time.monotonic = lambda: 0
os.write = os.read = boom; threading.Thread.start = boom
for m in [m for m in sys.modules if m.startswith(("mcp", "sandbox", "runtime", "_runtime", "traceback", "encodings"))]: del sys.modules[m]
sys.path[:] = []; sys.meta_path[:] = []
"""


class Forging(unittest.TestCase):
    def test_never_makes_a_supervisor_frame(self) -> None:
        with Sandbox({"output_bytes": 1 << 30}) as sandbox:
            sandbox.ids = 5000
            number = sandbox.start(FORGE)
            deadline = time.monotonic() + 10
            output = ""
            while "real\n" not in output:
                who, frame = sandbox.next(deadline)
                if who == "s":
                    self.assertEqual(frame["type"], "stream")
                    output += frame["data"]
            while True:
                found = sandbox.next(deadline)
                if found[1].get("id") == number and found[1]["type"] == "done" and found[1]["result"] is None:
                    break
            said = [frame for who, frame in sandbox.frames if who == "s"]
            # What got through the pipe may be long enough for a file: `spilled` then, with nothing forged in it.
            self.assertLessEqual({frame["type"] for frame in said}, {"hello", "ready", "stream", "spilled"})
            for frame in said:
                if frame["type"] == "spilled":
                    self.assertRegex(frame["path"], rf"/{number}-{frame['name']}\.txt$")
            for line in sandbox.invalid:
                self.assertTrue(line.startswith(b'["k",'), line)
            self.assertEqual(sandbox.run("'next'").result, "'next'")

    def test_cuts_no_line_open(self) -> None:
        with Sandbox() as sandbox:
            sandbox.run(FORGE)
            sandbox.reset()
            self.assertGreater(len(sandbox.invalid), 0)
            for line in sandbox.invalid:
                with self.subTest(line=line[:80]):
                    try:
                        value = json.loads(line.decode())
                    except ValueError:
                        continue
                    self.assertEqual(value[0], "k")

    def test_can_not_interrupt_or_reset_by_itself(self) -> None:
        with Sandbox() as sandbox:
            sandbox.ids = 5000  # not among the forged ones: a cell can always fake its own answer
            sandbox.run("kept = 1")
            sandbox.run(FORGE)
            self.assertEqual(sandbox.run("kept").result, "1")

    def test_finishes_for_the_executing_id_only_once_for_the_supervisor(self) -> None:
        with Sandbox() as sandbox:
            code = (
                'import os\nfor n in os.listdir(\'/proc/self/fd\'):\n    try: os.write(int(n), b\'{"type":"done","id":%d}\\n\')\n'
                "    except OSError: pass\nprint('go')\nwhile True: pass"
            )
            number = sandbox.start(code % 999)
            sandbox.output_until("go")
            sandbox.interrupt(number)
            self.assertEqual(sandbox.finish(number, 5).status, "interrupted")

    def test_hides_the_supervisors_descriptors(self) -> None:
        with Sandbox() as sandbox:
            code = "import os\nsorted(os.readlink('/proc/self/fd/' + f).split(':')[0] for f in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + f))"
            links = eval(sandbox.run(code).result)
            self.assertEqual(
                [link for link in links if not link.startswith("anon_inode") and link not in ("pipe", "socket")],
                ["/dev/null"],
            )
            code = "import os, sys\n[os.stat(f'/proc/self/fd/{f}').st_ino for f in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{f}') and 'pipe' in os.readlink(f'/proc/self/fd/{f}')]"
            mine = set(eval(sandbox.run(code).result))
            import os

            for stream in (sandbox.process.stdin, sandbox.process.stdout, sandbox.process.stderr):
                self.assertNotIn(os.fstat(stream.fileno()).st_ino, mine)

    def test_reads_nothing_from_standard_input(self) -> None:
        with Sandbox() as sandbox:
            number = sandbox.start("import os, time\nprint('go')\ndata = os.read(0, 100)\ndata")
            self.assertEqual(sandbox.finish(number).result, "b''")


class Sabotage(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)

    def test_answers_after_everything_was_monkeypatched(self) -> None:
        begun = time.monotonic()
        self.assertEqual(self.sandbox.run(SABOTAGE, 5).status, "ok")
        self.assertLess(time.monotonic() - begun, patient(2))
        outcome = self.sandbox.run("print('next', len([1]), repr('x')); import csv; 1 / 1", 5)
        self.assertEqual((outcome.status, outcome.stdout, outcome.result), ("ok", "next 1 'x'\n", "1.0"))
        self.assertEqual(self.sandbox.run("1 / 0", 5).error["ename"], "ZeroDivisionError")
        self.assertEqual(self.sandbox.run("import asyncio\nawait asyncio.sleep(0, 'loop')", 5).status, "ok")

    def test_answers_after_each_piece_was_broken(self) -> None:
        rows = [
            "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('list', 'vars', 'delattr'): delattr(builtins, n)",
            "import builtins\nvars(builtins).clear()",
            "import sys\nsys.modules.clear()",
            "globals().clear()",
            "del __builtins__",
            "import sys\nsys.setrecursionlimit(60)",
            "import sys\nsys.settrace(lambda *a: 1 / 0)",
            "import sys\nsys.setprofile(lambda *a: None)",
            "import threading\nthreading.settrace(lambda *a: 1 / 0)",
            "import traceback\ntraceback.TracebackException.__init__ = None\ntraceback.TracebackException.format = None",
            "import linecache\nlinecache.getlines = linecache.getline = None",
            "import asyncio\nasyncio.base_events.BaseEventLoop._run_once = None",
            "import asyncio, selectors\nselectors.EpollSelector.select = lambda *a: 1 / 0",
            "import asyncio\nasyncio.set_event_loop(None)",
            "import asyncio\nasyncio.new_event_loop = asyncio.set_event_loop = None",
            "import asyncio\nasyncio.get_event_loop().close()",
            "import asyncio\nasyncio.get_event_loop().set_debug(True)",
            "import asyncio\nasyncio.get_event_loop().set_exception_handler(lambda *a: 1 / 0)\n"
            "asyncio.get_event_loop().call_soon(lambda: 1 / 0)",
            "import io\nio.TextIOWrapper = None",
            "import os\nfor n in dir(os):\n    if n != 'environ': setattr(os, n, None)",
            "import gc\ngc.disable()",
            "import signal\nfor s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass",
            "import atexit\natexit.register(lambda: 1 / 0)",
            "class D:\n    def __del__(self): raise SystemExit\nd = D(); del d",
            "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))",
            "import os\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', 0))\nexcept OSError: pass",
        ]
        for code in rows:
            with self.subTest(code=code):
                begun = time.monotonic()
                self.sandbox.run(code, 5)
                outcome = self.sandbox.run("len([1])", 5)
                self.assertEqual((outcome.status, outcome.result), ("ok", "1"), outcome)
                self.assertEqual(self.sandbox.run("raise ValueError(5)", 5).error["evalue"], "5")
                self.assertLess(time.monotonic() - begun, patient(3))
            self.sandbox.reset()

    def test_opens_closed_standard_descriptors_again(self) -> None:
        self.sandbox.run("import os\nfor fd in (0, 1, 2): os.close(fd)")
        outcome = self.sandbox.run("print(os.read(0, 1))\n_ = os.system('cat; echo child; echo shell >&2')")
        self.assertEqual((outcome.stdout, outcome.stderr), ("b''\nchild\n", "shell\n"))

    def test_keeps_a_replaced_input(self) -> None:
        self.sandbox.run("import builtins\nbuiltins.input = lambda prompt='': 'typed'")
        self.assertEqual(self.sandbox.run("input('? ')").result, "'typed'")

    def test_lets_the_user_shadow_builtins_in_his_namespace(self) -> None:
        self.sandbox.run("len = lambda x: 'mine'\nprint = None")
        self.assertEqual(self.sandbox.run("len([])").result, "'mine'")


class Forks(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox(answer=lambda *_: {"content": []})
        self.addCleanup(self.sandbox.close)

    def test_answers_once_when_user_code_forks(self) -> None:
        outcome = self.sandbox.run(
            "import os, warnings\nwarnings.simplefilter('ignore')\npid = os.fork()\nif pid == 0: print('child')\n"
            "else:\n    os.waitpid(pid, 0)\n    print('parent')\npid > 0"
        )
        self.assertEqual((outcome.result, outcome.stdout), ("True", "child\nparent\n"))
        self.sandbox.run("1")
        self.assertEqual(len([f for _, f in self.sandbox.frames if f["type"] == "done"]), 2)

    def test_shows_the_error_of_a_forked_child(self) -> None:
        outcome = self.sandbox.run(
            "import os, warnings\nwarnings.simplefilter('ignore')\npid = os.fork()\nif pid == 0: 1 / 0\nos.waitpid(pid, 0)[1] >> 8"
        )
        self.assertEqual(outcome.result, "1")
        self.assertIn("ZeroDivisionError", outcome.stderr)

    def test_refuses_calls_from_a_forked_child(self) -> None:
        outcome = self.sandbox.run(
            "import os, warnings\nwarnings.simplefilter('ignore')\npid = os.fork()\nif pid == 0:\n    mcp_fx.t()\nos.waitpid(pid, 0)\nNone"
        )
        self.assertIn("only the process that runs the cell can reach the host", outcome.stderr)

    def test_runs_multiprocessing(self) -> None:
        outcome = self.sandbox.run(
            "import multiprocessing as mp, warnings\nwarnings.simplefilter('ignore')\ndef double(x): return 2 * x\n"
            "with mp.get_context('fork').Pool(2) as pool: r = pool.map(double, [1, 2, 3])\nr"
        )
        self.assertEqual(outcome.result, "[2, 4, 6]")

    def test_takes_output_of_a_daemon_into_no_other_cell_as_frames(self) -> None:
        self.sandbox.run(
            "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', \"import sys\\nsys.stdin.readline()\\nprint('LATE')\"], stdin=subprocess.PIPE)"
        )
        self.assertEqual(self.sandbox.run("1").stdout, "")
        self.sandbox.run("p.stdin.write(b'x\\n'); p.stdin.flush()")
        if not any("LATE" in f.get("data", "") for _, f in self.sandbox.frames if f["type"] == "stream"):
            self.sandbox.output_until("LATE")


if __name__ == "__main__":
    unittest.main()
