"""Brings /projects in line with what the host keeps and the host with it, whatever user code does to `os`."""

from __future__ import annotations

import binascii
import json
import posix
import re
import stat
import time

from . import walk
from .results import MCPError, MCPTimeoutError, MemoryStoreError
from .walk import MAX_FILES, signature, unlink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .rpc import Rpc

_open, _close, _read, _write, _fstat, _lstat = posix.open, posix.close, posix.read, posix.write, posix.fstat, posix.lstat
_mkdir, _rmdir, _replace, _utime = posix.mkdir, posix.rmdir, posix.replace, posix.utime
_statvfs, _random = posix.statvfs, posix.urandom
_to_text, _from_text = binascii.b2a_base64, binascii.a2b_base64
_dumps, _loads = json.dumps, json.loads
_now = time.monotonic
_isreg = stat.S_ISREG
_is_staged = re.compile(r"\.sandpy-[0-9a-f]{24}").fullmatch
_REGULAR = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC
_NEW = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC

PIECE_BYTES = 3 * 1024 * 1024
MAX_NOTES = 5
# What the next process of this sandbox has to know. What user code writes there can only harm its own files.
NOTEBOOK = "/tmp/.sandpy-projects.json"
NEW_NOTEBOOK = f"{NOTEBOOK}.new"


