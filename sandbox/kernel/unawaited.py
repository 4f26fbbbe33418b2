"""Calls and coroutines that nobody awaited: Python loses them silently, or says so late and far away."""

from __future__ import annotations

import _thread

from .late import aio
from .render import OURS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_get_ident = _thread.get_ident
_main_thread = _thread.get_ident()

MAX_NAMES = 5


class Unawaited:
    """What to say of them at the end of a cell."""

    def __init__(self) -> None:
        self.calls: dict[int, tuple[str, Any]] = {}
        self.coroutines: dict[str, int] = {}

    def install(self, warnings: Any) -> None:
        """Takes the place of the interpreter's own warning, which goes through this module."""
        warnings._warn_unawaited_coroutine = self.drop

    def drop(self, coroutine: Any) -> None:
        """Takes a coroutine that ends unawaited. The interpreter calls it in place of its own warning."""
        if not coroutine.cr_code.co_filename.startswith(OURS):
            _count(self.coroutines, coroutine.__qualname__)

    def start(self, number: int, label: str) -> None:
        """Takes a new call; other threads wait for theirs in ways of their own."""
        if _get_ident() == _main_thread:
            loop = aio.running_loop() if aio.imported else None
            self.calls[number] = label, None if loop is None else aio.current_task(loop)

    def see(self, number: int) -> None:
        """Forgets a call that somebody takes the result of, or that is shown."""
        self.calls.pop(number, None)

    def report(self, failed: bool) -> str:
        """Words what was found since the last time, "" for nothing, and forgets it. After an error only calls count:
        a coroutine did nothing, and most likely the error kept it from being awaited."""
        if not self.calls and not self.coroutines:
            return ""
        calls: dict[str, int] = {}
        for number, (label, task) in list(self.calls.items()):
            if task is None or task.done():  # a background task may still come to its await
                _count(calls, label)
                self.calls.pop(number, None)
        coroutines, self.coroutines = self.coroutines, {}
        lines = []
        if calls:
            lines.append(
                f"{_join(calls)}: called without `await`, so the result or error is not known; write `await` before"
                " the call, or `await asyncio.gather(...)` around several"
            )
        if coroutines and not failed:
            lines.append(f"{_join(coroutines)}: called without `await`, so it did not run")
        return "".join(f"{line}\n" for line in lines)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _join(names: dict[str, int]) -> str:
    most = sorted(names.items(), key=lambda each: -each[1])[:MAX_NAMES]
    shown = [name if count == 1 else f"{name} ({count} times)" for name, count in most]
    more = len(names) - len(shown)
    return ", ".join([*shown, f"{more} more"] if more else shown)
