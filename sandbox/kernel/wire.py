"""The kernel's end of the frame pipes: sends whole lines from any thread, and reads on a thread of its own."""

from __future__ import annotations

import _thread
import os
import select

from .codec import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any, Callable

CHUNK = 64 * 1024  # what a pipe holds; malloc maps larger buffers anew for each read

_read = os.read
_write = os.write
_getpid = os.getpid
_exit = os._exit
_poll = select.poll
_POLLOUT = select.POLLOUT
_TYPE = b'{"type":"'
_ID = b'","id":'


def head_of(line: bytes) -> tuple[str, int] | None:
    """Returns the type and the id of a frame, as far as they are its first two keys, without reading all of it."""
    kind, found, rest = line[:64].partition(_ID)
    digits, end, _ = rest.replace(b"}", b",").partition(b",")
    if not (found and end and kind.startswith(_TYPE) and digits.isdigit()):
        return None
    return kind[len(_TYPE) :].decode("ascii", "replace"), int(digits)


class ForkedError(RuntimeError):
    """A process that user code forked wants something of the host."""


class Wire:
    """Both pipes. `shield` keeps an interrupt from cutting a frame in two."""

    def __init__(self, frames_in: int, frames_out: int, max_bytes: int, shield: AbstractContextManager) -> None:
        self.frames_in = frames_in
        self.frames_out = frames_out
        self.max_bytes = max_bytes
        self.shield = shield
        self.lock = _thread.allocate_lock()
        self.pid = _getpid()
        os.register_at_fork(after_in_child=self.abandon)

    def abandon(self) -> None:
        """Closes the pipes in a process that user code forked: only the kernel itself speaks."""
        for fd in (self.frames_in, self.frames_out):
            if fd >= 0:
                os.close(fd)
        self.frames_in = self.frames_out = -1

    def send(self, frame: dict[str, Any]) -> None:
        """Sends a frame. Raises what `encode` raises, or ForkedError in a forked process."""
        if _getpid() != self.pid:
            message = "only the process that runs the cell can reach the host, not one that it forked"
            raise ForkedError(message)
        line = encode(frame, self.max_bytes).encode("ascii")
        with self.shield, self.lock:
            # The first LF ends what user code may have left in the pipe; empty lines mean nothing.
            self._write(b"\n%b\n" % line)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[_write(self.frames_out, rest) :]
            except BlockingIOError:  # user code made the pipe non-blocking
                poll = _poll()
                poll.register(self.frames_out, _POLLOUT)
                poll.poll()

    def start(self, on_frame: Callable[[dict[str, Any]], None], on_unreadable: Callable[[str, int, str], None]) -> None:
        """Starts the reader. It gives up on nothing: a frame that fails goes, by type and id, to `on_unreadable`."""

        def serve(line: bytes) -> None:
            try:
                on_frame(decode(line.decode()))
            except BaseException as error:
                head = head_of(line)
                if head:
                    on_unreadable(*head, f"{type(error).__name__}: {error}")

        def read() -> None:
            parts: list[bytes] = []
            while True:
                chunk = _read(self.frames_in, CHUNK)
                if not chunk:
                    _exit(0)  # the supervisor is gone
                head, *rest = chunk.split(b"\n")
                parts.append(head)
                if not rest:
                    continue
                lines = [b"".join(parts), *rest[:-1]]
                parts = [rest[-1]]
                for line in lines:
                    try:
                        if line:
                            serve(line)
                    except BaseException:  # what failed has no one to hear of it, and the next frame may be fine
                        continue

        _thread.start_new_thread(read, ())
