"""How much memory the sandbox holds, from files as Linux has them."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path

from harness import KERNEL

package = types.ModuleType("_sandpy")
package.__path__ = [str(KERNEL)]
sys.modules.setdefault("_sandpy", package)

memory_bytes = importlib.import_module("_sandpy.measure").memory_bytes
PAGE = os.sysconf("SC_PAGE_SIZE")


class Measure(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> None:
        """Writes a file below the folder."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")

    def measure(self) -> int | None:
        """Measures what the files say."""
        return memory_bytes(str(self.folder / "cgroup"), str(self.folder / "proc"))

    def test_counts_what_the_cgroup_counts_without_cached_files(self) -> None:
        self.write("cgroup/memory.current", "5000000\n")
        self.write("cgroup/memory.stat", "anon 1\nfile 2\ninactive_file 1000000\nactive_file 3\n")
        self.assertEqual(self.measure(), 4000000)

    def test_counts_processes_where_there_is_no_cgroup(self) -> None:
        self.write("proc/1/statm", "1000 300 100 1 0 50 0\n")
        self.write("proc/7/statm", "9000 2000 500 1 0 50 0\n")
        self.write("proc/8/statm", "")  # it ended meanwhile
        self.write("proc/self/statm", "1 1 1 1 1 1 1\n")
        self.assertEqual(self.measure(), (200 + 1500 + 500) * PAGE)

    def test_says_that_nobody_knows(self) -> None:
        self.assertIsNone(self.measure())
        (self.folder / "proc").mkdir()
        self.assertIsNone(self.measure())


if __name__ == "__main__":
    unittest.main()
