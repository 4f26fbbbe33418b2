"""Output for a host that keeps head and tail: what lies between them stays in the sandbox, and is counted."""

from __future__ import annotations

import importlib
import sys
import types
import unittest

from harness import KERNEL, Sandbox, written

package = types.ModuleType("_sandpy")
package.__path__ = [str(KERNEL)]
sys.modules.setdefault("_sandpy", package)

Whole = importlib.import_module("_sandpy.outlet").Whole

KEPT = 1000
MUCH = "for i in range(60_000): print(i)"  # 350 KB
ALL = "".join(f"{i}\n" for i in range(60_000))


class Outlet(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox({"output_bytes": KEPT, "whole_output": False})
        self.addCleanup(self.sandbox.close)

    def streams(self, name: str = "stdout", first: int = 0) -> list[dict]:
        frames = [frame for _, frame in self.sandbox.frames[first:]]
        return [frame for frame in frames if frame["type"] == "stream" and frame["name"] == name]

    def joined(self, name: str = "stdout", first: int = 0) -> tuple[str, str, int]:
        """Returns what was sent before the first gap, what came after the last one, and how much is missing."""
        head = tail = ""
        skipped = 0
        for frame in self.streams(name, first):
            if frame.get("skipped"):
                skipped += frame["skipped"] + len(tail)
                tail = ""
            if skipped:
                tail += frame["data"]
            else:
                head += frame["data"]
        return head, tail, skipped

    def check(self, sent: tuple[str, str, int], expected: str) -> None:
        head, tail, skipped = sent
        self.assertGreaterEqual(min(len(head), len(tail)), KEPT)
        self.assertTrue(expected.startswith(head))
        self.assertTrue(expected.endswith(tail))
        self.assertEqual(len(head) + skipped + len(tail), len(expected))

    def test_sends_the_head_and_what_is_newest_and_counts_the_rest(self) -> None:
        outcome = self.sandbox.run(MUCH)
        self.assertEqual(outcome.status, "ok")
        self.check(self.joined(), ALL)
        self.assertLess(len(outcome.stdout), len(ALL) / 2)

    def test_sends_all_of_what_the_host_keeps(self) -> None:
        self.assertEqual(self.sandbox.run("print('x' * 999)").stdout, "x" * 999 + "\n")
        self.assertNotIn("skipped", self.streams()[-1])

    def test_sends_all_where_all_is_wanted(self) -> None:
        with Sandbox({"output_bytes": KEPT, "whole_output": True}) as sandbox:
            self.assertEqual(sandbox.run(MUCH).stdout, ALL)

    def test_counts_as_the_host_does(self) -> None:
        self.sandbox.run("import os\nfor _ in range(40): os.write(1, ('\U0001f600' * 16384).encode())")
        self.assertGreater(sum(frame.get("skipped", 0) for frame in self.streams()), 0)
        units = sum(len(frame["data"]) * 2 + frame.get("skipped", 0) for frame in self.streams())
        self.assertEqual(units, 40 * 16384 * 2)

    def test_keeps_the_streams_apart(self) -> None:
        code = f"import sys\n{MUCH}\nfor i in range(60_000): print(i, file=sys.stderr)"
        self.sandbox.run(code)
        for name in ("stdout", "stderr"):
            self.check(self.joined(name), ALL)

    def test_holds_nothing_for_long_while_a_cell_runs(self) -> None:
        number = self.sandbox.start(f"{MUCH}\nprint('newest', flush=True)\nwhile True: pass")
        self.sandbox.output_until("newest")
        self.sandbox.interrupt(number)
        self.sandbox.finish(number)

    def test_begins_anew_with_each_cell(self) -> None:
        self.sandbox.run(MUCH)
        first = len(self.sandbox.frames)
        self.sandbox.run(MUCH)
        self.check(self.joined(first=first), ALL)

    def test_sends_what_is_held_before_it_says_that_python_died(self) -> None:
        self.sandbox.start(f"{MUCH}\nimport os, sys\nsys.stdout.flush()\nos._exit(3)")
        self.sandbox.until("died", execution=1)
        self.check(self.joined(), ALL)

    def test_sends_the_end_of_what_is_written_between_cells(self) -> None:
        self.sandbox.run("import threading\ndef f():\n    " + MUCH + "\n    print('late')\nthreading.Timer(0.1, f).start()")
        self.sandbox.output_until("late")
        self.check(self.joined(), ALL + "late\n")


class WholeStream(unittest.TestCase):
    def put(self, *pieces: bytes) -> list[dict]:
        """Returns the frames of pieces that come one right after the other."""
        frames: list[dict] = []
        stream = Whole("stdout", frames.append)
        for piece in pieces:
            stream.put(piece)
        stream.flush()
        self.assertEqual(b"".join(map(written, frames)), b"".join(pieces))
        return [{name: value for name, value in frame.items() if name not in ("type", "name")} for frame in frames]

    def test_is_text_though_characters_are_cut_in_two(self) -> None:
        text = "a\u20ac\U0001f600\ufeff\0" * 100
        data = text.encode()
        for size in (1, 2, 3, 7, 64):
            with self.subTest(size=size):
                frames = self.put(*(data[at : at + size] for at in range(0, len(data), size)))
                self.assertEqual("".join(frame["data"] for frame in frames), text)
                self.assertNotIn("", [frame["data"] for frame in frames])

    def test_is_bytes_where_it_is_no_text(self) -> None:
        rows: list[tuple[tuple[bytes, ...], list[dict]]] = [
            ((b"a\xff",), [{"data": "", "bytes": "Yf8="}]),
            ((b"a\xe2", b"b"), [{"data": "a"}, {"data": "", "bytes": "4mI="}]),
            ((b"\xed\xa0\x80",), [{"data": "", "bytes": "7aCA"}]),
            ((b"a\xe2\x82",), [{"data": "a"}, {"data": "", "bytes": "4oI="}]),
            ((b"\xff\xe2", b"\x82\xac", b"c"), [{"data": "", "bytes": "/+I="}, {"data": "", "bytes": "gqw="}, {"data": "c"}]),
        ]
        for pieces, expected in rows:
            with self.subTest(pieces=pieces):
                self.assertEqual(self.put(*pieces), expected)

    def test_is_every_byte_however_it_is_cut(self) -> None:
        data = bytes(range(256)) * 9
        for size in (1, 3, 251, 65_536):
            self.put(*(data[at : at + size] for at in range(0, len(data), size)))


if __name__ == "__main__":
    unittest.main()
