"""Processes as the supervisor sees them: fork, confine, kill, reap, and why one died."""

from __future__ import annotations

import _signal as signal  # without the names that `enum` makes for it
import os
import resource
import select
import time

from .suppress import Suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn

try:
    import ctypes

    _libc: Any = ctypes.CDLL(None, use_errno=True)
except Exception:  # an image without ctypes or with a static Python: the guards below are then left out
    _libc = None

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
KILL_SECONDS = 5.0
KILL_AGAIN_MS = 1  # what was forked while all were killed
FORK_SECONDS = 5.0
OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def prctl(option: int, value: int) -> None:
    """Calls prctl where that is possible."""
    if _libc is not None:
        _libc.prctl(option, value, 0, 0, 0)


def oom_kills() -> int | None:
    """Reads how many processes the kernel killed in this cgroup for want of memory; None if it does not say."""
    for path in OOM_COUNTERS:
        with Suppress(OSError, ValueError), open(path, encoding="ascii") as file:  # noqa: PTH123
            for line in file:
                name, _, value = line.partition(" ")
                if name == "oom_kill":
                    return int(value)
    return None


def measured() -> dict[str, Any]:
    """Builds the `measured` frame."""
    from .measure import memory_bytes  # few are ever asked

    return {"type": "measured", "memory_bytes": memory_bytes()}


class Kernel:
    """One forked kernel: its pid and our ends of its pipes; without `has_stdin` its standard input is empty."""

    def __init__(self, generation: int, has_stdin: bool = False) -> None:
        self.generation = generation
        self.pid = 0
        self.reaped = False
        self.oom_kills = oom_kills()
        kernel_in, self.frames_in = os.pipe()
        self.frames_out, kernel_out = os.pipe()
        self.stdout, kernel_stdout = os.pipe()
        self.stderr, kernel_stderr = os.pipe()
        self.theirs = [kernel_in, kernel_out, kernel_stdout, kernel_stderr]
        self.has_stdin = has_stdin
        self.stdin: int | None = None
        if has_stdin:
            kernel_stdin, self.stdin = os.pipe()
            self.theirs.append(kernel_stdin)

    def fork(self, limits: dict[str, int] | None, run: Callable[[int, int], NoReturn]) -> None:
        """Forks; the child calls `run` with its two frame pipes and never returns."""
        deadline = time.monotonic() + FORK_SECONDS
        while True:
            try:
                self.pid = os.fork()
                break
            except BlockingIOError:  # processes of the last kernel are still on their way out
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.005)
        if self.pid == 0:
            try:
                _confine(self.theirs, limits)
                run(*self.theirs[:2])
            finally:
                os._exit(70)
        for fd in self.theirs:
            os.close(fd)
        for fd in (self.frames_in, self.frames_out, self.stdout, self.stderr, self.stdin):
            if fd is not None:
                os.set_blocking(fd, False)

    def interrupt(self) -> None:
        """Sends SIGINT as a terminal does, to the process group: a child that the kernel waits for gets it too."""
        with Suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGINT)

    def kill(self, wakeup: int) -> None:
        """Kills the kernel and all that it left, and reaps. `wakeup` can be read when a child has ended."""
        if os.getpid() == 1:
            _kill_namespace(wakeup)
            return
        with Suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        if not self.reaped:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.reaped = True

    def close(self) -> None:
        """Closes our ends of the pipes, but for the input, which its writer closes."""
        for fd in (self.frames_in, self.frames_out, self.stdout, self.stderr):
            os.close(fd)

    def cause(self, status: int) -> dict[str, Any]:
        """Says how it died, from its wait status, in the fields of a `died` frame."""
        if os.WIFEXITED(status):
            return {"reason": "exit", "code": os.WEXITSTATUS(status), "signal": None, "detail": None}
        number = os.WTERMSIG(status)
        from signal import Signals  # costs much, and deaths are rare

        try:
            name = Signals(number).name
        except ValueError:
            name = f"SIG{number}"
        cause = {"reason": "signal", "code": None, "signal": name, "detail": None}
        if number == signal.SIGKILL:
            now = oom_kills()
            if now is None:
                cause.update(reason="out_of_memory", detail="killed, most likely out of memory")
            elif now > (self.oom_kills or 0):
                cause.update(reason="out_of_memory", detail="killed by the system: the memory limit was reached")
        return cause


def set_up() -> int:
    """Makes the supervisor's descriptors never block; returns one that can be read when a child has ended."""
    wakeup, wakeup_write = os.pipe()
    for fd in (0, 1, wakeup, wakeup_write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # A handler would let user code end PID 1; without one, the system drops signals from inside the container.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return wakeup


def drain(wakeup: int) -> None:
    """Takes what the system wrote into the wake-up pipe."""
    with Suppress(BlockingIOError):
        os.read(wakeup, 4096)


def reap() -> dict[int, int]:
    """Reaps all who have ended; returns the wait status of each pid."""
    ended = {}
    with Suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = status
    return ended


def _kill_namespace(wakeup: int) -> None:
    """Kills every process but PID 1, which is us, and waits until they are gone."""
    ended = select.poll()
    ended.register(wakeup, select.POLLIN)
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        with Suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        reap()
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        ended.poll(KILL_AGAIN_MS)
        drain(wakeup)


def _confine(theirs: list[int], limits: dict[str, int] | None) -> None:
    """Makes the forked child an ordinary process of its own, without a trace of the supervisor's descriptors."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    prctl(PR_SET_DUMPABLE, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(theirs[4] if len(theirs) > 4 else os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(theirs[2], 1)
    os.dup2(theirs[3], 2)
    first = 3
    for fd in (*sorted(theirs[:2]), 256):
        os.closerange(first, fd)
        first = fd + 1
    with Suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("1000")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits:
        _limit(resource.RLIMIT_AS, limits["memory_bytes"])
        _limit(resource.RLIMIT_NPROC, limits["processes"])


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, value))


def complain(message: str) -> None:
    """Writes a line to the container's stderr, for the host's log."""
    with Suppress(OSError):
        os.write(2, f"sandpy supervisor: {message}\n".encode())
