"""Frames made from others by small changes, chosen by a seed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MAX_CHANGES = 4
MAX_LINE = 64 * 1024
DEEP = 5000

TOKENS = [
    *(b"\n", b"\r", b"\0", b"\\u0000", b"\\ud800", b"\xff", b"\xc0\x80", b"\xe2\x80\xa8", b"\xef\xbb\xbf"),
    *(b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"null", b"NaN", b"-Infinity", b"1e999", b"-0", b"1.5"),
    *(b"9" * 400, b'{"type":"done","id":1', b'{"type":"display",', b'["k",', b'["s",', b'"id":1,'),
    *(b"[" * DEEP, b'{"a":' * DEEP),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 1.5, 2**31, 2**63, 1e308, "", "s", "k", "reset", "reply", "execute", "done", "\0", "x" * 300),
    *([], {}, [[]], {"type": "reset"}, "../../etc/passwd", "\ud800"),
]


def corpus(direction: str) -> list[bytes]:
    """Returns the lines of the contract that go "in" to the sandbox, or "out"."""
    rows = map(json.loads, (ROOT / "test/contract/frames.jsonl").read_text("utf-8").splitlines())
    return [row["line"].encode() for row in rows if row["dir"] == direction]


class Mutator:
    """Changes lines; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def mutate(self, line: bytes, others: list[bytes]) -> bytes:
        """Returns `line` with one to four changes of its bytes or of its JSON."""
        for _ in range(1 + self.random.randrange(MAX_CHANGES)):
            line = self._bytes(line, others) if self.random.random() < 0.5 else self._json(line)
        return line[:MAX_LINE]

    def _bytes(self, line: bytes, others: list[bytes]) -> bytes:
        at = self.random.randrange(len(line) + 1)
        to = min(len(line), at + 1 + self.random.randrange(8))
        kind = self.random.randrange(6)
        if kind == 0:
            return line[:at] + line[to:]
        if kind == 1:
            return line[:at] + self.random.choice(TOKENS) + line[at:]
        if kind == 2:
            return line[:to] + line[at:]
        if kind == 3:
            return line[:at] + bytes([self.random.randrange(256)]) + line[at + 1 :]
        if kind == 4:
            other = self.random.choice(others)
            return line[:at] + other[self.random.randrange(len(other) + 1) :]
        return line[:at]

    def _json(self, line: bytes) -> bytes:
        try:
            root = holder = json.loads(line)
        except (ValueError, RecursionError):
            return line
        while isinstance(holder, (list, dict)) and holder:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            key = self.random.choice(keys)
            child = holder[key]
            if isinstance(child, (list, dict)) and child and self.random.random() < 0.75:
                holder = child
                continue
            if self.random.randrange(4) == 0:
                del holder[key]
            else:
                holder[key] = self.random.choice(VALUES)
            break
        try:
            return json.dumps(root, separators=(",", ":")).encode()
        except RecursionError:
            return line
