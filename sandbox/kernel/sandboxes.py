"""The sandboxes of the caller, each with variables of its own, as lists that print as a table."""

from __future__ import annotations

from .results import Record
from .servers import Awaitable, AwaitableList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_HEAD = ("session", "state", "age", "idle", "runs", "")
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


class Session(Awaitable, Record):
    """One sandbox: `session` (its handle), `current`, `state` ("running", "idle", "stopped"), `age`, `idle` (s), `runs`."""

    __module__ = "mcp.runtime"


class SessionList(AwaitableList):
    """Sandboxes, which print as a table."""

    def __init__(self, sessions: Iterable[Any] = ()) -> None:
        super().__init__(map(Session, sessions))

    def __repr__(self) -> str:
        try:
            rows = [_HEAD, *map(_cells, self)]
            widths = [max(map(len, column)) for column in zip(*rows)]
            lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
            return "\n".join(lines) if self else "[]"
        except (AttributeError, KeyError, TypeError):  # the user made something else of it
            return list.__repr__(self)


def handle_of(session: object) -> str:
    """Returns the handle of a session, given as that or as an entry of the list. Raises TypeError."""
    handle = session.get("session") if isinstance(session, dict) else session
    if not isinstance(handle, str):
        message = f'a session is meant by its handle, such as "s_…", not by {session!r}'
        raise TypeError(message)
    return handle


def _cells(session: dict[str, Any]) -> tuple[str, ...]:
    here = "this one" if session["current"] else ""
    idle = "" if session["state"] == "running" else _time(session["idle"])
    return session["session"], session["state"], _time(session["age"]), idle, str(session["runs"]), here


def _time(seconds: float) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"
