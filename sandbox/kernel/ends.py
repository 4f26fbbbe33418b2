"""The frames that end a cell."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def done(
    number: int,
    status: str,
    result: str | None = None,
    error: dict[str, str] | None = None,
    exit_code: int | None = None,
) -> dict[str, Any]:
    """Builds a `done` frame; the supervisor looks for its first two keys in this order."""
    return {"type": "done", "id": number, "status": status, "result": result, "error": error, "exit_code": exit_code}


def broken(number: int, message: str) -> dict[str, Any]:
    """Builds the `done` of a cell that failed through no fault of its own."""
    return done(number, "error", error={"ename": "SandboxError", "evalue": message, "traceback": message})
