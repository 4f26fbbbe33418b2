"""Mutated frames against the sandbox's half of the protocol; scripts/fuzz is the long form, and takes a seed."""

from __future__ import annotations

import random
import sys
import unittest
from importlib import import_module

from harness import ROOT

PROGRAMS = ROOT / "scripts/fuzz-programs"


class Fuzz(unittest.TestCase):
    def test_stays_correct_whatever_comes_in(self) -> None:
        sys.path.insert(0, str(PROGRAMS))
        self.addCleanup(sys.path.remove, str(PROGRAMS))
        for name, frames in (("readers", 5000), ("supervisor", 8000)):
            seed = random.randrange(1_000_000)
            with self.subTest(target=name, seed=seed):
                outcome = import_module(name).fuzz(frames, seed)
                self.assertEqual(outcome["faults"], [])
                self.assertGreaterEqual(outcome["frames"], frames)


if __name__ == "__main__":
    unittest.main()
