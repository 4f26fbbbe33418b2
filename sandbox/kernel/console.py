"""Standard streams of the kernel, and what the interactive built-ins do where there is no terminal."""

from __future__ import annotations

import builtins
import codecs
import fcntl
import io
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

try:
    import ctypes

    _libc: Any = ctypes.CDLL(None)
    _c_stdout: Any = ctypes.c_void_p.in_dll(_libc, "stdout")
except Exception:  # no ctypes, or a libc that hides its stdout: C output then comes when C flushes it
    _libc = None

ERRORS = "sandpy"
LINE_BUFFERED = 1
NO_INPUT = (
    "input() is not available: nobody is at the keyboard of this sandbox. "
    "Pass the value in the code, for example name = 'value'"
)

HIGH = 100  # where no program expects a descriptor

_flush = io.TextIOWrapper.flush
_dup2 = os.dup2
_open_file = os.open
_set_inheritable = os.set_inheritable
_set_blocking = os.set_blocking


def _replace_surrogates(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return b"\xef\xbf\xbd" * (error.end - error.start), error.end


class Input(io.TextIOBase):
    """A standard input that says why it has nothing."""

    name = "<stdin>"
    encoding = "utf-8"
    errors = "strict"

    def readable(self) -> bool:
        """Answers yes: reading is what explains."""
        return True

    def fileno(self) -> int:
        """Returns the descriptor, which is /dev/null."""
        return 0

    def read(self, size: int | None = -1, /) -> NoReturn:
        """Refuses."""
        raise EOFError(NO_INPUT)

    def readline(self, size: int | None = -1, /) -> NoReturn:  # type: ignore[override]
        """Refuses."""
        raise EOFError(NO_INPUT)

    def __next__(self) -> NoReturn:
        raise EOFError(NO_INPUT)


class Exit:
    """`exit` and `quit`: end the cell, keep the state."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{self.name}() ends the cell; variables stay"

    def __call__(self, code: object = None) -> NoReturn:
        """Ends the cell with an exit code."""
        raise SystemExit(code)


def read_input(prompt: object = "", /) -> NoReturn:
    """Stands in for the built-in `input`."""
    raise EOFError(NO_INPUT)


class Console:
    """The text streams over descriptors 1 and 2, and over 0 where somebody writes to it."""

    def __init__(self, has_stdin: bool = False) -> None:
        codecs.register_error(ERRORS, _replace_surrogates)
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        high = HIGH if most > 2 * HIGH else most // 2
        self.spares = {fd: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, high) for fd in (1, 2)}
        self.has_stdin = has_stdin
        self.stdin = self._open_input()
        self.stdout = self._open(1, "<stdout>")
        self.stderr = self._open(2, "<stderr>")
        sys.stdin = sys.__stdin__ = self.stdin  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self.stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.stderr  # type: ignore[misc]
        if not has_stdin:
            builtins.input = read_input
        builtins.exit = Exit("exit")  # type: ignore[assignment]
        builtins.quit = Exit("quit")  # type: ignore[assignment]
        if _libc is not None:
            _libc.setvbuf(_c_stdout, None, LINE_BUFFERED, 0)

    def _open_input(self) -> io.TextIOBase:
        if not self.has_stdin:
            return Input()
        raw = io.FileIO(0, "r", closefd=False)
        raw.name = "<stdin>"  # type: ignore[misc]
        return io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8", errors="surrogateescape")

    def _open(self, fd: int, name: str) -> io.TextIOWrapper:
        raw = io.FileIO(fd, "w", closefd=False)
        raw.name = name  # type: ignore[misc]
        # stderr shows half lines at once, as Python's own does where it is a terminal
        return io.TextIOWrapper(
            io.BufferedWriter(raw), encoding="utf-8", errors=ERRORS, line_buffering=True, write_through=fd == 2
        )

    def repair(self) -> None:
        """Before a cell: puts back streams that an earlier one closed, removed or made non-blocking."""
        self.repair_descriptors()
        for name in ("stdin", "stdout", "stderr"):
            own = getattr(self, name)
            if own.closed:
                own = self._open(1 if name == "stdout" else 2, f"<{name}>") if name != "stdin" else self._open_input()
                setattr(self, name, own)
            current = getattr(sys, name, None)
            try:
                usable = current is not None and not current.closed
            except Exception:  # a stand-in of the user's without `closed`
                usable = hasattr(current, "write") or hasattr(current, "read")
            if not usable:
                setattr(sys, name, own)
            for method in ("write", "flush"):
                vars(own).pop(method, None)

    def repair_descriptors(self) -> None:
        """Puts back those of 0, 1 and 2 that are closed: the next file would get their number, and all output."""
        for fd in (0, 1, 2):
            try:
                _set_blocking(fd, True)
            except OSError:
                try:
                    if fd == 0:
                        _set_inheritable(_open_file(os.devnull, os.O_RDWR), True)  # the lowest number is free
                    else:
                        _dup2(self.spares[fd], fd)
                except OSError:  # the spare was closed too, or no descriptor is free
                    continue

    def note(self, text: str) -> None:
        """Writes a text of ours to stderr, even where the user closed it."""
        if text:
            self.repair()
            self.stderr.write(text)

    def flush(self) -> None:
        """Pushes out all that was written, whoever buffers it."""
        for stream in (self.stdout, self.stderr):
            try:
                _flush(stream)
            except Exception:  # closed by the user
                continue
        if _libc is not None:
            _libc.fflush(_c_stdout)

    def flush_foreign(self) -> None:
        """Flushes streams that the user put in the place of ours; runs the user's code."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not self.stdout and stream is not self.stderr and stream is not None:
                try:
                    stream.flush()
                except Exception:
                    continue
