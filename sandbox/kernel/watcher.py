"""Which descriptors the supervisor waits for, and what it then does."""

from __future__ import annotations

import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    Callback = Callable[[int], None]

EVENT_READ = select.POLLIN
EVENT_WRITE = select.POLLOUT

QUIET_SECONDS = 0.2  # who starts a container to run something has begun by then


def time_to(*times: float | None) -> float | None:
    """Returns the seconds until the first of some times, None where there is none."""
    known = [each for each in times if each is not None]
    return max(0.0, min(known) - time.monotonic()) if known else None


def glance(*fds: int) -> Callable[[], bool]:
    """Returns a function that tells at once whether one of some descriptors can be read, or has ended."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, EVENT_READ)
    return lambda: bool(poll.poll(0))


class Watcher:
    """A poll object that is told the whole wish each time that it may be another, and is changed only where that changes.
    Not `selectors`, whose import costs as much as a cell."""

    def __init__(self, chore: Callable[[], None]) -> None:
        self.chore: Callable[[], None] | None = chore  # what waits for a quiet moment
        self.poll = select.poll()
        self.masks: dict[int, int] = {}
        self.callbacks: dict[int, Callback] = {}
        self.grounds: tuple[object, ...] = ()

    def wait(self, patience: float | None, idle: bool) -> list[tuple[Callback, int]]:
        """Waits for events, at most `patience` seconds; with `idle`, does the chore when none come for a moment, after
        which what is to be watched may be another."""
        if not idle or self.chore is None:
            return self.select(patience)
        events = self.select(QUIET_SECONDS)
        if not events:
            chore, self.chore = self.chore, None
            chore()
        return events

    def select(self, patience: float | None) -> list[tuple[Callback, int]]:
        """Returns what to call, with the events; an end or a fault of a descriptor is news to whoever watches it."""
        events = self.poll.poll(None if patience is None else patience * 1000)
        return [(self.callbacks[fd], mask) for fd, mask in events]

    def is_news(self, *grounds: object) -> bool:
        """Tells whether that on which the wish depends is other than the last time; between most events it is not."""
        if grounds == self.grounds:
            return False
        self.grounds = grounds
        return True

    def set(self, fd: int, mask: int, callback: Callback) -> None:
        """Sets which events of a descriptor are wanted; 0 for none."""
        if self.masks.get(fd, 0) == mask:
            return
        if mask == 0:
            self.poll.unregister(fd)
            del self.masks[fd], self.callbacks[fd]
            return
        self.poll.register(fd, mask)  # also where only the mask is another
        self.masks[fd] = mask
        self.callbacks[fd] = callback
