"""The files of /projects as lists that print as a table."""

from __future__ import annotations

import time

from .results import Record
from .servers import Awaitable, AwaitableList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SHOWN = 200


class ProjectFile(Awaitable, Record):
    """One file: `path` (absolute), `bytes`, `modified` (seconds since the epoch)."""

    __module__ = "mcp.runtime"


class FileList(AwaitableList):
    """Files, which print as a table with their sum."""

    def __init__(self, files: Iterable[Any] = ()) -> None:
        super().__init__(map(ProjectFile, files))

    def __repr__(self) -> str:
        try:
            rows = [(str(each["bytes"]), _day(each["modified"]), each["path"]) for each in self[:SHOWN]]
            wide = max((len(size) for size, _, _ in rows), default=0)
            lines = [f"{size:>{wide}}  {day}  {path}" for size, day, path in rows]
            if len(self) > SHOWN:
                lines.append(f"… and {len(self) - SHOWN} more")
            lines.append(f"{len(self)} files, {sum(each['bytes'] for each in self)} bytes")
            return "\n".join(lines) if self else "[]"
        except (AttributeError, KeyError, TypeError, ValueError):  # the user made something else of it
            return list.__repr__(self)


def listed(files: list[dict[str, Any]]) -> FileList:
    """Takes the host's answer."""
    return FileList(
        {"path": "/projects/" + each["path"], "bytes": each["bytes"], "modified": each["modified_at"]} for each in files
    )


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))
