"""Long output: all of it can be read in the sandbox, within bounds, whatever user code does to the files."""

from __future__ import annotations

import unittest
from pathlib import Path

from harness import Outcome, Sandbox

MIB = 1024 * 1024
BIG = "import os\nfor _ in range({}): os.write({}, b'0123456789abcde\\n' * 4096)\nNone"


class Spill(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox({"output_bytes": 1000})
        self.addCleanup(self.sandbox.close)
        self.files = Path(self.sandbox.folder.name, ".sandpy-output")

    def run_cell(self, code: str) -> tuple[Outcome, list[dict]]:
        """Runs a cell; returns the `spilled` frames that came with it."""
        first = len(self.sandbox.frames)
        outcome = self.sandbox.run(code)
        frames = self.sandbox.frames[first:]
        return outcome, [frame for who, frame in frames if who == "s" and frame["type"] == "spilled"]

    def test_keeps_all_of_what_is_longer_than_the_host_keeps(self) -> None:
        outcome, spilled = self.run_cell(
            "print('first')\nfor i in range(500): print(i)\nimport sys\nprint('short', file=sys.stderr)"
        )
        path = self.files / "1-stdout.txt"
        size = len(outcome.stdout)
        self.assertEqual(
            spilled, [{"type": "spilled", "name": "stdout", "path": str(path), "bytes": size, "kept": size}]
        )
        self.assertEqual(path.read_text("utf-8"), outcome.stdout)
        self.assertEqual(self.sandbox.run(f"len(open({str(path)!r}).read())").result, str(size))

    def test_keeps_both_streams_apart_as_bytes(self) -> None:
        _, spilled = self.run_cell("import os\nos.write(1, b'\\xff' * 1001)\nos.write(2, b'e' * 1001)\nNone")
        self.assertEqual([frame["name"] for frame in spilled], ["stdout", "stderr"])
        self.assertEqual((self.files / "1-stdout.txt").read_bytes(), b"\xff" * 1001)
        self.assertEqual((self.files / "1-stderr.txt").read_bytes(), b"e" * 1001)

    def test_makes_no_file_up_to_the_limit(self) -> None:
        outcome, spilled = self.run_cell("print('x' * 999)")
        self.assertEqual((len(outcome.stdout), spilled, self.files.exists()), (1000, [], False))

    def test_precedes_done_and_follows_the_output(self) -> None:
        self.run_cell("print('x' * 2000)")
        self.assertEqual([frame["type"] for _, frame in self.sandbox.frames][-3:], ["stream", "spilled", "done"])

    def test_stops_at_the_cap(self) -> None:
        _, (frame,) = self.run_cell(BIG.format(320, 1))
        self.assertEqual((frame["bytes"], frame["kept"]), (20 * MIB, 16 * MIB))
        self.assertEqual((self.files / "1-stdout.txt").stat().st_size, 16 * MIB)

    def test_keeps_the_newest_files_only(self) -> None:
        for _ in range(6):
            self.run_cell("print('x' * 2000)")
        self.assertEqual(sorted(path.name for path in self.files.iterdir()), [f"{n}-stdout.txt" for n in (3, 4, 5, 6)])

    def test_bounds_all_files_together(self) -> None:
        for fd in (1, 2, 1, 2):
            self.run_cell(BIG.format(256, fd))
        sizes = [path.stat().st_size for path in self.files.iterdir()]
        self.assertEqual(sizes, [16 * MIB, 16 * MIB])

    def test_says_it_before_a_death(self) -> None:
        self.sandbox.start("import os, signal\nos.write(1, b'x' * 2000)\nos.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(self.sandbox.until("spilled")["bytes"], 2000)
        self.sandbox.until("died")
        self.assertEqual((self.files / "1-stdout.txt").read_bytes(), b"x" * 2000)

    def test_keeps_nothing_between_executions(self) -> None:
        self.run_cell(
            "import threading\ngo = threading.Event()\nt = threading.Thread(target=lambda: (go.wait(), print('z' * 5000, 'late')))\nt.start()"
        )
        self.run_cell("import asyncio\nasyncio.get_event_loop().call_later(0.05, go.set)\nNone")
        self.sandbox.output_until("late")
        self.assertEqual(self.run_cell("1")[1], [])
        self.assertFalse(self.files.exists())

    def test_follows_nothing_that_user_code_put_in_the_way(self) -> None:
        victim = Path(self.sandbox.folder.name, "victim")
        other = Path(self.sandbox.folder.name, "other")
        rows = [
            ("a link in the place of the file", f"os.mkdir({str(self.files)!r})\nos.symlink({str(victim)!r}, path)", 1),
            ("a fifo in the place of the file", f"os.mkdir({str(self.files)!r})\nos.mkfifo(path)", 1),
            ("a folder in the place of the file", "os.makedirs(path)", 0),
            (
                "a link in the place of the folder",
                f"os.mkdir({str(other)!r})\nos.symlink({str(other)!r}, {str(self.files)!r})",
                0,
            ),
            ("a file in the place of the folder", f"open({str(self.files)!r}, 'w').close()", 0),
        ]
        for title, code, count in rows:
            with self.subTest(title):
                path = self.files / f"{self.sandbox.ids + 3}-stdout.txt"
                self.sandbox.run(
                    f"import os, shutil\nshutil.rmtree({str(other)!r}, True)\nos.path.isdir({str(self.files)!r}) and not os.path.islink({str(self.files)!r}) and shutil.rmtree({str(self.files)!r})\nos.path.lexists({str(self.files)!r}) and os.unlink({str(self.files)!r})\nNone"
                )
                self.assertEqual(self.sandbox.run(f"path = {str(path)!r}\n{code}").status, "ok")
                outcome, spilled = self.run_cell("print('x' * 2000)")
                self.assertEqual((len(outcome.stdout), len(spilled)), (2001, count))
                self.assertFalse(victim.exists())
                self.assertEqual(list(other.iterdir()) if other.exists() else [], [])

    def test_goes_on_when_the_files_are_deleted_meanwhile(self) -> None:
        code = f"print('x' * 2000)\nimport shutil, time\nwhile not os.path.exists({str(self.files)!r}): time.sleep(0.001)\nshutil.rmtree({str(self.files)!r})\nprint('y' * 2000)"
        outcome, spilled = self.run_cell("import os\n" + code)
        self.assertEqual((outcome.status, len(spilled), spilled[0]["bytes"]), ("ok", 1, 4002))

    def test_takes_64_kib_where_the_host_says_nothing(self) -> None:
        with Sandbox() as sandbox:
            for size, count in ((65_536, 0), (65_537, 1)):
                sandbox.run(f"import os\nos.write(1, b'x' * {size})\nNone")
                self.assertEqual(sum(frame["type"] == "spilled" for _, frame in sandbox.frames), count)

    def test_removes_its_files_at_the_end(self) -> None:
        with Sandbox({"output_bytes": 10}) as sandbox:
            sandbox.run("print('x' * 100)")
            files = Path(sandbox.folder.name, ".sandpy-output")
            self.assertTrue(files.exists())
            sandbox.process.stdin.close()
            sandbox.process.wait()
            self.assertFalse(files.exists())


if __name__ == "__main__":
    unittest.main()
