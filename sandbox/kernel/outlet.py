"""What of the output goes to the host: all of it where somebody wants that, else the beginning and what is newest."""

from __future__ import annotations

import time
from _collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

HELD_SECONDS = 0.1  # how old what is held may get: as often as clients are told of progress

_now = time.monotonic


class Outlet:
    """One stream. Text beyond `limit` is held, and of that only the newest `limit` characters are sent later."""

    def __init__(self, name: str, limit: int | None, say: Callable[[dict[str, Any]], None]) -> None:
        self.name = name
        self.limit = limit
        self.say = say
        self.sent = 0
        self.held: deque[str] = deque()
        self.size = 0  # of what is held
        self.skipped = 0  # UTF-16 units, as the host counts, that came before what is held

    def put(self, text: str) -> None:
        """Sends text, or holds it."""
        if self.limit is None or self.sent < self.limit:
            self.sent += len(text)
            self.say({"type": "stream", "name": self.name, "data": text})
            return
        self.held.append(text)
        self.size += len(text)
        while self.size - len(self.held[0]) >= self.limit:
            oldest = self.held.popleft()
            self.size -= len(oldest)
            self.skipped += len(oldest) if oldest.isascii() else len(oldest.encode("utf-16-le")) // 2

    def flush(self) -> None:
        """Sends what is held."""
        while self.held:
            frame: dict[str, Any] = {"type": "stream", "name": self.name, "data": self.held.popleft()}
            if self.skipped:
                frame["skipped"] = self.skipped
                self.skipped = 0
            self.say(frame)
        self.size = 0


class Outlets:
    """Both streams."""

    def __init__(self, limit: int | None, say: Callable[[dict[str, Any]], None]) -> None:
        self.all = {name: Outlet(name, limit, say) for name in ("stdout", "stderr")}
        self.due: float | None = None

    def put(self, name: str, text: str) -> None:
        """Takes text of a stream."""
        outlet = self.all[name]
        if text:
            outlet.put(text)
        if outlet.held and self.due is None:
            self.due = _now() + HELD_SECONDS

    def flush_due(self) -> None:
        """Sends what is held when its time has come."""
        if self.due is not None and _now() >= self.due:
            self.flush()

    def flush(self) -> None:
        """Sends what is held."""
        self.due = None
        for outlet in self.all.values():
            outlet.flush()

    def restart(self) -> None:
        """Sends what is held; what comes now is the beginning of something else."""
        self.flush()
        for outlet in self.all.values():
            outlet.sent = 0
