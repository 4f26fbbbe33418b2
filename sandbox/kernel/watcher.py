"""Which descriptors the supervisor waits for, and what it then does."""

from __future__ import annotations

import contextlib
import selectors
from typing import Callable

EVENT_READ = selectors.EVENT_READ
EVENT_WRITE = selectors.EVENT_WRITE

Callback = Callable[[int], None]


class Watcher:
    """A selector that is told the whole wish each time and makes system calls for changes alone."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.masks: dict[int, int] = {}
        self.wait = self.selector.select

    def set(self, fd: int, mask: int, callback: Callback) -> None:
        """Sets which events of a descriptor are wanted; 0 for none."""
        known = self.masks.get(fd, 0)
        if known == mask:
            return
        if mask == 0:
            self.selector.unregister(fd)
            del self.masks[fd]
            return
        change = self.selector.modify if known else self.selector.register
        change(fd, mask, callback)
        self.masks[fd] = mask

    def close(self) -> None:
        """Closes the selector in a forked child, which leaves the parent's untouched."""
        with contextlib.suppress(OSError):
            self.selector.close()
