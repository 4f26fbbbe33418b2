"""Runs the tests of the sandbox: python3 test/sandbox/run.py [--report PATH] [--libraries] [name …]."""

from __future__ import annotations

import argparse
import json
import sys
import unittest
from pathlib import Path


def main() -> int:
    """Returns the exit code: 1 when a test failed or none ran."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=Path)
    parser.add_argument("--libraries", action="store_true", help="those that need libraries/requirements.txt instead")
    parser.add_argument("names", nargs="*", help="modules, classes or methods; all without any")
    options = parser.parse_args()
    here = Path(__file__).resolve().parent
    sys.path.insert(0, str(here))
    start = here / "libraries" if options.libraries else here
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(options.names) if options.names else loader.discover(str(start))
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    counts = {"passed": result.testsRun - failed - skipped, "failed": failed, "skipped": skipped}
    if options.report:
        options.report.write_text(json.dumps(counts) + "\n")
    sys.stdout.write(json.dumps(counts) + "\n")
    return 0 if counts["passed"] > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
