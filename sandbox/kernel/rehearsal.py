"""Tries code in a child process first: what ends, blocks or crashes Python there does it to nobody else."""

from __future__ import annotations

import _signal as signal  # without the names that `enum` makes for it
import os
import select
import time

from .codec import decode, encode
from .late import load
from .suppress import Suppress
from .toolfile import PATH
from .wire import ForkedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

SECONDS = 2.0
MAX_BYTES = 8192

_fork, _pipe, _read, _write, _close = os.fork, os.pipe, os.read, os.write, os.close
_exit, _kill, _waitpid, _dup2, _open = os._exit, os.kill, os.waitpid, os.dup2, os.open
_monotonic = time.monotonic
_poll = select.poll


def rehearse(code: Callable[[], Any]) -> str | None:
    """Runs code in a child; returns how it failed, None where it did not, or not for a reason that holds here too."""
    answer, said = _pipe()
    child = _fork()
    if child == 0:
        try:
            _write(said, encode(_attempt(code)).encode())
        finally:
            _exit(0)
    _close(said)
    try:
        heard, in_time = _listen(answer)
    finally:
        _close(answer)
        with Suppress(ProcessLookupError):
            _kill(child, signal.SIGKILL)
        with Suppress(ChildProcessError):
            _waitpid(child, 0)
    if not in_time:
        return f"it did not end within {SECONDS:g} s"
    try:
        return decode(heard.decode())
    except ValueError:
        return "it ends Python"


def _attempt(code: Callable[[], Any]) -> str | None:
    null = _open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        _dup2(null, descriptor)
    try:
        code()
    except ForkedError:  # it asked the host for something, which only the session itself can
        return None
    except BaseException as error:
        return describe(error)
    return None


def describe(error: BaseException) -> str:
    """Words an exception of the file on one line, with the line that it comes from."""
    number, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == PATH:
            number = trace.tb_lineno
        trace = trace.tb_next
    try:
        text = f"{type(error).__name__}: {error}"[:500]
    except Exception:
        text = type(error).__name__
    line = (load("linecache").getline(PATH, number) if number else "").strip()
    return f"line {number}: {text}" + (f": {line[:100]}" if line else "")


def _listen(answer: int) -> tuple[bytes, bool]:
    deadline, parts = _monotonic() + SECONDS, []
    poll = _poll()
    poll.register(answer, select.POLLIN)
    while True:
        left = deadline - _monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return b"", False
        part = _read(answer, MAX_BYTES)
        if not part:
            return b"".join(parts), True
        parts.append(part)
