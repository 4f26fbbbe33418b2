"""How a sandbox ends from within: with its host, or where nothing but its end helps."""

from __future__ import annotations

import os
import time

from .process import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .process import Kernel
    from .relay import Host
    from .spill import Spill

LOOK_SECONDS = 1.0  # between two looks at how many files there are, where the engine bounds nothing
EXIT_BROKEN = 70


class Endings:
    """What the supervisor can do to itself. Files in memory outlive every Python: only the end of the container frees them."""

    kernel: Kernel
    host: Host
    spill: Spill
    wakeup: int
    look: float | None = None  # when to look at the files

    def end(self, code: int) -> NoReturn:
        """Kills everything and ends."""
        self.kernel.kill(self.wakeup)
        self.spill.remove()
        os._exit(code)

    def give_up(self, words: str) -> NoReturn:
        """Ends so that the host starts a sandbox anew; it hears why."""
        complain(words)
        self.kernel.kill(self.wakeup)
        self.host.finish()
        os._exit(EXIT_BROKEN)

    def look_at_files(self, limits: dict[str, int] | None) -> None:
        """Ends where there are too many of them; rlimits, which stand in for the engine's limits, do not count them."""
        if limits is None or os.getpid() != 1:  # as PID 1 we have folders of our own
            return
        if self.look is None or time.monotonic() >= self.look:
            from .folders import too_many

            self.look = time.monotonic() + LOOK_SECONDS
            words = too_many()
            if words is not None:
                self.give_up(words)

    def check_files(self, cause: dict[str, Any]) -> None:
        """Ends where files took the memory for want of which a kernel died: the next would die as well."""
        if cause["reason"] != "out_of_memory" or os.getpid() != 1:
            return
        from .folders import blame

        words = blame()
        if words is not None:
            self.give_up(f"out of memory: {words}")
