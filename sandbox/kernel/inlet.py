"""What the host sends to the standard input of a program: one piece at a time, so that no more waits here."""

from __future__ import annotations

import os

from .relay import Queue
from .watcher import EVENT_WRITE, Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

class Inlet:
    """The writing end of the pipe; None where nobody reads, and everything is refused."""

    def __init__(self, fd: int | None, say: Callable[[dict[str, Any]], None], watcher: Watcher) -> None:
        self.fd = fd
        self.say = say
        self.watcher = watcher
        self.queue = None if fd is None else Queue(fd)
        self.is_last = False

    @property
    def waits(self) -> bool:
        """Whether something is left to be written."""
        return self.queue is not None and bool(self.queue.parts)

    def update_interest(self) -> None:
        """Waits for room in the pipe while something is left."""
        if self.fd is not None:
            self.watcher.set(self.fd, EVENT_WRITE if self.waits else 0, lambda _: self.flush())

    def take(self, data: Any) -> None:
        """Takes a piece in base64, "" for the end. Raises ValueError or TypeError for what is none."""
        from binascii import a2b_base64  # most sandboxes get none

        piece = a2b_base64(data)
        if self.queue is None:
            self.taken()
            return
        self.is_last = not piece
        if piece:
            self.queue.put(piece)
        self.flush()

    def flush(self) -> None:
        """Writes what the pipe takes, and says so when it was all."""
        if self.queue is None:
            return
        try:
            self.queue.flush()
        except OSError:  # the program has closed its standard input
            self.close()
        if not self.waits:
            if self.is_last:
                self.close()
            self.taken()

    def taken(self) -> None:
        """Asks the host for more, or tells it that nobody reads."""
        self.say({"type": "stdin_taken", "open": self.queue is not None})

    def close(self) -> None:
        """Closes the pipe, and drops what is left."""
        if self.fd is not None:
            self.watcher.set(self.fd, 0, lambda _: None)
            os.close(self.fd)
        self.fd = self.queue = None
