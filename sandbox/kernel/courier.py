"""Files of /projects on their way to the host, the host's answers, and what is to be told of both."""

from __future__ import annotations

import binascii
import posix
import time

from .notebook import Notebook
from .results import MCPTimeoutError
from .walk import MAX_FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .rpc import Rpc

_read = posix.read
_to_text = binascii.b2a_base64
_now = time.monotonic

PIECE_BYTES = 3 * 1024 * 1024
PROBE_BYTES = 1024  # the host says at a file's first piece whether it keeps it
TOO_LONG = "/projects took too long"
MAX_NOTES = 5
MARK, MAX_DIGITS = ".conflict-", 2
MAX_NAME_BYTES, MAX_ENDING_BYTES = 200, 50  # the host keeps no longer names


class Courier:
    """What asks the host, and remembers what it said."""

    def __init__(self, rpc: Rpc, folder: str) -> None:
        self.rpc = rpc
        self.folder = folder
        self.notebook = Notebook(folder)
        self.known = self.notebook.known
        self.told: set[str] = set()
        self.notes: list[str] = []
        self.refused: dict[str, list[int]] = {}
        self.has_sent = False
        self.is_full = False  # the host refused the file before
        self.parted: dict[str, str] = {}  # what copies that are on their way are copies of

    def send_small(self, handle: int, path: str, total: int) -> Any:
        """Begins to send a file whole; None where it became shorter meanwhile."""
        data = b""
        while len(data) < total:
            piece = _read(handle, total - len(data))
            if not piece:
                return None
            data += piece
        return self.rpc.request("project_write", self.piece(path, 0, total, data), "/projects")

    def send_pieces(self, handle: int, path: str, total: int, deadline: float) -> Any:
        """Sends what a file holds piece by piece; None where it became shorter meanwhile."""
        done = 0
        while True:
            # Links and holes make gigabytes of one file: where one had no room, others mostly have none.
            most = PROBE_BYTES if self.is_full and not done else PIECE_BYTES
            data = _read(handle, min(most, total - done))
            if not data:
                return None
            answer = self.ask("project_write", self.piece(path, done, total, data), deadline)
            done += len(data)
            if done >= total:
                return answer

    def piece(self, path: str, done: int, total: int, data: bytes) -> dict[str, Any]:
        """Makes the parameters of one piece."""
        text = _to_text(data, newline=False).decode()
        return {"path": path, "offset": done, "total": total, "base": self.base(path), "data": text}

    def base(self, path: str) -> str:
        """Returns the version on the host that what is here was made from."""
        return str(self.known[path][1]) if path in self.known else ""

    def ask(self, method: str, params: dict[str, Any], deadline: float) -> Any:
        """Asks the host, and waits until the deadline."""
        if _now() >= deadline:
            raise MCPTimeoutError(TOO_LONG)
        return self.wait(self.rpc.request(method, params, "/projects"), deadline)

    def wait(self, call: Any, deadline: float) -> Any:
        """Waits for an answer until the deadline."""
        left = deadline - _now()
        if left <= 0:
            call.close()
            raise MCPTimeoutError(TOO_LONG)
        return call.result(left)

    def note(self, path: str, reason: str, what: str = "not kept") -> None:
        """Takes note of something to be told, once."""
        told = f"{what}: {path}: {reason}"
        if told not in self.told and len(self.told) < MAX_FILES:
            self.told.add(told)
            self.tell(path, reason, what)

    def tell(self, path: str, reason: str, what: str) -> None:
        """Takes note of what happened just now, each time that it does."""
        self.notes.append(f"{what}: {self.folder}/{path}: {reason}")

    def report(self) -> str:
        """Words what there is to tell, "" for nothing."""
        notes, self.notes = self.notes, []
        more = [f"… and {len(notes) - MAX_NOTES} more of /projects"] if len(notes) > MAX_NOTES else []
        return "".join(f"{note}\n" for note in (*notes[:MAX_NOTES], *more))


def copy_name(name: str, number: int) -> str:
    """Returns what a file that is kept beside another, or beside a copy of it, is called; a long name is cut."""
    stem, _, ending = split_copy(name)
    rest = f"{MARK}{number}{ending}"
    return stem.encode()[: MAX_NAME_BYTES - len(rest.encode())].decode(errors="ignore") + rest


def split_copy(name: str) -> tuple[str, int, str]:
    """Takes a name apart: what comes before the mark of a copy, the copy's number (0: it is none), and the ending."""
    stem, number = unmark(name)
    if number:
        return stem, number, ""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > MAX_ENDING_BYTES:
        return name, 0, ""
    return (*unmark(stem), dot + ending)


def unmark(stem: str) -> tuple[str, int]:
    """Takes the marks of copies off the end of a name: earlier versions wrote several. Returns the highest number, too."""
    number = 0
    while True:
        rest, mark, digits = stem.rpartition(MARK)
        if not rest or not 1 <= len(digits) <= MAX_DIGITS or not digits.isdecimal():
            return stem, number
        stem, number = rest, max(number, int(digits))
