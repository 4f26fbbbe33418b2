"""The folders in memory of a container: what their files take of it, which no death of a process gives back."""

from __future__ import annotations

import os

from .suppress import Suppress

FOLDERS = ("/tmp", "/workspace", "/dev/shm", "/projects")  # noqa: S108
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
FILE_BYTES = 1024  # what the kernel needs for each, also for an empty one
MAX_FILES = 200_000  # where nothing else bounds them
MIB = 1024 * 1024


def count(folders: tuple[str, ...] = FOLDERS) -> tuple[int, int]:
    """Returns how many files there are, and about how many bytes of memory they take with their contents."""
    files = held = 0
    for folder in folders:
        with Suppress(OSError):
            facts = os.statvfs(folder)
            used = facts.f_files - facts.f_ffree
            files += used
            held += (facts.f_blocks - facts.f_bfree) * facts.f_frsize + used * FILE_BYTES
    return files, held


def memory_limit(places: tuple[str, ...] = LIMITS) -> int | None:
    """Returns the memory limit of this container; None where it is not known."""
    for place in places:
        with Suppress(OSError, ValueError), open(place, encoding="ascii") as file:  # noqa: PTH123
            return int(file.read())
    return None


def blame(folders: tuple[str, ...] = FOLDERS, places: tuple[str, ...] = LIMITS) -> str | None:
    """Says how much files hold where they leave a fresh Python too little: less than a quarter of the limit."""
    limit = memory_limit(places)
    files, held = count(folders)
    if limit is None or held < limit - limit // 4:
        return None
    return f"{files} files in {', '.join(folders)} hold about {held // MIB} of {limit // MIB} MiB"


def too_many(folders: tuple[str, ...] = FOLDERS) -> str | None:
    """Says that there are more files than may be where the memory that they take has no limit."""
    files, _ = count(folders)
    return f"more than {MAX_FILES} files were made in {', '.join(folders)}" if files > MAX_FILES else None
