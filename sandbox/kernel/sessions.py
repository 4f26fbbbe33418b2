"""What code can ask of its own session and of the others of its caller."""

from __future__ import annotations

import sys

from .late import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .rpc import Rpc
    from .sandboxes import SessionList
    from .servers import Text


class Runtime(type(sys)):  # type: ignore[misc]
    """The type of the module `mcp.runtime`: one of its names has a value that only the host knows."""

    _rpc: Rpc

    @property
    def session(self) -> str | None:
        """The handle of this session, as in `run_python(session=...)`; None where it has none, as in `sandpy run`."""
        return next((each["session"] for each in _sessions(self._rpc) if each["current"]), None)


def session_functions(runtime: Runtime, rpc: Rpc) -> list[Any]:
    """Makes the functions, and has the module know its session."""
    runtime._rpc = rpc

    def list_sessions() -> SessionList:
        """Your sandboxes, each with its own variables: session (for run_python), current, state, age, idle, runs."""
        sessions: SessionList = load(".sandboxes").SessionList(_sessions(rpc))
        return sessions

    def end_session(session: str) -> Text:
        """Ends one of your sandboxes, variables and all; one that runs code, as this one does, when that is over."""
        handle = load(".sandboxes").handle_of(session)
        ended = rpc.request("session_end", {"session": handle}, f"runtime.end_session({handle!r})").result()["ended"]
        when = "has ended" if ended else "ends when what it runs is over"
        return load(".servers").Text(f"session {handle} {when}")

    return [list_sessions, end_session]


def _sessions(rpc: Rpc) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rpc.request("sessions_list", {}, "runtime.list_sessions()").result()["sessions"]
    return found
