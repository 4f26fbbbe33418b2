"""The readers of frames in the sandbox, called in this process and guided by the lines of theirs that run."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from types import FrameType
from typing import Any, Callable

from mutations import ROOT, Mutator, corpus

MAX_CORPUS = 5000
MAX_KEPT = 2000

sys.path.insert(0, str(ROOT / "sandbox"))
codec, relay, wire = (import_module(f"kernel.{name}") for name in ("codec", "relay", "wire"))
_FILES = {module.__file__ for module in (codec, relay, wire)}


class Coverage:
    """Pairs of lines that ran one after the other in the readers."""

    def __init__(self) -> None:
        self.pairs: set[tuple[str, int, int]] = set()
        self.last = 0

    def __enter__(self) -> Coverage:
        sys.settrace(self.call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def call(self, frame: FrameType, event: str, _: object) -> Any:
        """Traces the lines of our files only."""
        if frame.f_code.co_filename not in _FILES:
            return None
        self.last = 0
        return self.line

    def line(self, frame: FrameType, event: str, _: object) -> Any:
        """Notes from which line it went to which."""
        self.pairs.add((frame.f_code.co_name, self.last, frame.f_lineno))
        self.last = frame.f_lineno
        return self.line


def read(line: bytes, cut: int) -> None:
    """Reads a line in every way. Raises AssertionError where a reader does what its docstring does not say."""
    assert reading(codec.decode, line) == reading(json.loads, line), "not as the library reads it"
    found = wire.head_of(line)
    assert found is None or (isinstance(found[0], str) and found[1] >= 0), found
    for number in (relay.execute_id(line), relay.done_id(line)):
        assert number is None or number >= 0, number
    whole, parts = relay.Lines(1 << 20), relay.Lines(1 << 20)
    stream = line + b"\n"
    assert whole.feed(stream) == parts.feed(stream[:cut]) + parts.feed(stream[cut:])


def reading(decode: Callable[[str], Any], line: bytes) -> str | None:
    """Returns what a decoder makes of a line, None where it refuses it."""
    try:
        return repr(decode(line.decode()))
    except (ValueError, RecursionError):
        return None


def fuzz(frames: int, seed: int) -> dict[str, Any]:
    """Reads mutated lines of both directions; a line that runs what none ran before is mutated further."""
    mutator = Mutator(seed)
    lines = [line[len('["k",') : -1] if index % 2 else line for line in corpus("in") + corpus("out") for index in (0, 1)]
    faults: list[str] = []
    coverage = Coverage()
    for _ in range(frames):
        line = mutator.mutate(mutator.random.choice(lines), lines)
        known = len(coverage.pairs)
        try:
            with coverage:
                read(line, mutator.random.randrange(len(line) + 2))
        except Exception as error:  # noqa: BLE001 any is a fault
            faults.append(f"{type(error).__name__}: {error}: {line[:200]!r}")
            if len(faults) == 10:
                break
        if len(coverage.pairs) > known and len(lines) < MAX_CORPUS and len(line) <= MAX_KEPT:
            lines.append(line)
    return {"frames": frames, "pairs_of_lines": len(coverage.pairs), "faults": faults}
