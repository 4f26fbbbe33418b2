"""The contract: test/contract/frames.jsonl against this half of the protocol."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any, Callable

from harness import FX, ROOT, Sandbox

ROWS = [json.loads(line) for line in (ROOT / "test/contract/frames.jsonl").read_text("utf-8").splitlines()]

Check = Callable[[Any], bool]


def is_int(least: int, most: int = 2**53 - 1) -> Check:
    """Checks for an integer in a range."""
    return lambda value: type(value) is int and least <= value <= most


def is_text(value: Any) -> bool:
    """Checks for text."""
    return isinstance(value, str)


def is_one_of(*values: str) -> Check:
    """Checks for one of some words."""
    return lambda value: is_text(value) and value in values


def nullable(check: Check) -> Check:
    """Lets null through."""
    return lambda value: value is None or check(value)


def is_error(value: Any) -> bool:
    """Checks for the error of a `done`."""
    return isinstance(value, dict) and all(is_text(value.get(key)) for key in ("ename", "evalue", "traceback"))


def is_base64(value: Any) -> bool:
    """Checks for base64 of something."""
    return is_text(value) and len(value) % 4 == 0 and re.fullmatch("[A-Za-z0-9+/]+={0,2}", value) is not None


def is_piece(value: Any) -> bool:
    """Checks for base64 of what a pipe can hold, after half a character."""
    return is_base64(value) and len(value) <= 87388


# What docs/protocol.md says of the frames that leave the sandbox.
OUT: dict[tuple[str, str], dict[str, Check]] = {
    ("s", "hello"): {"protocol": is_int(0), "bundle": is_text, "python": is_text},
    ("s", "ready"): {"generation": is_int(1)},
    ("s", "stream"): {"name": is_one_of("stdout", "stderr"), "data": is_text},
    ("s", "died"): {
        "generation": is_int(1),
        "execution": nullable(is_int(0)),
        "reason": is_one_of("exit", "signal", "out_of_memory", "reset", "protocol"),
        "code": nullable(is_int(-(2**53) + 1)),
        "signal": nullable(is_text),
        "detail": nullable(is_text),
    },
    ("s", "spilled"): {
        "name": is_one_of("stdout", "stderr"),
        "path": lambda value: is_text(value) and 0 < len(value) <= 256,
        "bytes": is_int(0),
        "kept": is_int(0),
    },
    ("s", "stdin_taken"): {"open": lambda value: isinstance(value, bool)},
    ("s", "measured"): {"memory_bytes": nullable(is_int(0))},
    ("k", "rpc"): {
        "id": is_int(0),
        "method": lambda value: is_text(value) and len(value) <= 64,
        "params": lambda value: isinstance(value, dict),
    },
    ("k", "done"): {
        "id": is_int(0),
        "status": is_one_of("ok", "error", "exit", "interrupted"),
        "result": nullable(is_text),
        "error": nullable(is_error),
        "exit_code": nullable(is_int(-(2**53) + 1)),
    },
    ("k", "synced"): {"id": is_int(0)},
    ("k", "answer"): {
        "id": is_int(0),
        "value": nullable(lambda value: isinstance(value, dict)),
        "error": nullable(is_text),
    },
    ("k", "display"): {
        "id": is_int(0),
        "mime": is_one_of("image/png", "image/jpeg", "image/svg+xml", "image/webp", "image/gif"),
        "data": is_base64,
    },
}


# What may be absent.
OPTIONAL: dict[str, dict[str, Check]] = {"stream": {"skipped": is_int(0), "bytes": is_piece}}


def refuse(name: str) -> None:
    """Refuses NaN and Infinity, which Python's parser would take."""
    raise ValueError(name)


