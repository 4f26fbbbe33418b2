"""What files in memory take, from folders and files as Linux has them (EXH-7)."""

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

folders = importlib.import_module("_sandpy.folders")


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = Path(made.name)
        facts = os.statvfs(self.folder)
        self.files = facts.f_files - facts.f_ffree
        self.held = (facts.f_blocks - facts.f_bfree) * facts.f_frsize + self.files * folders.FILE_BYTES

    def blame(self, limit: str) -> str | None:
        """Asks who is to blame where the limit is that."""
        place = self.folder / "limit"
        place.write_text(limit, encoding="ascii")
        return folders.blame((str(self.folder),), (str(self.folder / "absent"), str(place)))

    def test_counts_files_and_their_contents(self) -> None:
        files, held = folders.count((str(self.folder), "/no/such/folder"))
        self.assertGreaterEqual(files, 0)
        self.assertGreaterEqual(held, files * folders.FILE_BYTES)

    def test_blames_them_where_they_leave_less_than_a_quarter(self) -> None:
        if self.held == 0:
            self.skipTest("this file system counts nothing")
        self.assertIsNone(self.blame(f"{self.held * 10}\n"))
        self.assertIn(f"in {self.folder} hold about ", self.blame(f"{self.held // 2}\n"))

    def test_blames_nobody_where_the_limit_is_unknown(self) -> None:
        for limit in ("max\n", "", "x"):
            self.assertIsNone(self.blame(limit))


if __name__ == "__main__":
    unittest.main()
