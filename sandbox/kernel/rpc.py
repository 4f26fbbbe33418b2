"""Requests to the host: started at once, awaitable from any event loop, and waitable without one."""

from __future__ import annotations

import _thread
from _collections import deque
from _collections_abc import Coroutine  # not `collections.abc`, which imports all of collections
from itertools import count

from .codec import TooLargeError
from .late import aio
from .results import MCPError, MCPTimeoutError, error_of
from .unawaited import Unawaited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, Callable

_allocate_lock = _thread.allocate_lock


def _same(value: Any) -> Any:
    return value


class Bell:
    """Wakes one event loop: once for all answers that came since it last looked, as each time costs a system call and
    a change of threads."""

    __slots__ = ("answered", "loop", "rung")

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.answered: deque[Any] = deque()  # futures
        self.rung = False

    def ring(self, future: Any) -> None:
        """Has a future of the loop resolved; from any thread. Raises where the loop is closed."""
        self.answered.append(future)
        if not self.rung:
            self.rung = True
            self.loop.call_soon_threadsafe(self.answer)

    def answer(self) -> None:
        """Resolves, in the loop, what is answered."""
        self.rung = False  # first: what comes from now on rings again, or is seen below
        try:
            while self.answered:
                future = self.answered[0]
                if not future.done():
                    future.set_result(None)
                self.answered.popleft()
        finally:
            if self.answered:  # a signal handler of the user's raised in here
                self.loop.call_soon(self.answer)


class PendingCall(Coroutine):
    """A request under way: `await` it, or use `.result()` where nothing awaits. Asyncio takes it for a coroutine."""

    __slots__ = ("__name__", "__qualname__", "_answered", "_driver", "_error", "_finish", "_see", "_value", "_waiters")

    def __init__(self, label: str, finish: Callable[[Any], Any], see: Callable[[], None]) -> None:
        self.__name__ = self.__qualname__ = label
        self._see = see  # says that somebody looks at the answer
        self._finish: Callable[[Any], Any] | None = finish
        self._answered = False
        self._value: Any = None
        self._error: dict[str, Any] | BaseException | None = None
        self._waiters: list[Callable[[], None]] = []
        self._driver: Generator[Any, Any, Any] | None = None

    def settle(self, value: Any, error: dict[str, Any] | BaseException | None) -> None:
        """Takes the answer; called once, by the reader thread."""
        self._value = value
        self._error = error
        self._answered = True
        while self._waiters:
            try:
                self._waiters.pop()()
            except Exception:  # the waiting loop was closed
                continue

    def when_answered(self, waiter: Callable[[], None]) -> None:
        """Has something run as soon as the answer is there, mostly in the reader thread, which must not wait."""
        self._see()
        self._notify(waiter)

    def _notify(self, waiter: Callable[[], None]) -> None:
        # Needs no lock: either `settle` finds the waiter in the list, or the answer is seen here.
        self._waiters.append(waiter)
        if self._answered:
            try:
                self._waiters.remove(waiter)
            except ValueError:
                return  # `settle` was faster
            waiter()

    def _take(self) -> Any:
        if self._error is not None:
            raise self._error if isinstance(self._error, BaseException) else error_of(self._error)
        if self._finish is not None:
            self._value = self._finish(self._value)
            self._finish = None
        return self._value

    def done(self) -> bool:
        """Whether the answer is there."""
        self._see()
        return self._answered

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the answer, at most `timeout` seconds, and returns it."""
        self._see()
        if not self._answered:
            gate = _allocate_lock()
            gate.acquire()
            self._notify(gate.release)
            if not gate.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
                message = f"{self.__name__} did not answer within {timeout} s"
                raise MCPTimeoutError(message)
        return self._take()

    def _wait(self) -> Generator[Any, Any, Any]:
        self._see()
        if not self._answered:
            loop = aio.load().get_running_loop()
            future = loop.create_future()
            bell = _bell_of(loop)
            self._notify(lambda: bell.ring(future))
            yield from future
        return self._take()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._wait()

    def send(self, value: Any) -> Any:
        """Drives the call as a coroutine, which is what tasks do."""
        if self._driver is None:
            self._driver = self._wait()
        return self._driver.send(value)

    def throw(self, *exception: Any) -> Any:
        """Delivers an exception, such as a task's cancellation."""
        if self._driver is None:
            self._driver = self._wait()
        return self._driver.throw(*exception)

    def close(self) -> None:
        """Gives up waiting; the request itself goes on."""
        self._see()
        if self._driver is not None:
            self._driver.close()

    def __repr__(self) -> str:
        self._see()
        state = "answered" if self._answered else "under way"
        return f"<call of {self.__name__}, {state}: use `await`, or .result() in code that does not await>"


def answered(value: Any) -> PendingCall:
    """Makes a call whose answer is there without the host."""
    call = PendingCall("runtime", _same, lambda: None)
    call.settle(value, None)
    return call


_last_bell: Bell | None = None


def _bell_of(loop: Any) -> Bell:
    """Returns the bell of a loop; calls that come in turns from several loops make more of them than needed."""
    global _last_bell
    bell = _last_bell
    if bell is None or bell.loop is not loop:
        bell = _last_bell = Bell(loop)
    return bell


class Rpc:
    """Numbers the requests and matches the answers."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self.send = send
        self.numbers = count(1)
        self.calls: dict[int, PendingCall] = {}
        self.unawaited = Unawaited()

    def request(
        self, method: str, params: dict[str, Any], label: str, finish: Callable[[Any], Any] = _same
    ) -> PendingCall:
        """Sends a request. Raises TypeError where the parameters are not JSON."""
        number, call = self.open(label, finish)
        self.send_as(number, label, method, params)
        self.unawaited.start(number, label)
        return call

    def open(self, label: str, finish: Callable[[Any], Any] = _same) -> tuple[int, PendingCall]:
        """Makes a call that is not sent yet, and its number."""
        number = next(self.numbers)
        call = self.calls[number] = PendingCall(label, finish, lambda: self.unawaited.see(number))
        return number, call

    def send_as(self, number: int, label: str, method: str, params: dict[str, Any]) -> None:
        """Sends the request of an open call. Raises as `request`, and the call is then forgotten."""
        try:
            self.send({"type": "rpc", "id": number, "method": method, "params": params})
        except BaseException as error:
            self.calls.pop(number, None)
            if isinstance(error, TooLargeError):
                raise MCPError(str(error), params.get("server"), params.get("tool"), "limit") from None
            if isinstance(error, (TypeError, ValueError, RecursionError)):
                message = f"{label}: the arguments can not be sent as JSON: {error}"
                raise TypeError(message) from None
            raise

    def settle(self, number: int, value: Any, error: dict[str, Any] | BaseException | None) -> None:
        """Hands an answer to its call; one that nobody asked for is dropped."""
        call = self.calls.pop(number, None)
        if call is not None:
            call.settle(value, error)