class Mirror:
    """What is known of both sides."""

    def __init__(self, rpc: Rpc, folder: str) -> None:
        self.rpc = rpc
        self.folder = folder
        self.known: dict[str, list[Any]] = {}  # by path: how it was here, and its version on the host
        self.told: set[str] = set()
        self.notes: list[str] = []
        self.refused: dict[str, list[int]] = {}
        self.has_sent = False
        # What is loaded grows under this name, which no file of the user's has.
        self.staged = f".sandpy-{_random(12).hex()}"
        self.is_staged = False  # whether the notebook says so, for the case that this process is killed
        self.recall()

    # The host's side

    def fetch(self, seconds: float) -> str:
        """Writes what is new on the host, and removes what is gone there; what was changed here stays."""
        deadline = _now() + seconds
        listed = self.ask("project_list", {}, deadline)["files"]
        view = walk.View(self.folder, self.note, self.staged)
        here = view.found
        self.refused.clear()  # there may be room now
        kept = set()
        try:
            for file in listed:
                path = file["path"]
                kept.add(path)
                entry = self.known.get(path)
                if entry is not None and entry[1] == file["version"]:
                    continue
                if path in here and (entry is None or here[path] != entry[0]):
                    continue  # changed on both sides: it is sent, and the last one counts
                if entry is not None and path not in here and view.is_gone(path):
                    continue  # removed here meanwhile, which the end of the cell tells the host
                self.load(file, deadline)
            for path in [path for path in self.known if path not in kept]:
                if path not in here and not view.is_gone(path):
                    continue  # taken for new once it is seen again, it would come back to the host
                entry = self.known.pop(path)
                if here.get(path) == entry[0]:
                    self.discard(path)
        finally:
            self.record()
        return self.report()

    def load(self, file: dict[str, Any], deadline: float) -> None:
        """Writes one file as the host has it."""
        path = file["path"]
        place = f"{self.folder}/{path}"
        partial = f"{self.folder}/{self.staged}"
        try:
            if not self.is_staged:
                self.is_staged = self.record()
            self.make_folders(path)
            handle = _open(partial, _NEW, 0o600)
        except OSError as error:
            self.note(path, f"could not be loaded: {error.strerror}", "not loaded")
            return
        try:
            try:
                done = 0
                while done < file["bytes"]:
                    piece = _from_text(self.ask("project_read", {"path": path, "offset": done}, deadline)["data"])
                    if not piece:
                        break  # it became shorter, which is a new version
                    write_all(handle, piece)
                    done += len(piece)
            finally:
                _close(handle)
            _utime(partial, (file["modified_at"], file["modified_at"]))
            _replace(partial, place)
            self.known[path] = [signature(_lstat(place)), file["version"]]
        except MCPTimeoutError:
            unlink(partial)
            raise
        except (OSError, MCPError, MemoryStoreError) as error:
            unlink(partial)
            reason = error.strerror if type(error) is OSError else str(error)
            self.note(path, f"could not be loaded: {reason}", "not loaded")

    def make_folders(self, path: str) -> None:
        """Makes the folders of a file that are missing."""
        place = self.folder
        for part in path.split("/")[:-1]:
            place = f"{place}/{part}"
            try:
                _mkdir(place, 0o700)
            except FileExistsError:
                continue

    def discard(self, path: str) -> None:
        """Removes a file that is gone on the host, and its folders where they are empty."""
        unlink(f"{self.folder}/{path}")
        parts = path.split("/")[:-1]
        try:
            while parts:
                _rmdir("/".join((self.folder, *parts)))
                parts.pop()
        except OSError:
            return

    # This side

    def send(self, seconds: float) -> str:
        """Sends what changed here since the last time, and what was removed."""
        deadline = _now() + seconds
        view = walk.View(self.folder, self.note, self.staged)
        here = view.found
        changed = [path for path, how in here.items() if path not in self.known or self.known[path][0] != how]
        changed = [path for path in changed if self.refused.get(path) != here[path]]
        gone = [path for path in self.known if path not in here and view.is_gone(path)]
        self.has_sent = bool(changed or gone)
        if self.has_sent:
            try:
                again = [path for path in changed if not self.keep(path, deadline, bool(gone))]
                for path in gone:
                    self.remove(path, deadline)
                for path in again if gone else ():  # there is more room now, or a file in the place of a folder
                    self.keep(path, deadline, False)
            except MCPTimeoutError:
                self.note("", "took too long to be kept; the next call goes on with it")
            finally:
                self.record()
        return self.report()

    def keep(self, path: str, deadline: float, again: bool) -> bool:
        """Sends one file; `again`: where it is refused it is tried once more, and nothing is said yet."""
        try:
            path.encode()
        except UnicodeError:
            self.note(ascii(path), "its name is not UTF-8")
            return True
        try:
            handle = _open(f"{self.folder}/{path}", _REGULAR)
        except OSError as error:
            self.note(path, f"can not be read: {error.strerror}")
            return True
        try:
            facts = _fstat(handle)
            how, total = signature(facts), facts.st_size
            disk = _statvfs(self.folder)
            if not _isreg(facts.st_mode):
                return True
            if total > disk.f_blocks * disk.f_frsize:  # only holes can be larger than the disk that they are on
                self.refused[path] = how
                self.note(path, f"has {total} bytes, more than /projects may hold")
                return True
            file = self.send_pieces(handle, path, total, deadline)
            if file is not False:
                self.known[path] = [how, file["version"] if file else ""]
                self.refused.pop(path, None)
            return True
        except MCPTimeoutError:
            raise
        except (MCPError, MemoryStoreError) as error:
            if not again:
                if isinstance(error, MemoryStoreError):
                    self.refused[path] = how
                self.note(path, str(error))
            return False
        except OSError as error:
            self.note(path, f"can not be read: {error.strerror}")
            return True
        finally:
            _close(handle)

    def send_pieces(self, handle: int, path: str, total: int, deadline: float) -> Any:
        """Sends what a file holds; False where it became shorter meanwhile: it is sent anew the next time."""
        done = 0
        while True:
            piece = _read(handle, min(PIECE_BYTES, total - done)) if total else b""
            if total and not piece:
                return False
            params = {"path": path, "offset": done, "total": total, "data": _to_text(piece, newline=False).decode()}
            file = self.ask("project_write", params, deadline)["file"]
            done += len(piece)
            if done >= total:
                return file

    def remove(self, path: str, deadline: float) -> None:
        """Has a file removed on the host."""
        try:
            self.ask("project_remove", {"path": path}, deadline)
            self.known.pop(path, None)
        except MCPTimeoutError:
            raise
        except (MCPError, MemoryStoreError) as error:
            self.note(path, f"could not be removed: {error}", "not removed")

    # Both

    def ask(self, method: str, params: dict[str, Any], deadline: float) -> Any:
        """Asks the host, and waits until the deadline."""
        left = deadline - _now()
        if left <= 0:
            message = "/projects took too long"
            raise MCPTimeoutError(message)
        return self.rpc.request(method, params, "/projects").result(left)

    def note(self, path: str, reason: str, what: str = "not kept") -> None:
        """Takes note of something to be told, once."""
        note = f"{what}: {self.folder}/{path}: {reason}"
        if note not in self.told and len(self.told) < MAX_FILES:
            self.told.add(note)
            self.notes.append(note)

    def report(self) -> str:
        """Words what there is to tell, "" for nothing."""
        notes, self.notes = self.notes, []
        more = [f"… and {len(notes) - MAX_NOTES} more of /projects"] if len(notes) > MAX_NOTES else []
        return "".join(f"{note}\n" for note in (*notes[:MAX_NOTES], *more))

    def recall(self) -> None:
        """Takes over what the process before this one knew."""
        try:
            handle = _open(NOTEBOOK, _REGULAR)
        except OSError:
            return
        try:
            parts = []
            while piece := _read(handle, PIECE_BYTES):
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
        """Leaves what is known to the process after this one; returns whether there was room."""
        text = _dumps({"staged": self.staged, "known": self.known}).encode()
        unlink(NEW_NOTEBOOK)
        try:
            handle = _open(NEW_NOTEBOOK, _NEW, 0o600)
            try:
                write_all(handle, text)
            finally:
                _close(handle)
            _replace(NEW_NOTEBOOK, NOTEBOOK)
            return True
        except OSError:  # no room: what is here counts as new to the next process
            unlink(NEW_NOTEBOOK)
            unlink(NOTEBOOK)
            return False


def write_all(handle: int, data: bytes) -> None:
    """Writes all of it. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[_write(handle, rest) :]
