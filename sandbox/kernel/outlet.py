"""What of the output goes to the host: all of it as it is where somebody wants that, else the beginning and the newest."""

from __future__ import annotations

import time
from _codecs import utf_8_decode
from _collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .relay import Text

REST_SECONDS = 0.01  # how long half a character waits for its rest
HELD_SECONDS = 0.1  # how old what is held may get: as often as clients are told of progress

_now = time.monotonic


class Outlet:
    """One stream. Text beyond `limit` is held, and of that only the newest `limit` characters are sent later."""

    def __init__(self, name: str, limit: int, say: Callable[[dict[str, Any]], None]) -> None:
        self.name = name
        self.limit = limit
        self.say = say
        self.sent = 0
        self.held: deque[str] = deque()
        self.size = 0  # of what is held
        self.skipped = 0  # UTF-16 units, as the host counts, that came before what is held

    def put(self, text: str) -> None:
        """Sends text, or holds it."""
        if self.sent < self.limit:
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


class Whole:
    """One stream of which all is sent: as text where it is UTF-8, else as the bytes that it is."""

    def __init__(self, name: str, say: Callable[[dict[str, Any]], None]) -> None:
        self.name = name
        self.say = say
        self.rest = b""  # what may be the beginning of a character

    def put(self, chunk: bytes) -> None:
        """Sends what was written, but for a character that is cut in two at its end."""
        if self.rest:
            chunk = self.rest + chunk
        try:
            text, size = utf_8_decode(chunk, "strict", False)
        except UnicodeDecodeError:
            self.rest = chunk
            self.flush()
            return
        self.rest = chunk[size:]
        if text:
            self.say({"type": "stream", "name": self.name, "data": text})

    def flush(self) -> None:
        """Sends what waits for its rest."""
        if not self.rest:
            return
        from binascii import b2a_base64  # few programs write any

        data = b2a_base64(self.rest, newline=False).decode()
        self.rest = b""
        self.say({"type": "stream", "name": self.name, "data": "", "bytes": data})


class Outlets:
    """Both streams. `is_whole`: all of them is sent, and what is no UTF-8 as the bytes that it is."""

    def __init__(self, is_whole: bool, limit: int, say: Callable[[dict[str, Any]], None]) -> None:
        self.whole = {name: Whole(name, say) for name in ("stdout", "stderr")} if is_whole else {}
        self.all = {name: Outlet(name, limit, say) for name in ("stdout", "stderr")}
        self.due: float | None = None

    def take(self, stream: Text, chunk: bytes, final: bool) -> None:
        """Takes what was written to a stream."""
        if self.whole:
            self.whole[stream.name].put(chunk)
            self.due = _now() + REST_SECONDS if any(each.rest for each in self.whole.values()) else None
            return
        outlet = self.all[stream.name]
        if text := stream.decode(chunk, final):
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
        for outlet in (*self.whole.values(), *self.all.values()):
            outlet.flush()

    def restart(self) -> None:
        """Sends what is held; what comes now is the beginning of something else."""
        self.flush()
        for outlet in self.all.values():
            outlet.sent = 0
