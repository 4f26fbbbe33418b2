"""Brings /projects in line with what the host keeps and the host with it, whatever user code does to `os`."""

from __future__ import annotations

import binascii
import posix
import stat
import time
from _collections import deque

from . import walk
from .courier import Courier, copy_name, split_copy
from .notebook import NEW_FILE, write_all
from .results import MCPError, MCPTimeoutError, MemoryStoreError
from .walk import signature, unlink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


_open, _close, _fstat, _lstat = posix.open, posix.close, posix.fstat, posix.lstat
_mkdir, _rmdir, _replace, _utime = posix.mkdir, posix.rmdir, posix.replace, posix.utime
_ftruncate, _lseek, _statvfs = posix.ftruncate, posix.lseek, posix.statvfs
_from_text = binascii.a2b_base64
_now = time.monotonic
_isreg = stat.S_ISREG
_REGULAR = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC

SMALL_BYTES = 64 * 1024  # such files are sent several at a time: the host waits for its disk with all of them at once
MAX_UNDER_WAY = 16
MAX_TRIES = 3
MAX_COPIES = 100


class Mirror(Courier):
    """What is known of both sides."""

    # The host's side

    def fetch(self, seconds: float) -> str:
        """Writes what is new on the host, and removes what is gone there; what was changed here stays."""
        deadline = _now() + seconds
        listed = self.ask("project_list", {}, deadline)["files"]
        view = walk.View(self.folder, self.note, self.notebook.staged)
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
                    continue  # changed on both sides: it is sent, and the host says so
                if entry is not None and path not in here and view.is_gone(path):
                    continue  # removed here meanwhile, which the end of the cell tells the host
                self.load(file, here.get(path), deadline)
            for path in [path for path in self.known if path not in kept]:
                if path not in here and not view.is_gone(path):
                    continue  # taken for new once it is seen again, it would come back to the host
                entry = self.known.pop(path)
                if here.get(path) == entry[0] == self.how(path):
                    self.discard(path)
        finally:
            self.notebook.record()
        return self.report()

    def load(self, file: dict[str, Any], how: list[int] | None, deadline: float) -> None:
        """Writes one file as the host has it; `how` is how the one was that it replaces."""
        path = file["path"]
        place = f"{self.folder}/{path}"
        partial = f"{self.folder}/{self.notebook.staged}"
        try:
            self.notebook.announce()
            self.make_folders(path)
            handle = _open(partial, NEW_FILE, 0o600)
        except OSError as error:
            self.note(path, f"could not be loaded: {error.strerror}", "not loaded")
            return
        try:
            try:
                version = self.load_pieces(handle, file, deadline)
            finally:
                _close(handle)
            _utime(partial, (file["modified_at"], file["modified_at"]))
            loaded = _lstat(partial)
            if self.how(path) != how:  # background code was faster
                unlink(partial)
                return
            _replace(partial, place)
            now = _lstat(place)
            same = (now.st_ino, now.st_mtime_ns, now.st_size) == (loaded.st_ino, loaded.st_mtime_ns, loaded.st_size)
            self.known[path] = [signature(now) if same else [], version]
        except MCPTimeoutError:
            unlink(partial)
            raise
        except (OSError, MCPError, MemoryStoreError) as error:
            unlink(partial)
            reason = error.strerror if type(error) is OSError else str(error)
            self.note(path, f"could not be loaded: {reason}", "not loaded")

    def load_pieces(self, handle: int, file: dict[str, Any], deadline: float) -> str:
        """Writes what a file holds, all of it of one version, which is returned."""
        path, version, done, total = file["path"], file["version"], 0, file["bytes"]
        for _ in range(MAX_TRIES):
            while done < total:
                piece = self.ask("project_read", {"path": path, "offset": done}, deadline)
                data = _from_text(piece["data"])
                if (done and piece["version"] != version) or not data:
                    break  # replaced meanwhile: from the start
                version, total = piece["version"], piece["bytes"]
                write_all(handle, data)
                done += len(data)
            if done >= total:
                return str(version)
            _ftruncate(handle, 0)
            _lseek(handle, 0, 0)
            done, total = 0, max(total, 1)
        message = "it changes all the time"
        raise MemoryStoreError(message)

    def how(self, path: str) -> list[int] | None:
        """Returns how a file is here now, None where there is none."""
        try:
            return signature(_lstat(f"{self.folder}/{path}"))
        except OSError:
            return None

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
        view = walk.View(self.folder, self.note, self.notebook.staged)
        here = view.found
        changed = [path for path, how in here.items() if path not in self.known or self.known[path][0] != how]
        changed = [path for path in changed if self.refused.get(path) != here[path]]
        gone = [path for path in self.known if path not in here and view.is_gone(path)]
        self.has_sent = bool(changed or gone)
        if self.has_sent:
            try:
                again = self.keep_all(changed, deadline, bool(gone))
                for path in gone:
                    self.remove(path, deadline)
                if gone:  # there is more room now, or a file in the place of a folder
                    self.keep_all(again, deadline, False)
            except MCPTimeoutError:
                self.note("", "took too long to be kept; the next call goes on with it")
            finally:
                self.notebook.record()
        return self.report()

    def keep_all(self, paths: list[str], deadline: float, again: bool) -> list[str]:
        """Sends files. With `again`, those that are refused are to be tried once more: they are returned, and nothing is said
        yet."""
        refused, self.is_full = [], False
        under_way: deque[tuple[str, list[int], Any]] = deque()

        def settle() -> None:
            path, how, call = under_way.popleft()
            if not self.settle(path, how, lambda: self.wait(call, deadline), deadline, again):
                refused.append(path)

        try:
            for path in paths:
                handle, how = self.open_file(path)
                if handle < 0:
                    continue
                try:
                    if how[3] <= SMALL_BYTES:
                        call = self.send_small(handle, path, how[3])
                        if call is not None:
                            under_way.append((path, how, call))
                    elif not self.settle(
                        path, how, lambda h=handle, p=path, t=how[3]: self.send_pieces(h, p, t, deadline), deadline, again
                    ):
                        refused.append(path)
                except OSError as error:
                    self.note(path, f"can not be read: {error.strerror}")
                finally:
                    _close(handle)
                while len(under_way) >= MAX_UNDER_WAY:
                    settle()
            while under_way:
                settle()
        finally:
            for _, _, call in under_way:
                call.close()  # nobody waits for these any more
        return refused

    def open_file(self, path: str) -> tuple[int, list[int]]:
        """Opens a file that is to be sent and says how it is; -1 where it cannot be, which is told."""
        try:
            path.encode()
        except UnicodeError:
            self.note(ascii(path), "its name is not UTF-8")
            return -1, []
        handle = -1
        try:
            handle = _open(f"{self.folder}/{path}", _REGULAR)
            facts = _fstat(handle)
            how = signature(facts)
            disk = _statvfs(self.folder)
        except OSError as error:
            self.note(path, f"can not be read: {error.strerror}")
        else:
            if _isreg(facts.st_mode) and facts.st_size <= disk.f_blocks * disk.f_frsize:
                return handle, how
            if _isreg(facts.st_mode):  # only holes can be larger than the disk that they are on
                self.refused[path] = how
                self.note(path, f"has {facts.st_size} bytes, more than /projects may hold")
        if handle >= 0:
            _close(handle)
        return -1, []

    def settle(self, path: str, how: list[int], finish: Callable[[], Any], deadline: float, again: bool) -> bool:
        """Takes the answer to what was sent; False where it is to be tried once more."""
        try:
            answer = finish()
        except MCPTimeoutError:
            raise
        except (MCPError, MemoryStoreError) as error:
            self.is_full = isinstance(error, MemoryStoreError)
            if not again:
                if self.is_full:
                    self.refused[path] = how
                self.note(path, str(error))
            return not again
        except OSError as error:
            self.note(path, f"can not be read: {error.strerror}")
            return True
        if answer is None:
            return True  # it became shorter meanwhile: it is sent anew the next time
        if answer["changed"]:
            self.part(path, deadline)
            return True
        self.known[path] = [how, answer["file"]["version"] if answer["file"] else ""]
        self.refused.pop(path, None)
        return True

    def part(self, path: str, deadline: float) -> None:
        """Keeps a file beside the one of the host, which somebody else changed: that one comes with the next call."""
        folder, _, name = path.rpartition("/")
        prefix = f"{folder}/" if folder and path.split("/")[0] != "memory" else ""
        reason = "somebody else changed it meanwhile, and their version is there"
        origin = self.parted.pop(path, path)
        for number in range(split_copy(name)[1] + 1, MAX_COPIES):
            copy = f"{prefix}{copy_name(name, number)}"
            if copy in self.known or self.how(copy) is not None:
                continue
            try:
                _replace(f"{self.folder}/{path}", f"{self.folder}/{copy}")
            except OSError as error:
                self.note(origin, f"{reason}; this one could not be put aside: {error.strerror}")
                return
            self.known.pop(path, None)
            self.parted[copy] = origin
            try:
                self.keep_all([copy], deadline, False)
            finally:
                if self.parted.pop(copy, ""):  # else somebody else has a copy of this name, and it got another
                    self.tell(origin, reason, f"kept as {self.folder}/{copy}")
            return
        self.note(origin, f"{reason}; of this one there are {MAX_COPIES - 1} copies already: remove some")

    def remove(self, path: str, deadline: float) -> None:
        """Has a file removed on the host."""
        try:
            answer = self.ask("project_remove", {"path": path, "base": self.base(path)}, deadline)
            self.known.pop(path, None)
            if answer["changed"]:
                self.tell(path, "somebody else changed it meanwhile", "not removed")
        except MCPTimeoutError:
            raise
        except (MCPError, MemoryStoreError) as error:
            self.note(path, f"could not be removed: {error}", "not removed")
