"""PID 1 of the container: holds its stdin and stdout, forks the kernel, relays frames and output, and never blocks."""

from __future__ import annotations

import errno
import os
import time

from . import late, process, runner
from .codec import decode
from .endings import EXIT_BROKEN, Endings
from .hello import PROTOCOL, hello
from .inlet import Inlet
from .outlet import Outlets
from .process import complain
from .relay import DISPLAY, Host, Lines, LineTooLongError, Queue, Text, done_id, execute_id, pending, read_now
from .spill import Spill
from .suppress import Suppress
from .watcher import EVENT_READ, EVENT_WRITE, Watcher, glance, time_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn

CHUNK = STREAM_BYTES = 64 * 1024  # what a pipe holds; malloc maps larger buffers anew for each read
MAX_TO_KERNEL = 128 * 1024 * 1024
WRAPPING = len(b'["k",]')
HANGUP_SECONDS = 1.0
MAX_USELESS_KERNELS = 3


class Supervisor(Endings):
    """The event loop of PID 1, with at most one kernel at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.max_line = int(settings["max_frame_bytes"])
        self.limits = settings["rlimits"]
        self.projects = settings.get("projects")
        self.has_stdin = settings.get("stdin") is True
        self.host = Host(1)
        self.say = self.host.say
        self.spill = Spill(settings.get("output_bytes"), self.say)
        self.outlets = Outlets(settings.get("whole_output") is True, self.spill.head_bytes, self.say)
        self.from_host = Lines(self.max_line)
        self.watcher = Watcher(self.warm_up)
        self.generation = 0
        self.useless = 0  # kernels in a row that died before they executed anything; -1 once this one has
        self.wakeup = process.set_up()

    def run(self) -> NoReturn:
        """Serves until stdin ends."""
        self.start_kernel()
        while True:
            self.look_at_files(self.limits)
            try:
                self.host.flush()
            except OSError:
                self.end(0)  # the host is gone
            self.update_interest()
            generation = self.generation
            patience = time_to(self.hangup, self.outlets.due if self.host.keeps_up else None, self.look)
            for callback, mask in self.watcher.wait(patience, not (self.touched or self.host.parts)):
                if self.generation == generation:  # else the descriptors of these events are gone
                    callback(mask)
            if self.host.keeps_up:
                self.outlets.flush_due()
            if self.hangup is not None and time.monotonic() >= self.hangup:
                self.end_kernel("protocol", "the kernel closed its channel to the supervisor")

    def update_interest(self) -> None:
        """Reads from the kernel only while the host keeps up, and writes where something waits."""
        keeps_up, to_host, to_kernel = self.host.keeps_up, bool(self.host.parts), bool(self.to_kernel.parts)
        if not self.watcher.is_news(self.kernel, keeps_up, to_host, to_kernel, self.inlet.waits):
            return
        self.watcher.set(0, EVENT_READ, self.on_host)
        self.watcher.set(1, EVENT_WRITE * to_host, lambda _: None)
        self.watcher.set(self.wakeup, EVENT_READ, self.on_child)
        for fd, callback in self.sources.items():
            self.watcher.set(fd, EVENT_READ * keeps_up, callback)
        self.inlet.update_interest()
        self.watcher.set(self.kernel.frames_in, EVENT_WRITE * to_kernel, lambda _: self.flush_kernel())

    # From the host

    def on_host(self, _: int) -> None:
        """Reads from the host and acts on the lines."""
        try:
            chunk = os.read(0, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.end(0)
        try:
            lines = self.from_host.feed(chunk)
        except LineTooLongError as error:
            complain(f"the host sent {error}")
            self.end(EXIT_BROKEN)
        for line in lines:
            if line.startswith(b'["k",'):
                self.forward(line)
            else:
                self.flush_kernel()
                self.obey(line)
        self.flush_kernel()

    def forward(self, line: bytes) -> None:
        """Hands a frame to the kernel."""
        self.touched = True
        execute = execute_id(line)
        if execute is not None:
            self.executing = execute
            self.interrupts = 0
            self.useless = -1
            self.outlets.restart()
            self.spill.begin(self.executing)
        # The first LF ends what user code may have written into the pipe; empty lines mean nothing.
        self.to_kernel.put(b"\n", line[5:-1], b"\n")
        if self.to_kernel.size > MAX_TO_KERNEL:
            self.end_kernel("protocol", f"the kernel left more than {MAX_TO_KERNEL} bytes unread")

    def flush_kernel(self) -> None:
        """Writes what the kernel takes; the end of a dead kernel's pipe is not our event."""
        try:
            self.to_kernel.flush()
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise
            self.to_kernel = Queue(self.kernel.frames_in)

    def obey(self, line: bytes) -> None:
        """Acts on a frame that is meant for us."""
        try:
            who, frame = decode(line.decode())
            kind = frame["type"]
        except (ValueError, TypeError, KeyError, RecursionError):
            who = kind = None
        if who == "s" and kind == "interrupt":
            if self.executing is not None and frame.get("id") == self.executing:
                self.interrupts += 1
                self.kernel.interrupt()
                # The signal is lost on a cell that has not begun and on one that waits in C code which ignores it.
                self.to_kernel.put(b'\n{"type":"interrupt","id":%d,"nth":%d}\n' % (self.executing, self.interrupts))
                self.flush_kernel()
        elif who == "s" and kind == "reset":
            self.end_kernel("reset", None)
        elif who == "s" and kind == "measure":
            self.say(process.measured())
        elif who == "s" and kind == "stdin":
            with Suppress(ValueError, TypeError):  # no piece: the host waits, as it should for what it did not send
                self.inlet.take(frame.get("data"))
        else:
            complain("ignored a line from the host that is not a frame of this protocol")

    # From the kernel

    def on_frames(self, _: int) -> None:
        """Relays what the kernel says; its output so far goes first."""
        if (chunk := read_now(self.kernel.frames_out, CHUNK)) is None:
            return
        if not chunk:
            del self.sources[self.kernel.frames_out]
            self.watcher.set(self.kernel.frames_out, 0, self.on_frames)
            self.hangup = time.monotonic() + HANGUP_SECONDS
            return
        self.relay(chunk)

    def relay(self, chunk: bytes) -> None:
        """Forwards the lines that a chunk completes, after all output that was written before it."""
        if self.has_output():
            for text in self.texts:
                self.drain(text)
        lines: list[bytes] | None = None
        with Suppress(LineTooLongError):
            lines = self.from_kernel.feed(chunk)
        if lines is None:  # not in an `except`: every exception in the next kernel would name this one as its context
            self.end_kernel("protocol", f"the kernel wrote a line of more than {self.from_kernel.limit} bytes")
            return
        ready: list[bytes] = []
        for line in lines:
            if self.executing is not None and done_id(line) == self.executing:
                self.host.relay(ready)
                ready, self.executing = [], None
                self.outlets.restart()
                self.spill.end()
            ready.append(line)
            if line.startswith(DISPLAY):
                self.to_kernel.put(b'\n{"type":"shown"}\n')  # the kernel waits: what it writes next comes after
                self.flush_kernel()
        self.host.relay(ready)

    def on_output(self, text: Text) -> None:
        """Relays output as it comes."""
        if (chunk := read_now(text.fd, STREAM_BYTES)) is None:
            return
        if not chunk:
            del self.sources[text.fd]
            self.watcher.set(text.fd, 0, lambda _: None)
            return
        self.stream(text, chunk)

    def drain(self, text: Text) -> None:
        """Relays what is in an output pipe now."""
        for chunk in text.pieces(STREAM_BYTES):
            self.stream(text, chunk)

    def stream(self, text: Text, chunk: bytes, final: bool = False) -> None:
        """Takes output, of which the host gets its part."""
        self.spill.take(text.name, chunk)
        self.outlets.take(text, chunk, final)

    # The kernel's life

    def start_kernel(self) -> None:
        """Forks a kernel and says that it is ready."""
        self.generation += 1
        self.fork_kernel()
        self.say({"type": "ready", "generation": self.generation})

    def warm_up(self) -> None:
        """Imports what kernels need, and forks the kernel, which nothing has reached, anew: both then share memory."""
        late.warm_up()
        self.kernel.kill(self.wakeup)
        self.forget_kernel()
        self.fork_kernel()

    def fork_kernel(self) -> None:
        """Forks a kernel and takes what belongs to it."""
        self.touched = self.has_stdin  # whether anything has reached it, or may have
        kernel = self.kernel = process.Kernel(self.generation, self.has_stdin and self.generation == 1)
        kernel.fork(self.limits, self.become_kernel)
        self.to_kernel = Queue(kernel.frames_in)
        self.inlet = Inlet(kernel.stdin, self.say, self.watcher)
        self.from_kernel = Lines(self.max_line - WRAPPING)
        self.texts = [Text("stdout", kernel.stdout), Text("stderr", kernel.stderr)]
        self.has_output = glance(kernel.stdout, kernel.stderr)
        self.executing: int | None = None
        self.interrupts = 0  # of the executing cell
        self.hangup: float | None = None
        self.sources: dict[int, Callable[[int], None]] = {kernel.frames_out: self.on_frames}
        for text in self.texts:
            self.sources[text.fd] = lambda _, text=text: self.on_output(text)

    def become_kernel(self, frames_in: int, frames_out: int) -> NoReturn:
        """Runs in the forked child."""
        runner.main(frames_in, frames_out, self.max_line - WRAPPING, self.projects, self.kernel.has_stdin)

    def on_child(self, _: int) -> None:
        """Reaps; replaces the kernel when it is among the dead."""
        process.drain(self.wakeup)
        status = process.reap().get(self.kernel.pid)
        if status is not None:
            self.kernel.reaped = True
            self.replace_kernel(self.kernel.cause(status))

    def end_kernel(self, reason: str, detail: str | None) -> None:
        """Kills the kernel and replaces it."""
        self.replace_kernel({"reason": reason, "code": None, "signal": None, "detail": detail})

    def replace_kernel(self, cause: dict[str, Any]) -> None:
        """Relays the last words of a kernel, kills what is left of it and forks the next."""
        self.kernel.kill(self.wakeup)
        lines: list[bytes] = []
        if cause["reason"] != "protocol" and (left := pending(self.kernel.frames_out)):
            with Suppress(LineTooLongError):
                lines = self.from_kernel.feed(os.read(self.kernel.frames_out, left))
        for text in self.texts:
            self.drain(text)
            self.stream(text, b"", final=True)
        self.host.relay(lines)
        self.forget_kernel()
        self.outlets.restart()
        self.spill.end()
        self.check_files(cause)
        self.say({"type": "died", "generation": self.generation, "execution": self.executing, **cause})
        self.useless = 0 if cause["reason"] == "reset" else self.useless + 1
        if self.useless >= MAX_USELESS_KERNELS:
            self.give_up(f"{self.useless} kernels in a row died before they executed anything; the last: {cause}")
        self.start_kernel()

    def forget_kernel(self) -> None:
        """Watches and holds nothing more of a kernel that is dead."""
        self.inlet.close()
        for fd in (*self.sources, self.kernel.frames_in):
            self.watcher.set(fd, 0, lambda _: None)
        self.kernel.close()


def main(files: dict[str, str], settings: dict[str, Any]) -> NoReturn:
    """Says hello and serves."""
    if settings["protocol"] != PROTOCOL:
        complain(f"the host speaks protocol {settings['protocol']}, this program {PROTOCOL}")
        os._exit(EXIT_BROKEN)
    process.prctl(process.PR_SET_DUMPABLE, 0)
    supervisor = Supervisor(settings)
    supervisor.say(hello(files))
    late.settle()
    supervisor.run()
