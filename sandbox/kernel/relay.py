"""The buffers between the host and the kernel: lines in, bounded queues out, text of the output pipes."""

from __future__ import annotations

import codecs
import fcntl
import os
import sys
import termios
from _collections import deque
from itertools import islice

from .codec import render
from .suppress import Suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DISPLAY = b'{"type":"display",'

_EXECUTE = b'["k",{"type":"execute","id":'
_DONE = b'{"type":"done","id":'
_DIGITS = 16
MAX_TO_HOST = 1024 * 1024
SHORT = 64 * 1024  # to copy it costs less than parts
MAX_BATCH = 64  # parts written at once


def execute_id(line: bytes) -> int | None:
    """Returns the id of the host's `execute`, None for any other line."""
    return _number(line, _EXECUTE)


def done_id(line: bytes) -> int | None:
    """Returns the id of the kernel's `done`, None for any other line."""
    return _number(line, _DONE)


def _number(line: bytes, head: bytes) -> int | None:
    if not line.startswith(head):
        return None
    digits, end, _ = line[len(head) : len(head) + _DIGITS + 1].replace(b"}", b",").partition(b",")
    return int(digits) if end and digits.isdigit() else None


class LineTooLongError(Exception):
    """A line went over the limit before its LF came."""


class Lines:
    """Cuts a byte stream at LF, holding back at most one unfinished line of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.parts: list[bytes] = []
        self.size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Returns the lines that `chunk` completes, without their LF; empty ones are dropped."""
        head, *rest = chunk.split(b"\n")
        self.parts.append(head)
        self.size += len(head)
        self._check(self.size)
        if not rest:
            return []
        lines = [b"".join(self.parts), *rest[:-1]]
        self.parts = [rest[-1]]
        self.size = len(rest[-1])
        return [line for line in lines if line]

    def _check(self, size: int) -> None:
        if size > self.limit:
            message = f"a line of more than {self.limit} bytes"
            raise LineTooLongError(message)


class Queue:
    """Bytes that wait until a non-blocking descriptor takes them."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.parts: deque[memoryview] = deque()

    def put(self, *parts: bytes) -> None:
        """Queues bytes; `flush` writes them."""
        size = sum(map(len, parts))
        self.size += size
        self.parts.extend(map(memoryview, parts if size > SHORT else (b"".join(parts),)))

    def flush(self) -> None:
        """Writes what the descriptor takes now. Raises OSError when the reader is gone."""
        while self.parts:
            try:
                written = os.writev(self.fd, list(islice(self.parts, MAX_BATCH)))
            except BlockingIOError:
                return
            self.size -= written
            while written:
                part = self.parts[0]
                if written < len(part):
                    self.parts[0] = part[written:]
                    break
                written -= len(part)
                self.parts.popleft()


class Host(Queue):
    """What waits for the host."""

    @property
    def keeps_up(self) -> bool:
        """Whether it takes what there is; else no more is read from the kernel."""
        return self.size < MAX_TO_HOST

    def say(self, frame: dict[str, Any]) -> None:
        """Queues one frame of the supervisor's own."""
        self.put(b'["s",', render(frame), b"]\n")

    def relay(self, lines: list[bytes]) -> None:
        """Queues frames of the kernel's."""
        if sum(map(len, lines)) > SHORT:
            for line in lines:
                self.put(b'["k",', line, b"]\n")
        elif lines:
            self.put(b'["k",%b]\n' % b']\n["k",'.join(lines))

    def finish(self) -> None:
        """Writes all of it, however long that takes."""
        os.set_blocking(self.fd, True)
        with Suppress(OSError):
            self.flush()


class Text:
    """Turns the bytes of one output pipe into text; a character that is cut in two waits for its rest."""

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self.fd = fd
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def decode(self, chunk: bytes, final: bool = False) -> str:
        """Decodes what is complete; invalid bytes become U+FFFD."""
        return self.decoder.decode(chunk, final)

    def pieces(self, most: int) -> Iterator[bytes]:
        """Reads what is in the pipe now, at most so many bytes at a time."""
        left = pending(self.fd)
        while left > 0:
            chunk = read_now(self.fd, min(left, most))
            if not chunk:
                return
            left -= len(chunk)
            yield chunk


def read_now(fd: int, most: int) -> bytes | None:
    """Reads what there is of a descriptor, b"" at its end; None where there is nothing yet."""
    try:
        return os.read(fd, most)
    except BlockingIOError:
        return None


def pending(fd: int) -> int:
    """Returns how many bytes wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)
