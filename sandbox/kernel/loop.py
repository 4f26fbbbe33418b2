"""The one event loop of the kernel: runs cells that await, and background tasks between cells."""

from __future__ import annotations

import os

from .late import aio

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine
    from typing import Any

    from .interrupts import Interrupts

_read = os.read
_write = os.write


class Loop:
    """Lives on the main thread. `wake` may be called from any thread."""

    def __init__(self) -> None:
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        os.set_blocking(self.wake_write, False)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.idling = False

    def wake(self) -> None:
        """Ends `idle`."""
        try:
            _write(self.wake_write, b"x")
        except BlockingIOError:
            return  # it will wake all the same

    def ensure(self) -> asyncio.AbstractEventLoop:
        """Returns the loop, a new one when user code closed it, and makes it the current one."""
        aio.load()
        if self.loop is None or self.loop.is_closed():
            self.loop = aio.new_event_loop()
            self.loop.add_reader(self.wake_read, self._on_wake)
        aio.set_event_loop(self.loop)
        return self.loop

    def _on_wake(self) -> None:
        self.drain()
        if self.idling and self.loop is not None:  # a late wake must not stop what a cell runs
            self.loop.stop()

    def drain(self) -> None:
        """Takes back what `wake` wrote."""
        try:
            _read(self.wake_read, 4096)
        except BlockingIOError:
            return

    def idle(self) -> None:
        """Runs background tasks until `wake`. Raises what user code breaks the loop with."""
        loop = self.ensure()
        self.idling = True
        try:
            loop.run_forever()
        finally:
            self.idling = False

    def run(self, coroutine: Coroutine[Any, Any, Any], interrupts: Interrupts) -> Any:
        """Runs one coroutine to its end; meanwhile `interrupts` can interrupt it softly."""
        loop = self.ensure()
        interrupted = False
        cancelled: BaseException | None = None

        async def follow() -> Any:
            """Keeps the traceback of a cancellation, which older Pythons drop."""
            nonlocal cancelled
            try:
                return await coroutine
            except aio.CancelledError as error:
                cancelled = error
                raise

        task = loop.create_task(follow())

        def cancel() -> None:
            interrupts.in_vain = False
            task.cancel()

        def soften() -> bool:
            """Cancels the task, unless it computes: then the exception interrupts it. Another task is left alone that computes for
            a moment; one that goes on gets the exception of the next signal."""
            nonlocal interrupted
            current = aio.current_task(loop)
            if interrupted or current is task or not loop.is_running():
                return False
            interrupted = True
            interrupts.in_vain = current is not None
            loop.call_soon_threadsafe(cancel)
            return True

        task.add_done_callback(lambda _: loop.stop())
        interrupts.soften = soften
        while not task.done():
            try:
                loop.run_forever()
            except KeyboardInterrupt:
                if not task.done():  # it hit the loop or another task
                    interrupted = True
                    task.cancel()
            except SystemExit:
                continue  # of this task, which is then done, or of a background task, which only ends that
        try:
            return task.result()
        except aio.CancelledError:
            if interrupted:
                trace = None if cancelled is None else cancelled.__traceback__
                raise KeyboardInterrupt().with_traceback(trace) from None
            raise
