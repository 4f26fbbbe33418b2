"""What a program reads from its standard input, and the files that the host puts beside it and takes back."""

from __future__ import annotations

import base64
import os
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from harness import Sandbox, patient


def text(data: bytes) -> str:
    """Encodes a piece."""
    return base64.b64encode(data).decode()


class Input(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox({"stdin": True})
        self.addCleanup(self.sandbox.close)

    def feed(self, data: bytes) -> None:
        """Sends a piece."""
        self.sandbox.send("s", {"type": "stdin", "data": text(data)})

    def test_reaches_input_and_sys_stdin_and_children(self) -> None:
        code = "import sys, os, subprocess\na = input('name? ')\nprint('got')\n"
        code += "b = sys.stdin.buffer.read(3)\nc = subprocess.run(['cat'], capture_output=True).stdout\n(a, b)"
        number = self.sandbox.start(code)
        self.feed("\u00fc\n".encode())
        self.assertEqual(self.sandbox.until("stdin_taken"), {"type": "stdin_taken", "open": True})
        self.assertIn("name? ", self.sandbox.output_until("got"))
        self.feed(b"\xff\0\n")
        self.sandbox.until("stdin_taken")
        self.feed(b"")
        outcome = self.sandbox.finish(number)
        self.assertEqual(outcome.result, "('\u00fc', b'\\xff\\x00\\n')")

    def test_ends_where_the_host_says_so(self) -> None:
        number = self.sandbox.start("import sys\n(sys.stdin.read(), input())")
        self.feed(b"all")
        self.feed(b"")
        self.assertEqual(self.sandbox.finish(number).error["ename"], "EOFError")

    def test_is_asked_for_piece_by_piece(self) -> None:
        number = self.sandbox.start("import sys\nsys.stdin.read(1)\nprint('one')\ninput_left = sys.stdin.read()\nlen(input_left)")
        piece = b"x" * 200_000  # more than the pipe holds
        self.feed(piece)
        self.sandbox.until("stdin_taken")
        self.feed(b"")
        self.assertEqual(self.sandbox.finish(number).result, str(len(piece) - 1))

    def test_waits_while_the_program_does_not_read(self) -> None:
        number = self.sandbox.start("import time\nprint('up')\nwhile True: time.sleep(0.01)")
        self.sandbox.output_until("up")
        self.feed(b"x" * 1_000_000)
        self.sandbox.interrupt(number)  # comes through all the same
        self.sandbox.finish(number)
        taken = [frame for _, frame in self.sandbox.frames if frame["type"] == "stdin_taken"]
        self.assertEqual(taken, [])
        self.sandbox.reset()
        self.assertEqual(self.sandbox.run("2 + 2").result, "4")

    def test_is_closed_where_the_program_closes_it(self) -> None:
        number = self.sandbox.start("import os\nos.close(0)\nprint('closed')\nimport time\ntime.sleep(20)")
        self.sandbox.output_until("closed")
        self.feed(b"x")
        self.assertEqual(self.sandbox.until("stdin_taken"), {"type": "stdin_taken", "open": False})
        self.feed(b"y")
        self.assertEqual(self.sandbox.until("stdin_taken"), {"type": "stdin_taken", "open": False})
        self.sandbox.interrupt(number)
        self.sandbox.finish(number)

    def test_is_for_the_first_process_alone(self) -> None:
        self.sandbox.reset()
        number = self.sandbox.start("import sys\nsys.stdin.read()")
        self.feed(b"late")
        self.assertEqual(self.sandbox.until("stdin_taken"), {"type": "stdin_taken", "open": False})
        self.assertIn("input() is not available", self.sandbox.finish(number).error["evalue"])

    def test_is_refused_where_there_is_none(self) -> None:
        with Sandbox() as sandbox:
            sandbox.send("s", {"type": "stdin", "data": text(b"x")})
            self.assertEqual(sandbox.until("stdin_taken"), {"type": "stdin_taken", "open": False})


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.sandbox = Sandbox(prefix=("env", "-C", folder.name))
        self.addCleanup(self.sandbox.close)
        self.asked = 0

    def ask(self, method: str, **params: Any) -> dict:
        """Asks the kernel."""
        self.asked += 1
        self.sandbox.send("k", {"type": "ask", "id": self.asked, "method": method, "params": params})
        return self.sandbox.until("answer", id=self.asked)

    def test_are_written_piece_by_piece_before_a_program(self) -> None:
        for offset, data in ((0, b"abc\0"), (4, b"def")):
            answer = self.ask("write_file", path="a/b/c.bin", offset=offset, data=text(data))
            self.assertEqual((answer["value"], answer["error"]), ({}, None))
        self.ask("make_folder", path="out")
        code = "import os\n(open('a/b/c.bin', 'rb').read(), os.listdir('out'))"
        self.assertEqual(self.sandbox.run(code).result, "(b'abc\\x00def', [])")

    def test_are_not_written_over_others_nor_outside(self) -> None:
        self.ask("write_file", path="a", offset=0, data=text(b"1"))
        self.assertEqual(self.ask("write_file", path="a", offset=0, data="")["error"], "File exists")
        for path in ("../x", "/x", "", "a/../../x"):
            self.assertIn("no path below", self.ask("write_file", path=path, offset=0, data="")["error"])
        self.assertIsNotNone(self.ask("remove_all")["error"])

    def test_are_listed_and_read_when_the_program_is_over(self) -> None:
        code = """
import os
os.makedirs('out/deep/er')
open('out/deep/er/x.bin', 'wb').write(b'\\xff' * 4_000_000)
open('out/empty', 'w').close()
os.symlink('/etc/passwd', 'out/link')
os.symlink('/etc', 'out/folder')
os.mkfifo('out/pipe')
open(b'out/\\xff', 'w').close()
with open('out/holes', 'wb') as file: file.truncate(1 << 43)
os.open = os.pread = os.scandir = None
import posix
posix.scandir = None
"""
        self.sandbox.run(code)
        self.sandbox.reset()
        listed = self.ask("list_files", path="out")["value"]
        self.assertEqual(
            listed["files"], [{"path": "deep/er/x.bin", "bytes": 4_000_000}, {"path": "empty", "bytes": 0}]
        )
        self.assertEqual(
            sorted(name for name, _ in listed["notes"]), ["?", "folder", "holes", "link", "pipe"]
        )
        data, offset = b"", 0
        while piece := base64.b64decode(self.ask("read_file", path="out/deep/er/x.bin", offset=offset)["value"]["data"]):
            data, offset = data + piece, offset + len(piece)
        self.assertEqual(data, b"\xff" * 4_000_000)
        self.assertIsNotNone(self.ask("read_file", path="out/link", offset=0)["error"])
        started = time.monotonic()
        self.ask("read_file", path="out/pipe", offset=0)
        self.assertLess(time.monotonic() - started, patient(5))

    def test_are_none_where_the_folder_is_a_link_or_none(self) -> None:
        self.assertEqual(self.ask("list_files", path="out")["value"], {"files": [], "notes": []})
        os.symlink("/etc", self.folder / "out")
        listed = self.ask("list_files", path="out")["value"]
        self.assertEqual(listed, {"files": [], "notes": [["", "is a symbolic link"]]})


if __name__ == "__main__":
    unittest.main()
