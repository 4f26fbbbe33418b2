"""When SIGINT becomes a KeyboardInterrupt: only while user code runs, never in the middle of a frame."""

from __future__ import annotations

import _signal as signal  # without the names that `enum` makes for it
import _thread
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable

_main_thread = _thread.get_ident()
_get_ident = _thread.get_ident
_interrupt_main = _thread.interrupt_main
_signal = signal.signal
_sleep = time.sleep
_killpg = os.killpg
_SIGINT = signal.SIGINT

MOMENT = 0.005
LOST_AFTER = 20  # moments
ROUNDS = 5


class Interrupts:
    """What the signal handler, the reader thread and the runner share. The main thread writes all, but the reader sets `early`."""

    def __init__(self) -> None:
        self.active: int | None = None  # the cell whose user code runs
        self.last = -1  # the newest cell that has begun
        self.early: int | None = None  # a cell that was interrupted before it began, or between its code and its end
        self.fired = 0  # how often the handler interrupted this cell
        self.soften: Callable[[], bool] | None = None  # cancels the cell's task; False: raise instead
        self.in_vain = False  # the cancellation may never be heard of: something else computes
        self.shields = 0
        self.pending = False

    def install(self) -> None:
        """Takes SIGINT (back); also in the thread's mask."""
        _signal(_SIGINT, self.handle)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (_SIGINT,))

    def begin(self, cell: int, fired: int = 0) -> None:
        """Lets interrupts through; raises at once if one came for this cell before it began. `fired` is how often it was
        interrupted already."""
        self.last = cell
        self.fired = fired
        self.pending = self.in_vain = False
        self.active = cell
        if self.early == cell:
            self.early = None
            self.handle(_SIGINT, None)

    def end(self) -> None:
        """Shuts interrupts out; one may still land in here, hence the loop."""
        while True:
            try:
                self.active = None
                self.soften = None
                return
            except KeyboardInterrupt:
                continue

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """Is the SIGINT handler."""
        if self.active is None:
            return
        if self.shields:
            self.pending = True
            return
        self.fired += 1
        self.in_vain = False
        if self.soften is not None and self.soften():
            return
        raise KeyboardInterrupt

    def request(self, cell: int, nth: int) -> None:
        """Handles the supervisor's word, in the reader thread: the signal that went before it may have been lost."""
        if cell > self.last:
            self.early = cell
        for _ in range(ROUNDS):
            for _ in range(LOST_AFTER):
                if (self.fired >= nth and not self.in_vain) or (self.active != cell and self.is_kept(cell)):
                    return
                _sleep(MOMENT)
            # It came just before a system call that now waits, or while C code ignored it, or is blocked.
            _interrupt_main()
            _killpg(0, _SIGINT)

    def is_kept(self, cell: int) -> bool:
        """Keeps an interrupt that no code of its cell is there for: a program may yet wait for its threads. False where it has
        begun to meanwhile."""
        if cell == self.last:
            self.early = cell
        return self.active != cell

    def __enter__(self) -> None:
        """Holds interrupts back in the main thread."""
        if _get_ident() == _main_thread:
            self.shields += 1

    def __exit__(self, *_: Any) -> None:
        """Delivers what came meanwhile."""
        if _get_ident() == _main_thread:
            self.shields -= 1
            if self.pending and self.shields == 0:
                self.pending = False
                self.handle(_SIGINT, None)
