"""Output: taken at the descriptors, complete and in order, from whoever writes it."""

from __future__ import annotations

import unittest

from harness import Sandbox

CTYPES = "import ctypes\nlibc = ctypes.CDLL(None)\n"


class Output(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)

    def test_takes_output_of_every_level(self) -> None:
        outcome = self.sandbox.run(
            "import os, subprocess\n"
            'os.write(1, b\'{"jsonrpc":"2.0","id":1,"result":{}}\\n\')\n'
            "subprocess.run(['echo', 'child'])\nos.system('echo shell >&2')\nprint('py')"
        )
        self.assertEqual(outcome.stdout, '{"jsonrpc":"2.0","id":1,"result":{}}\nchild\npy\n')
        self.assertEqual(outcome.stderr, "shell\n")

    def test_takes_output_of_c_code(self) -> None:
        outcome = self.sandbox.run(CTYPES + "libc.puts(b'line')\nlibc.printf(b'half')\nNone")
        self.assertEqual(outcome.stdout, "line\nhalf")

    def test_takes_200_kb_written_with_the_gil_held(self) -> None:
        outcome = self.sandbox.run(
            "import ctypes\npy = ctypes.PyDLL(None)\ndata = b'x' * 200_000\npy.write(1, data, len(data))"
        )
        self.assertEqual((outcome.result, len(outcome.stdout)), ("200000", 200_000))

    def test_takes_200_kb_from_each_kind_of_writer(self) -> None:
        rows = [
            "print('x' * 200_000, end='')",
            "import os\ndata = b'x' * 200_000\nwhile data: data = data[os.write(1, data):]",
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(\"x\" * 200_000, end=\"\")'])",
            "import sys\nsys.stdout.buffer.write(b'x' * 200_000)\nNone",
            CTYPES + "for _ in range(20): libc.printf(b'%s', b'x' * 10_000)",
        ]
        for code in rows:
            with self.subTest(code=code):
                self.assertEqual(self.sandbox.run(code).stdout, "x" * 200_000)

    def test_takes_ten_megabytes(self) -> None:
        outcome = self.sandbox.run("for _ in range(100): print('y' * 99_999)", 60)
        self.assertEqual(len(outcome.stdout), 10_000_000)
        longest = max(len(f["data"]) for _, f in self.sandbox.frames if f["type"] == "stream")
        self.assertLessEqual(longest, 65_536)

    def test_streams_while_the_code_runs(self) -> None:
        number = self.sandbox.start("print('first')\nimport threading\nthreading.Event().wait(60)")
        self.sandbox.output_until("first")
        self.sandbox.interrupt(number)
        self.assertEqual(self.sandbox.finish(number).status, "interrupted")

    def test_precedes_done_every_time(self) -> None:
        for index in range(200):
            self.assertEqual(self.sandbox.run(f"import os; os.write(2, b'{index}')\nNone").stderr, str(index))

    def test_precedes_an_rpc(self) -> None:
        self.sandbox.answer = lambda *_: {"content": []}
        self.sandbox.run("for i in range(50):\n    print(i)\n    r = await mcp_fx.t(i=i)")
        seen = [
            f["data"].strip() if f["type"] == "stream" else str(f["params"]["arguments"]["i"])
            for _, f in self.sandbox.frames
            if f["type"] == "stream" or f.get("method") == "call_tool"
        ]
        self.assertEqual(seen, [str(i) for i in range(50) for _ in range(2)])

    def test_replaces_invalid_utf8_and_joins_split_characters(self) -> None:
        sandbox = Sandbox({"whole_output": False})
        self.addCleanup(sandbox.close)
        outcome = sandbox.run(
            "import os, time\nos.write(1, b'a\\xffb\\xe2\\x82')\nawait __import__('asyncio').sleep(0.05)\nos.write(1, b'\\xac|\\xe2')\nNone"
        )
        self.assertEqual(outcome.stdout, "a\ufffdb\u20ac|")
        self.assertEqual(sandbox.run("print('next')").stdout, "\ufffdnext\n")

    def test_passes_every_byte_on_as_it_is(self) -> None:
        rows = {
            "1": "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 1000)\nNone",
            "2": "import os\ndata = bytes(range(256)) * 1000\nwhile data: data = data[os.write(2, data[:1021]):]",
            "of a child": "import subprocess, sys\n"
            "code = 'import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000)'\n"
            "subprocess.run([sys.executable, '-c', code], check=True)",
        }
        for where, code in rows.items():
            with self.subTest(where=where):
                streams = self.sandbox.run(code).streams
                self.assertEqual(streams["stderr" if where == "2" else "stdout"], bytes(range(256)) * 1000)

    def test_passes_half_a_character_on_soon_and_at_the_end(self) -> None:
        outcome = self.sandbox.run("import os\nos.write(1, b'\\xe2\\x82')\nNone")
        self.assertEqual(outcome.streams["stdout"], b"\xe2\x82")
        number = self.sandbox.start("import os\nos.write(1, b'\\xe2')\nwhile True: pass")
        self.assertEqual(self.sandbox.until("stream")["bytes"], "4g==")
        self.sandbox.interrupt(number)
        self.sandbox.finish(number)
        self.sandbox.start("import os\nos.write(1, b'\\xf0\\x9f')\nos._exit(3)")
        self.assertEqual(self.sandbox.until("stream")["bytes"], "8J8=")
        self.sandbox.until("died")

    def test_sends_text_as_text(self) -> None:
        self.sandbox.run("print('\u20ac\\0\U0001f600')")
        self.assertNotIn("bytes", [frame for _, frame in self.sandbox.frames if frame["type"] == "stream"][0])

    def test_prints_lone_surrogates_as_replacement_characters(self) -> None:
        self.assertEqual(self.sandbox.run("print('a\\ud800b')").stdout, "a\ufffdb\n")

    def test_passes_control_characters_and_line_separators(self) -> None:
        self.assertEqual(self.sandbox.run("print('\\x1b[31m\\0\\u2028\\r')").stdout, "\x1b[31m\0\u2028\r\n")

    def test_has_no_output_of_an_earlier_cell_after_a_syntax_error(self) -> None:
        self.sandbox.run("print('first-call'); kept = 1")
        self.assertEqual(self.sandbox.run("y = = 2").stdout, "")
        self.assertEqual(self.sandbox.run("print(kept)").stdout, "1\n")

    def test_takes_output_of_a_thread_after_the_cell(self) -> None:
        self.sandbox.run(
            "import threading\ngo = threading.Event()\n"
            "t = threading.Thread(target=lambda: (go.wait(), print('late')), daemon=True)\nt.start()"
        )
        self.assertEqual(
            self.sandbox.run("import asyncio\nasyncio.get_event_loop().call_later(0.05, go.set)\nNone").stdout, ""
        )
        self.sandbox.output_until("late")
        self.assertEqual(self.sandbox.run("1").result, "1")

    def test_restores_streams_that_were_closed_or_removed(self) -> None:
        rows = [
            "import sys; sys.stdout = None",
            "import sys; sys.stdout.close()",
            "import sys; sys.stderr.close()",
            "import os; os.set_blocking(1, False)",
            "import sys; del sys.stdout",
        ]
        for code in rows:
            with self.subTest(code=code):
                self.sandbox.run(code)
                self.assertEqual(self.sandbox.run("print('x' * 100_000)").stdout, "x" * 100_000 + "\n")
                self.assertEqual(self.sandbox.run("import sys; print('e', file=sys.stderr)").stderr, "e\n")

    def test_flushes_a_stream_of_the_users(self) -> None:
        outcome = self.sandbox.run("import sys\nsys.stdout = open(1, 'w', closefd=False)\nprint('mine')")
        self.assertEqual(outcome.stdout, "mine\n")
        self.assertEqual(self.sandbox.run("print('mine too'); 1 / 0").stdout, "mine too\n")

    def test_bounds_what_it_holds_for_a_slow_reader(self) -> None:
        code = "import os\nfor _ in range(1024): os.write(1, b'z' * 65536)\nprint('end')"
        number = self.sandbox.start(code)
        self.sandbox.until("stream")
        outcome = self.sandbox.finish(number, 60)
        self.assertEqual(len(outcome.stdout), 1023 * 65536 + 4 + 65536 - len(self._first()))
        with open(f"/proc/{self.sandbox.process.pid}/status") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        self.assertLess(peak, 100_000, "kB at the peak, after 64 MiB of output")

    def _first(self) -> str:
        return next(frame["data"] for _, frame in self.sandbox.frames if frame["type"] == "stream")


if __name__ == "__main__":
    unittest.main()
