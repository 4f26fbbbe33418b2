"""How a program ends, which a cell does not: as Python itself does before it leaves."""

from __future__ import annotations

import atexit
import sys

from .ends import done

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .console import Console
    from .interrupts import Interrupts


def wind_up(outcome: dict[str, Any], interrupts: Interrupts, console: Console) -> dict[str, Any]:
    """Waits for threads that are no daemons and runs what `atexit` was given, until it is interrupted; returns how the
    program ended. One that was interrupted has little time: its threads are not waited for."""
    number = outcome["id"]
    before = interrupts.fired  # what it handled is over
    try:
        interrupts.begin(number, before)
        if outcome["status"] != "interrupted":
            _wait_for_threads()
        try:
            atexit._run_exitfuncs()
        except (Exception, SystemExit):  # the last one, of Python 3.9: it counts for nothing
            pass
        console.flush_foreign()
    except KeyboardInterrupt:
        pass
    interrupts.end()
    if interrupts.fired == before:  # `atexit` shows an interrupt and goes on
        return outcome
    stopped = {"ename": "KeyboardInterrupt", "evalue": "", "traceback": "KeyboardInterrupt\n"}
    return done(number, "interrupted", error=outcome["error"] or stopped)


def _wait_for_threads() -> None:
    shutdown = getattr(sys.modules.get("threading"), "_shutdown", None)
    try:
        if shutdown is not None:
            shutdown()
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
