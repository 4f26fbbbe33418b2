"""The files of the working folder that the host brings before a program runs, and takes when it has ended."""

from __future__ import annotations

import binascii
import os

from . import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = os.getcwd()  # asked for where no user code has run that could have left it: /workspace
PIECE_BYTES = 3 * 1024 * 1024
MAX_NOTES = 100
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def answer(frame: dict[str, Any]) -> dict[str, Any]:
    """Does what the host asks for, and builds the `answer`."""
    value, error = None, None
    try:
        value = METHODS[frame["method"]](**frame["params"])
    except OSError as fault:
        error = fault.strerror or str(fault)
    except Exception as fault:
        error = f"{type(fault).__name__}: {fault}"
    return {"type": "answer", "id": frame["id"], "value": value, "error": error}


def write_file(path: str, offset: int, data: str) -> dict[str, Any]:
    """Writes one piece of a file; the first makes it, and the folders that it is in."""
    place = _place(path)
    if offset == 0:
        os.makedirs(os.path.dirname(place), exist_ok=True)
    handle = os.open(place, _OPEN | os.O_WRONLY | (os.O_CREAT | os.O_EXCL if offset == 0 else 0), 0o644)
    try:
        rest = memoryview(binascii.a2b_base64(data))
        while rest:
            written = os.pwrite(handle, rest, offset)
            rest, offset = rest[written:], offset + written
    finally:
        os.close(handle)
    return {}


def make_folder(path: str) -> dict[str, Any]:
    """Makes a folder where there is none, with those that it is in."""
    os.makedirs(_place(path), exist_ok=True)
    return {}


def list_files(path: str) -> dict[str, Any]:
    """Lists the regular files of a folder with their sizes, and says what else is there: [path, reason]."""
    place, notes = _place(path), []

    def note(name: str, reason: str) -> None:
        if len(notes) < MAX_NOTES:
            notes.append([_text(name), reason])

    if os.path.islink(place):
        note("", "is a symbolic link")
        return {"files": [], "notes": notes}
    if not os.path.isdir(place):
        return {"files": [], "notes": []}
    disk = os.statvfs(place)
    files = []
    for name, facts in sorted(walk.View(place, note).found.items()):
        size = facts[3]
        if _text(name) != name:
            note(name, "its name is not UTF-8")
        elif size > disk.f_blocks * disk.f_frsize:  # only holes can be larger than the disk that they are on
            note(name, f"has {size} bytes, more than there is room for")
        else:
            files.append({"path": name, "bytes": size})
    return {"files": files, "notes": notes}


def read_file(path: str, offset: int) -> dict[str, Any]:
    """Reads one piece of a file, "" at its end."""
    handle = os.open(_place(path), _OPEN | os.O_RDONLY)
    try:
        piece = os.pread(handle, PIECE_BYTES, offset)
    finally:
        os.close(handle)
    return {"data": binascii.b2a_base64(piece, newline=False).decode()}


def _place(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        message = f"{path!r} is no path below {FOLDER}"
        raise ValueError(message)
    return f"{FOLDER}/{path}"


def _text(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


METHODS = {each.__name__: each for each in (write_file, make_folder, list_files, read_file)}
