"""What is known of the files of /projects, for the next process of this sandbox too."""

from __future__ import annotations

import json
import posix
import re

from .walk import unlink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_open, _close, _read, _write, _replace = posix.open, posix.close, posix.read, posix.write, posix.replace
_random = posix.urandom
_dumps, _loads = json.dumps, json.loads
_is_staged = re.compile(r"\.sandpy-[0-9a-f]{24}").fullmatch
_REGULAR = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC

NEW_FILE = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC
READ_BYTES = 1024 * 1024
# What user code writes there can only harm its own files.
PLACE = "/tmp/.sandpy-projects.json"
NEW_PLACE = f"{PLACE}.new"


class Notebook:
    """`known` has by path how a file was here, and its version on the host; `staged` is the name in the folder under which
    one that is loaded grows: no file of the user's has it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.known: dict[str, list[Any]] = {}
        self.staged = f".sandpy-{_random(12).hex()}"
        self.is_announced = False
        self.recall()

    def announce(self) -> None:
        """Sees to it that the next process knows the name, should this one be killed."""
        if not self.is_announced:
            self.is_announced = self.record()

    def recall(self) -> None:
        """Takes over what the process before this one knew, and removes what it had not finished."""
        try:
            handle = _open(PLACE, _REGULAR)
        except OSError:
            return
        try:
            parts = []
            while piece := _read(handle, READ_BYTES):
                parts.append(piece)
            left = _loads(b"".join(parts))
            self.known = {str(path): [list(how), str(version)] for path, (how, version) in left["known"].items()}
            if _is_staged(left["staged"]):
                unlink(f"{self.folder}/{left['staged']}")
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            self.known = {}  # what is here counts as new
        finally:
            _close(handle)

    def record(self) -> bool:
        """Writes it down; returns whether there was room."""
        text = _dumps({"staged": self.staged, "known": self.known}).encode()
        unlink(NEW_PLACE)
        try:
            handle = _open(NEW_PLACE, NEW_FILE, 0o600)
            try:
                write_all(handle, text)
            finally:
                _close(handle)
            _replace(NEW_PLACE, PLACE)
            return True
        except OSError:  # no room: what is here counts as new to the next process
            unlink(NEW_PLACE)
            unlink(PLACE)
            return False


def write_all(handle: int, data: bytes) -> None:
    """Writes all of it. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[_write(handle, rest) :]
