"""Looks through /projects for the files that can be kept; what user code does to `os` is of no effect."""

from __future__ import annotations

import errno
import posix
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_lstat, _scandir, _unlink = posix.lstat, posix.scandir, posix.unlink
_isreg, _isdir = stat.S_ISREG, stat.S_ISDIR

MAX_FILES = 10_000
MAX_ENTRIES = 4 * MAX_FILES
MAX_LEVELS = 16
SKIPPED = ("__pycache__",)

KINDS = (
    (stat.S_ISLNK, "is a symbolic link"),
    (stat.S_ISFIFO, "is a named pipe"),
    (stat.S_ISSOCK, "is a socket"),
)


class View:
    """The regular files that were found, by path; what hides others is in `covered`, and `partial` says that there is
    more. `note` takes what is not kept, and why; `staged` is the name at the top that is passed over."""

    def __init__(self, folder: str, note: Callable[..., None], staged: str = "") -> None:
        self.note = note
        self.staged = staged
        self.found: dict[str, list[int]] = {}
        self.covered: list[str] = []
        self.partial = False
        self.left = MAX_ENTRIES
        self.walk(folder, "", 1)

    def is_gone(self, path: str) -> bool:
        """Whether a file that was not found is not there, rather than out of sight."""
        return not self.partial and not any(is_below(path, each) for each in self.covered)

    def walk(self, folder: str, prefix: str, level: int) -> None:
        """Looks through one folder."""
        try:
            with _scandir(folder) as entries:
                for entry in entries:
                    self.left -= 1
                    if len(self.found) >= MAX_FILES or self.left < 0:
                        self.partial = True
                        self.note("", f"has more than {MAX_FILES} files: those that are too many are not kept")
                        return
                    self.look(entry.name, folder, prefix, level)
        except OSError as error:  # what is in it is out of sight, not gone
            self.covered.append(prefix)
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self.partial = True  # what holds all descriptors lets go of them; the next cell looks again
            else:
                self.note(prefix, f"can not be listed: {error.strerror}")

    def look(self, name: str, folder: str, prefix: str, level: int) -> None:
        """Looks at one entry."""
        path, place = prefix + name, f"{folder}/{name}"
        try:
            facts = _lstat(place)
        except FileNotFoundError:  # removed meanwhile
            return
        except OSError as error:
            self.covered.append(path)
            self.note(path, f"can not be looked at: {error.strerror}")
            return
        if path == self.staged:
            return
        if _isdir(facts.st_mode):
            if name in SKIPPED:
                return
            if level >= MAX_LEVELS:
                self.covered.append(f"{path}/")
                self.note(path, f"is more than {MAX_LEVELS} levels deep")
            else:
                self.walk(place, f"{path}/", level + 1)
        elif not _isreg(facts.st_mode):
            self.covered.append(path)
            reasons = [reason for test, reason in KINDS if test(facts.st_mode)]
            self.note(path, *(reasons or ["is no regular file"]))
        else:
            self.found[path] = signature(facts)


def is_below(path: str, covered: str) -> bool:
    """Whether a path is one that is covered, or in the folder of that name; "" stands for all of them."""
    return path == covered or path.startswith(covered if covered[-1:] in ("", "/") else f"{covered}/")


def signature(facts: Any) -> list[int]:
    """Returns what changes whenever a file does."""
    return [facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size]


def unlink(place: str) -> None:
    """Removes a file that may be gone."""
    try:
        _unlink(place)
    except OSError:
        return
