"""How much memory the sandbox holds; asked for by the host while somebody looks, and answered within milliseconds."""

from __future__ import annotations

import os

from .suppress import Suppress

CGROUP = "/sys/fs/cgroup"
PROC = "/proc"
MAX_PROCESSES = 1024


def memory_bytes(cgroup: str = CGROUP, proc: str = PROC) -> int | None:
    """Returns what the container's cgroup counts, without files that are only cached; else what its processes hold."""
    with Suppress(OSError, ValueError):
        # Only a cgroup below the root has this file, and in the container that is the container's own.
        with open(f"{cgroup}/memory.current", encoding="ascii") as file:  # noqa: PTH123
            total = int(file.read())
        with open(f"{cgroup}/memory.stat", encoding="ascii") as file:  # noqa: PTH123
            for line in file:
                name, _, value = line.partition(" ")
                if name == "inactive_file":
                    return max(total - int(value), 0)
    with Suppress(OSError):
        return _held(proc)
    return None


def _held(proc: str) -> int | None:
    """Sums up the pages of each process that no file backs, and the most that one has of the others."""
    own = shared = count = 0
    for name in os.listdir(proc):  # noqa: PTH208
        if not name.isdigit():
            continue
        count += 1
        if count > MAX_PROCESSES:
            break
        with Suppress(OSError, ValueError, IndexError), open(f"{proc}/{name}/statm", encoding="ascii") as file:  # noqa: PTH123
            pages = file.read().split()
            own += int(pages[1]) - int(pages[2])
            shared = max(shared, int(pages[2]))
    return (own + shared) * os.sysconf("SC_PAGE_SIZE") if count else None
