"""Runs cells, one after the other, in one live `__main__`."""

from __future__ import annotations

import _thread
import os
import sys
import time
from _queue import Empty, SimpleQueue

from . import history, late
from .cell import compile_cell, note_on_nothing
from .console import Console
from .display import Display
from .ends import broken, done
from .interrupts import Interrupts
from .late import Watch, aio
from .loop import Loop
from .names import Names
from .render import release_locals, render_error, safe_str
from .projects import Projects
from .repair import Pristine
from .rpc import PendingCall, Rpc
from .wire import Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


async def _nothing() -> None:
    pass


_sample = _nothing()
CoroutineType = type(_sample)
_sample.close()
ModuleType = type(sys)

_exit = os._exit
_getpid = os.getpid
_get_ident = _thread.get_ident

QUIET_SECONDS = 0.05


class Runner:
    """The kernel: takes `execute` frames from the wire and answers each with one `done`."""

    def __init__(
        self, frames_in: int, frames_out: int, max_bytes: int, projects: str | None, has_stdin: bool
    ) -> None:
        self.pid = _getpid()
        self.main_thread = _get_ident()
        self.interrupts = Interrupts()
        self.wire = Wire(frames_in, frames_out, max_bytes, self.interrupts)
        self.rpc = Rpc(self.wire.send)
        self.inbox: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.console = Console(has_stdin)
        self.loop = Loop()
        self.main = ModuleType("__main__", None)
        self.namespace = vars(self.main)
        sys.modules["__main__"] = self.main
        sys.argv = [""]
        sys.path.insert(0, "")  # as in any interactive Python: modules of the working directory can be imported
        self.display = Display(self.wire.send, self.console, self.interrupts)
        self.projects = Projects(self.rpc, projects)
        self.names = Names(self.namespace, self.rpc, {"display": self.display.function})
        hooks = {"linecache": history.share, "warnings": self.rpc.unawaited.install}
        Watch({**hooks, "asyncio": self.on_asyncio, "inspect": history.install})
        self.pristine = Pristine()
        self.count = 0

    def serve(self) -> NoReturn:
        """Runs cells until the supervisor ends this process."""
        self.interrupts.install()
        self.wire.start(self.on_frame, self.on_unreadable)
        while True:
            frame = self.next_cell()
            if frame["type"] == "sync":
                self.projects.sync()
                self.wire.send({"type": "synced", "id": frame["id"]})
            elif frame["type"] == "ask":
                self.wire.send(late.load(".workspace").answer(frame))
            else:
                self.execute(frame)

    def on_asyncio(self, module: Any) -> None:
        """Takes note that asyncio was imported: the code that did it finds our loop as the current one."""
        aio.take(module)
        if _get_ident() == self.main_thread:
            self.set_loop()

    def set_loop(self) -> None:
        """Makes our loop the current one."""
        try:
            self.loop.ensure()
        except Exception:  # user code broke asyncio; a plain cell can do without
            self.loop.loop = None

    def next_cell(self) -> dict[str, Any]:
        """Waits for a cell while background tasks run."""
        while not aio.imported:  # so there are none
            try:
                # Before the first cell it is the supervisor that imports, and forks another kernel in place of this one.
                return self.inbox.get(timeout=QUIET_SECONDS if self.count else None)
            except Empty:
                pass
            except BaseException:  # a signal handler of the user's
                continue
            try:
                self.pristine.restore(self.main)
                late.load_all()
            except BaseException:  # user code broke what asyncio needs; a cell that awaits tries again
                return self.inbox.get()
        while True:
            try:
                return self.inbox.get_nowait()
            except Empty:
                pass
            try:
                self.loop.idle()
            except BaseException as error:
                if isinstance(error, (SystemExit, KeyboardInterrupt)):
                    continue  # a background task ended itself that way
                self.loop.drain()
                return self.inbox.get()  # user code broke asyncio itself: background tasks rest until the next cell

    # Frames, in the reader thread

    def on_frame(self, frame: dict[str, Any]) -> None:
        """Takes a frame from the host, or the supervisor's `interrupt` or `shown`."""
        kind = frame["type"]
        if kind in ("execute", "sync", "ask"):
            if isinstance(frame["id"], int):  # else there is nobody to answer
                self.inbox.put(frame)
                self.loop.wake()
        elif kind == "reply":
            self.rpc.settle(frame["id"], frame["value"], None)
        elif kind == "reply_error":
            self.rpc.settle(frame["id"], None, frame["error"])
        elif kind == "shown":
            self.display.go_on()
        elif kind == "interrupt":
            self.interrupts.request(frame["id"], frame["nth"])

    def on_unreadable(self, kind: str, number: int, reason: str) -> None:
        """Answers for a frame that could not be taken, most likely for want of memory."""
        message = f"the frame from the host could not be read: {reason}"
        if kind == "execute":
            self.wire.send(broken(number, message))
        elif kind in ("reply", "reply_error"):
            self.rpc.settle(number, None, {"kind": "internal", "message": message, "server": None, "tool": None})

    # Cells, in the main thread

    def execute(self, frame: dict[str, Any]) -> None:
        """Runs one cell and reports."""
        number = frame["id"]
        try:
            self.prepare(frame)
            outcome = self.run(number, frame["code"], frame.get("filename"))
            if frame.get("argv") is not None:
                outcome = late.load(".program").wind_up(outcome, self.interrupts, self.console)
        except BaseException as error:  # ours: a cell's own failures are outcomes
            outcome = done(number, "error", error=render_error(error))
        finally:
            self.interrupts.end()
            self.display.begin(0)
        if _getpid() != self.pid:
            self.leave_fork(outcome)
        try:
            self.console.note(self.projects.after(outcome["status"] == "interrupted"))
            self.console.note(self.names.kept.after() + self.rpc.unawaited.report(outcome["status"] == "error"))
            self.console.flush()
            self.wire.send(outcome)
        except BaseException as error:
            self.wire.send(broken(number, f"the result could not be sent: {type(error).__name__}"))

    def prepare(self, frame: dict[str, Any]) -> None:
        """Sets the stage for a cell."""
        self.pristine.restore(self.main)
        self.console.repair()
        self.interrupts.install()
        if aio.imported:
            self.set_loop()
        self.display.begin(frame["id"])
        self.names.update(frame["servers"], frame["loaded"])
        self.names.kept.notice(frame["projects"])
        self.projects.notice(frame["projects"])
        self.console.note(self.projects.before())
        if frame.get("argv") is not None:
            sys.argv = list(frame["argv"])
            self.names.is_program = True
        name = frame.get("filename")
        if name is not None and not name.startswith("<"):
            self.namespace["__file__"] = name
        if frame.get("env"):
            os.environ.update(frame["env"])
            time.tzset()  # the C library has read TZ before

    def run(self, number: int, source: str, filename: str | None) -> dict[str, Any]:
        """Runs user code; turns whatever comes of it into a `done` frame."""
        self.count += 1
        interrupts = self.interrupts
        try:
            cell = compile_cell(source, filename or f"<cell {self.count}>")
            interrupts.begin(number)
            self.names.kept.before(source)
            if cell.is_async:
                coroutine = cell.run_async(self.namespace)
                value = self.loop.run(coroutine, interrupts)
                interrupts.soften = None
            else:
                value = cell.run(self.namespace)
            result = None
            if type(value) is PendingCall:
                name, value = value.__name__, value.result()
                self.console.note(f"{name}: awaited, as the last value; write `await` before the call\n")
            if value is not None:
                result = self.display.result(value)
                if (
                    type(value) is not CoroutineType
                ):  # which would then end unawaited in a later cell, to be blamed for it
                    self.namespace["_"] = value
                value = None
            else:
                self.console.note(note_on_nothing(source, self.namespace))
            self.display.finish()
            self.console.flush_foreign()
            interrupts.end()
            return done(number, "ok", result=result)
        except BaseException as error:
            return self.failure(number, error)

    def failure(self, number: int, error: BaseException) -> dict[str, Any]:
        """Describes how a cell failed; user code in `__str__` runs here, and can be interrupted."""
        interrupts = self.interrupts
        interrupts.soften = None
        try:
            self.console.flush_foreign()
            if isinstance(error, SystemExit):
                self.display.finish()
                return done(number, "exit", exit_code=self.exit_code(error))
            status = "interrupted" if isinstance(error, KeyboardInterrupt) and interrupts.fired else "error"
            rendered = render_error(error)
            if status == "error":
                self.advise(error, rendered)
                release_locals(error)
                self.display.finish()
        except BaseException as second:
            interrupts.end()
            status = "interrupted" if interrupts.fired else "error"
            rendered = dict.fromkeys(("evalue", "traceback"), f"the error could not be shown: {type(second).__name__}")
            rendered["ename"] = type(error).__name__
        interrupts.end()
        return done(number, status, error=rendered)

    def advise(self, error: BaseException, rendered: dict[str, str]) -> None:
        """Adds a line of advice where the cause is certain."""
        try:
            module = late.load(".advice")
            advice = module.advise(error, self.names)
        except Exception:  # a hostile exception, or something that the advice did not expect: go without
            return
        if advice:
            rendered["traceback"] += f"[hint] {advice}\n"
            if advice in (module.AWAIT, module.AWAIT_IN_FUNCTION):
                self.rpc.unawaited.report(True)  # says the same

    def exit_code(self, error: SystemExit) -> int:
        """Returns the code as the interpreter would exit with, printing a text."""
        code = error.code
        if code is None:
            return 0
        if isinstance(code, int):
            return int(code) if -(2**31) <= code < 2**31 else 1
        text = safe_str(error)
        self.console.stderr.write(text + "\n")
        return 1

    def leave_fork(self, outcome: dict[str, Any]) -> NoReturn:
        """Ends a process that user code forked and let run to the end of the cell."""
        try:
            if outcome["error"] is not None:
                self.console.stderr.write(outcome["error"]["traceback"])
            self.console.flush()
        finally:
            _exit((outcome["exit_code"] or 0) & 0xFF if outcome["error"] is None else 1)


def main(frames_in: int, frames_out: int, max_bytes: int, projects: str | None, has_stdin: bool) -> NoReturn:
    """Is the life of the kernel process."""
    try:
        Runner(frames_in, frames_out, max_bytes, projects, has_stdin).serve()
    except BaseException as error:
        os.write(2, (render_error(error)["traceback"]).encode())
    _exit(1)
