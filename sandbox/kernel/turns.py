"""Who of this process may change what is kept: one after the other, as the host lets only so many wait."""

from __future__ import annotations

import _thread
from _collections import deque
from _contextvars import ContextVar

from .late import aio
from .results import MCPTimeoutError, MemoryStoreError
from .rpc import PendingCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

WAIT_SECONDS = 25.0


def _nothing() -> None:
    pass


def _same(value: Any) -> Any:
    return value


class Gate(PendingCall):
    """What is waited for until a turn comes: others open it, not the host."""

    __slots__ = ()


class Turn:
    """One holder, or one who waits to be, of one thing."""

    def __init__(self, what: str, loop: Any) -> None:
        self.what = what
        self.loop = loop  # where the holder awaits while it holds
        self.gate = Gate(f"a turn with {what}", _same, _nothing)


class Turns:
    """All holders and those who wait."""

    def __init__(self) -> None:
        self.lock = _thread.allocate_lock()
        self.queues: dict[str, deque[Turn]] = {}
        # What this thread, or this task and those that it starts, holds: asking for it again would wait for ever.
        self.held: ContextVar[tuple[Turn, ...]] = ContextVar("held", default=())

    def holder(self, what: str) -> Turn | None:
        """Returns who holds something."""
        queue = self.queues.get(what)
        return queue[0] if queue else None

    def check(self, what: str, action: str, awaits: bool) -> None:
        """Raises MemoryStoreError where to wait for the holder would be to wait for oneself."""
        holder = self.holder(what)
        if holder is None:
            return
        if any(holder is each for each in self.held.get()):
            message = f"{action}: the function of an update of it is still running; return the new value from there"
            raise MemoryStoreError(message)
        if not awaits and holder.loop is not None and holder.loop is running_loop():
            message = f"{action}: a task of this event loop is updating it; write `await` before the call, which waits"
            raise MemoryStoreError(message)

    def take(self, what: str, action: str, awaits: bool) -> Generator[PendingCall, Any, Turn]:
        """Waits until nobody else of this process holds something. What it returns is to be given back."""
        self.check(what, action, awaits)
        turn = Turn(what, running_loop() if awaits else None)
        try:
            with self.lock:
                queue = self.queues.setdefault(what, deque())
                queue.append(turn)
                first = queue[0] is turn
            if not first:
                yield turn.gate
        except BaseException as error:
            self.give_back(turn)
            if isinstance(error, MCPTimeoutError):
                message = f"{action}: another update of this session holds it for more than {WAIT_SECONDS:g} s"
                raise MemoryStoreError(message) from None
            raise
        return turn

    def give_back(self, turn: Turn) -> None:
        """Lets the next have it; also for one who still waits, and once more than once."""
        with self.lock:
            queue = self.queues.get(turn.what)
            if not queue or turn not in queue:
                return
            was_first = queue[0] is turn
            queue.remove(turn)
            following = queue[0] if queue else None
            if following is None:
                del self.queues[turn.what]
        if was_first and following is not None:
            following.gate.settle(None, None)


def running_loop() -> Any:
    """Returns the event loop that runs in this thread, or None."""
    return aio.running_loop() if aio.imported else None
