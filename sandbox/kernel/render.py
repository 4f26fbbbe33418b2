"""What a person sees of values and exceptions: bounded, without our own frames, safe against hostile methods."""

from __future__ import annotations

from . import late
from .codec import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    import traceback
    from typing import Any

MAX_RESULT = 64 * 1024
MAX_TRACEBACK = 64 * 1024
MAX_EVALUE = 8 * 1024
LARGE = 1 << 60
OURS = "<sandpy>/"

_CAN_WAIT = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR of inspect, which costs much

_traceback_of = BaseException.__dict__["__traceback__"].__get__
name_of = type.__dict__["__name__"].__get__
_found: list[Any] = []


def tracebacks() -> list[Any]:
    """Returns the classes that render exceptions, as they were when they were first needed, or before, in idle time."""
    if not _found:
        module = late.load("traceback")
        _found[:] = module.TracebackException, module.StackSummary
    return _found


def cut(text: str, limit: int) -> str:
    """Returns the beginning of a text, and says so where that is not all."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [cut after {limit} characters]"


def render_number(value: Any) -> str | None:
    """Returns the text of a whole number of usual size, for which the first result need not load all that shows values."""
    return repr(value) if type(value) is int and -LARGE < value < LARGE else None


def safe_str(error: BaseException) -> str:
    """Returns the message of an exception, even of one whose `__str__` fails."""
    try:
        return clean(cut("" + str(error), MAX_EVALUE))
    except Exception:
        return "<its __str__ failed>"


def render_error(error: BaseException) -> dict[str, str]:
    """Returns the `error` field of a `done` frame."""
    ename = clean(name_of(type(error)))
    evalue = safe_str(error)
    try:
        text = _render_traceback(error)
    except Exception:  # hostile exceptions, or the user broke the traceback module
        text = f"{ename}: {evalue}\n"
    return {"ename": ename, "evalue": evalue, "traceback": clean(_cut_middle(text, MAX_TRACEBACK))}


def release_locals(error: BaseException) -> None:
    """Lets go of what the functions of a traceback still hold, now and not when garbage is next collected."""
    trace = _traceback_of(error)
    while trace is not None:
        frame = trace.tb_frame
        if not frame.f_code.co_flags & _CAN_WAIT:  # what waits goes on later, or is closed by its owner
            try:
                frame.clear()
            except RuntimeError:  # it runs
                pass
        trace = trace.tb_next


def _render_traceback(error: BaseException) -> str:
    rendered = tracebacks()[0](type(error), error, error.__traceback__)
    _trim(rendered, set())
    others = rendered.__cause__ or rendered.__context__ or getattr(rendered, "exceptions", None)
    if not rendered.stack and not others:  # a syntax error, say: there is no line that ran
        return "".join(rendered.format_exception_only())
    return "".join(rendered.format())


def _trim(rendered: traceback.TracebackException, seen: set[int]) -> None:
    """Removes our own frames, in chained exceptions and groups too."""
    todo = [rendered]
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        each.stack = tracebacks()[1].from_list([frame for frame in each.stack if not frame.filename.startswith(OURS)])
        todo += [each.__cause__, each.__context__, *(getattr(each, "exceptions", None) or ())]


def _cut_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… [{len(text) - 2 * half} characters left out]\n{text[-half:]}"
