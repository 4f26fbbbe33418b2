"""Which descriptors the supervisor waits for, and what it then does."""

from __future__ import annotations

import contextlib
import selectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    Callback = Callable[[int], None]

EVENT_READ = selectors.EVENT_READ
EVENT_WRITE = selectors.EVENT_WRITE

QUIET_SECONDS = 0.2  # longer than the kernel waits before it does the same: one after the other


class Watcher:
    """A selector that is told the whole wish each time and makes system calls for changes alone."""

    def __init__(self, chore: Callable[[], None]) -> None:
        self.chore: Callable[[], None] | None = chore  # what waits for a quiet moment
        self.selector = selectors.DefaultSelector()
        self.masks: dict[int, int] = {}

    def wait(self, patience: float | None, idle: bool) -> list[tuple[selectors.SelectorKey, int]]:
        """Waits for events, at most `patience` seconds; with `idle`, does the chore when none come for a moment."""
        if idle and self.chore is not None:
            events = self.selector.select(QUIET_SECONDS)
            if events:
                return events
            chore, self.chore = self.chore, None
            chore()
        return self.selector.select(patience)

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
