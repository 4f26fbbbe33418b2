"""Keeps the whole of a long output in a file of the sandbox, for what the host has to leave out."""

from __future__ import annotations

import os
from _collections import deque

from .suppress import Suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

FOLDER = ".sandpy-output"
FILE_BYTES = 16 * 1024 * 1024
ALL_BYTES = 40 * 1024 * 1024  # of all files; the container's /tmp has 64 MiB
FILES = 4
DEFAULT_HEAD = 64 * 1024

# The folder is user code's to change: nothing that it puts there may be followed, waited for or written to.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stream:
    """What one execution wrote to one stream: its beginning in memory, all of it in a file once it is long."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.head = bytearray()
        self.size = 0  # of all that was written
        self.kept = 0  # of what the file holds
        self.cap = 0  # of what the file may hold
        self.fd = -1
        self.is_open = True  # takes more

    def close(self) -> None:
        """Ends the file."""
        self.is_open = False
        self.head = bytearray()
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Spill:
    """The files of one sandbox. Whatever fails only means that less is kept."""

    def __init__(self, head_bytes: int | None, say: Callable[[dict[str, Any]], None]) -> None:
        self.head_bytes = DEFAULT_HEAD if head_bytes is None else head_bytes
        self.say = say
        self.folder = os.path.join(os.environ.get("TMPDIR") or "/tmp", FOLDER)  # noqa: PTH118
        self.execution: int | None = None
        self.streams: dict[str, Stream] = {}
        self.files: deque[tuple[str, int]] = deque()  # names and sizes, the oldest first

    def begin(self, execution: int) -> None:
        """Starts to keep what is written."""
        self.close()
        if self.head_bytes < FILE_BYTES:  # else the host keeps more than a file would
            self.execution = execution

    def take(self, name: str, chunk: bytes) -> None:
        """Takes what was written to a stream."""
        if self.execution is None:
            return
        stream = self.streams.get(name)
        if stream is None:
            stream = self.streams[name] = Stream(name)
        stream.size += len(chunk)
        if not stream.is_open:
            return
        if stream.fd >= 0:
            self.write(stream, chunk)
            return
        stream.head += chunk
        if stream.size > self.head_bytes:
            self.open(stream)

    def end(self) -> None:
        """Ends the execution; says which of its streams are in files."""
        for stream in self.streams.values():
            if stream.kept:
                path = f"{self.folder}/{self.file_name(stream)}"
                frame = {"type": "spilled", "name": stream.name, "path": path}
                self.say({**frame, "bytes": stream.size, "kept": stream.kept})
        self.close()

    def close(self) -> None:
        """Forgets the execution; its files stay."""
        for stream in self.streams.values():
            stream.close()
            if stream.kept:
                self.files.append((self.file_name(stream), stream.kept))
        self.streams = {}
        self.execution = None

    def remove(self) -> None:
        """Removes what is left, at the end of the sandbox."""
        self.close()
        with Suppress(OSError):
            folder = os.open(self.folder, _DIRECTORY)
            for name, _ in self.files:
                with Suppress(OSError):
                    os.unlink(name, dir_fd=folder)
            os.rmdir(self.folder)  # noqa: PTH106

    def file_name(self, stream: Stream) -> str:
        """Returns the name of the file of a stream of this execution."""
        return f"{self.execution}-{stream.name}.txt"

    def open(self, stream: Stream) -> None:
        """Starts the file of a stream with what was held back so far."""
        head, stream.head = stream.head, bytearray()
        folder = -1
        try:
            with Suppress(FileExistsError):
                os.mkdir(self.folder, 0o700)  # noqa: PTH102
            folder = os.open(self.folder, _DIRECTORY)
            others = sum(each.kept > 0 for each in self.streams.values())
            room = ALL_BYTES - (1 + others) * FILE_BYTES
            while self.files and (len(self.files) + others >= FILES or sum(size for _, size in self.files) > room):
                with Suppress(OSError):
                    os.unlink(self.files.popleft()[0], dir_fd=folder)
            name = self.file_name(stream)
            with Suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            stream.fd = os.open(name, _NEW, 0o600, dir_fd=folder)
            disk = os.fstatvfs(stream.fd)
            stream.cap = min(FILE_BYTES, disk.f_bavail * disk.f_frsize // 2)  # code needs room too
        except OSError:
            stream.is_open = False
        finally:
            if folder >= 0:
                os.close(folder)
        if stream.fd >= 0:
            self.write(stream, head)

    def write(self, stream: Stream, chunk: bytes | bytearray) -> None:
        """Appends to a file, up to its cap."""
        part = chunk[: stream.cap - stream.kept]
        try:
            written = os.write(stream.fd, part)
        except OSError:
            written = 0
        stream.kept += written
        if written < len(part) or stream.kept >= stream.cap:
            stream.close()
