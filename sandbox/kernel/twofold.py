"""Functions that wait for the host, in code with and without `await`: one body, a generator of what to wait for."""

from __future__ import annotations

import sys

from .late import load
from .results import MCPError, MemoryStoreError
from .turns import WAIT_SECONDS, Gate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType
    from typing import Any

_await_code: int | None = None


def is_awaited(frame: FrameType) -> bool:
    """Tells whether the code of a frame awaits what the call that it is in returns: plain values could not be."""
    global _await_code
    if _await_code is None:
        _await_code = load("opcode").opmap.get("GET_AWAITABLE", -1)
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while at < len(code) and code[at] == 0 and sys.version_info >= (3, 11):  # the caches of the call
        at += 2
    return at < len(code) and code[at] == _await_code


def run(body: Generator[Any, Any, Any], awaited: bool) -> Any:
    """Runs a body: at once, or where its caller awaits it, as a coroutine that leaves the event loop free."""
    return _run_async(body) if awaited else run_plain(body)


def run_plain(body: Generator[Any, Any, Any], seconds: float | None = None) -> Any:
    """Runs a body at once; each answer of the host may take so many seconds, for as long as it likes without."""
    step, given = body.send, None
    while True:
        try:
            wanted = step(given)
        except StopIteration as end:
            return end.value
        try:
            # A turn comes when others are done, which may be never; the host has deadlines of its own.
            given, step = wanted.result(WAIT_SECONDS if isinstance(wanted, Gate) else seconds), body.send
        except BaseException as error:
            given, step = of_store(error), body.throw


async def _run_async(body: Generator[Any, Any, Any]) -> Any:
    step, given = body.send, None
    while True:
        try:
            wanted = step(given)
        except StopIteration as end:
            return end.value
        try:
            given, step = await wanted, body.send
        except BaseException as error:
            given, step = of_store(error), body.throw


def of_store(error: BaseException) -> BaseException:
    """Returns what the host says as an error of what is kept."""
    if isinstance(error, MCPError) and error.kind != "timeout":
        return MemoryStoreError(error.message)
    return error
