"""Runs one of the fuzzers of the sandbox's half and prints what came of it as JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module


def main() -> int:
    """Takes "readers" or "supervisor", how many frames, and the seed; returns the exit code."""
    name, frames, seed = sys.argv[1:]
    outcome = import_module(name).fuzz(int(frames), int(seed))
    sys.stdout.write(json.dumps(outcome) + "\n")
    return 1 if outcome["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