def is_valid_out(line: str) -> bool:
    """Tells whether the host may take a line."""
    try:
        value = json.loads(line, parse_constant=refuse)
    except ValueError:
        return False
    if not (isinstance(value, list) and len(value) == 2 and is_text(value[0]) and isinstance(value[1], dict)):
        return False
    kind = value[1].get("type")
    fields = OUT.get((value[0], kind)) if is_text(kind) else None
    if fields is None:
        return False
    optional = OPTIONAL.get(kind, {})
    if not all(check(value[1][name]) for name, check in optional.items() if name in value[1]):
        return False
    return all(name in value[1] and check(value[1][name]) for name, check in fields.items())


class Contract(unittest.TestCase):
    def test_has_rows_of_every_kind(self) -> None:
        for direction in ("in", "out"):
            for valid in (True, False):
                rows = [row for row in ROWS if row["dir"] == direction and row["valid"] is valid]
                self.assertGreater(len(rows), 9)

    def test_agrees_on_every_line_that_leaves_the_sandbox(self) -> None:
        for row in ROWS:
            if row["dir"] == "out":
                with self.subTest(row=row):
                    self.assertEqual(is_valid_out(row["line"]), row["valid"])

    def test_sends_valid_lines_only(self) -> None:
        with Sandbox(answer=lambda *_: {"content": []}) as sandbox:
            for code in (
                "1",
                "1 / 0",
                "exit(3)",
                "print('\u00e9\\0')",
                "print('x' * 70_000)",
                "import os; os.write(1, bytes(range(256)) * 256)",
                "display(b'GIF89a' + b'x' * 20)",
                "await mcp_fx.t(a=[1.5, None])",
                "import os; os.abort()",
            ):
                sandbox.start(code)
            sandbox.until("ready")
            number = sandbox.start("while True: pass")
            sandbox.interrupt(number)
            sandbox.finish(number)
            sandbox.reset()
            sandbox.send("s", {"type": "measure"})
            sandbox.until("measured")
            sandbox.send("k", {"type": "sync", "id": 9})
            sandbox.until("synced")
            sandbox.send("k", {"type": "ask", "id": 9, "method": "list_files", "params": {"path": "no-such"}})
            sandbox.until("answer")
            sandbox.send("s", {"type": "stdin", "data": ""})
            sandbox.until("stdin_taken")
            self.assertEqual(sandbox.invalid, [])
            kinds = {(who, frame["type"]) for who, frame in sandbox.frames}
            self.assertEqual(kinds, set(OUT))
            for frame in sandbox.frames:
                self.assertTrue(is_valid_out(json.dumps(frame)), frame)

    def test_takes_every_valid_line_and_survives_every_other(self) -> None:
        for row in ROWS:
            if row["dir"] == "in":
                with self.subTest(row=row), Sandbox() as sandbox:
                    sandbox.ids = 1000
                    sandbox.write(row["line"].encode() + b"\n")
                    self.assertEqual(sandbox.run("'next'").result, "'next'")
                    died = [frame for _, frame in sandbox.frames if frame["type"] == "died"]
                    self.assertEqual(bool(died), row["valid"] and '"reset"' in row["line"])
                    done = [frame["id"] for _, frame in sandbox.frames if frame["type"] == "done"]
                    self.assertEqual(1 in done, row["valid"] and '"execute"' in row["line"])
                    sandbox.process.stdin.close()
                    said = sandbox.process.stderr.read().decode()
                    self.assertEqual("ignored a line" in said, not row["valid"] and not row["line"].startswith('["k",'))

    def test_survives_a_line_that_is_nested_too_deeply(self) -> None:
        with Sandbox() as sandbox:
            for line in (b'["s",' + b"[" * 100_000, b'["k",' + b"[" * 100_000 + b"]"):
                sandbox.write(line + b"\n")
            self.assertEqual(sandbox.run("'next'").result, "'next'")

    def test_takes_code_of_ten_megabytes(self) -> None:
        with Sandbox() as sandbox:
            code = "s = '" + "\u00e9" * 5_000_000 + "'\nlen(s)"
            self.assertEqual(sandbox.run(code, servers=[FX]).result, "5000000")


if __name__ == "__main__":
    unittest.main()
