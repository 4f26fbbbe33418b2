"""What a memory can hold: JSON values. Everything else is refused with its place in the value, before it is sent."""

from __future__ import annotations

import _json
import _thread
import sys

from .codec import decode
from .codec import encode as encode_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MAX_DEPTH = 200
MAX_BYTES = 16 * 1024 * 1024  # the host's limit, said before the value travels
MAX_ITEMS = MAX_BYTES // 2  # a digit and a comma each: what has more can not fit

_escape = _json.encode_basestring
_digits_lock = _thread.allocate_lock()
_Trail = tuple  # (outer trail, container, key in it), or () for the value itself

# Where the name of a type is enough to say what to do about it.
_TIMES = frozenset({"datetime", "date", "time", "Timestamp"})
_TEXTS = frozenset({"UUID", "Path", "PosixPath", "PurePath", "PurePosixPath", "Fraction"})
_NOT_AWAITED = frozenset({"coroutine", "PendingCall", "Task", "Future", "_GatheringFuture"})
_LISTS = frozenset({"deque", "range", "generator", "dict_keys", "dict_values", "dict_items", "map", "filter", "zip"})


class Unlimited:
    """Lifts the interpreter's limit on the digits of whole numbers for a moment; one thread at a time."""

    def __enter__(self) -> None:
        _digits_lock.acquire()
        self.limit = getattr(sys, "get_int_max_str_digits", int)()
        if self.limit:
            sys.set_int_max_str_digits(0)

    def __exit__(self, *_: Any) -> None:
        if self.limit:
            sys.set_int_max_str_digits(self.limit)
        _digits_lock.release()


def encode(value: Any, name: str) -> str:
    """Renders a value as JSON text that keeps every digit. Raises TypeError or ValueError with the place, as in
    `value["a"][3]`, of what is no JSON, and ValueError where there is too much of it."""
    copy = plain(value, name)
    try:
        text = _render(copy)
    except ValueError:  # a whole number of more than 4,300 digits
        with Unlimited():
            text = _render(copy)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        _refuse_surrogates(copy, name)
    if size > MAX_BYTES:
        _too_large(name, f"{size / 1024 / 1024:.1f} MiB of JSON")
    return text


def parse(text: str) -> Any:
    """Reads JSON text of any number of digits. Raises ValueError."""
    try:
        return decode(text)
    except ValueError:
        with Unlimited():
            return decode(text)


def _render(value: Any) -> str:
    encoder = _json.make_encoder({}, _impossible, _escape, None, ":", ",", False, False, False)  # type: ignore[attr-defined]
    return "".join(encoder(value, 0))


def _impossible(value: object) -> NoReturn:
    raise TypeError(type(value).__name__)


def plain(value: Any, name: str) -> Any:
    """Copies a value into exact dicts, lists and scalars: what is checked is then what is sent, whatever other threads
    do. Goes no deeper into Python's stack, however deep the value is."""
    root: list[Any] = [None]
    todo: list[tuple[Any, Any, Any, _Trail, int]] = [(value, root, 0, (), 0)]
    items = 0
    while todo:
        source, target, place, trail, depth = todo.pop()
        if depth > MAX_DEPTH:
            _too_deep(trail, name)
        copy: Any
        if isinstance(source, dict):
            copy = {}
            pairs = list(dict.items(source))
            for key, _ in pairs:
                if type(key) is not str:
                    _check_key(key, source, trail, name)
        elif isinstance(source, (list, tuple)):
            copy = [None] * (list if isinstance(source, list) else tuple).__len__(source)
            pairs = list(enumerate((list if isinstance(source, list) else tuple).__iter__(source)))[: len(copy)]
        else:
            target[place] = _scalar(source, trail, name)
            continue
        target[place] = copy
        items += len(pairs)
        if items > MAX_ITEMS:
            _too_large(name, f"more than {MAX_ITEMS:,} items")
        later = []
        for key, each in pairs:
            if type(key) is not int and type(key) is not str:
                key = str.__str__(key)
            kind = type(each)
            simple = kind is str or kind is int or kind is bool or each is None
            if simple or (kind is float and each - each == 0):
                copy[key] = each
            else:
                copy[key] = None  # keeps the order of the keys
                later.append((each, copy, key, (trail, source, key), depth + 1))
        later.reverse()  # the first of what is wrong is named
        todo += later
    return root[0]


def _scalar(value: Any, trail: _Trail, name: str) -> Any:
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            message = f"{_place(trail, name)} is {float.__repr__(value)}, which JSON does not have; use None, or a str"
            raise ValueError(message)
        return float.__float__(value)
    message = (
        f"{_place(trail, name)} is {_a(type(value).__name__)}, and JSON has dict, list, str, int, float, bool, None; "
        f"{_instead(value)}"
    )
    raise TypeError(message)


def _check_key(key: object, source: Any, trail: _Trail, name: str) -> None:
    if isinstance(key, str):
        return
    where = _place(trail, name)
    message = (
        f"{where} has the {type(key).__name__} {_short(key)} as a key, and JSON has only str keys; "
        f"use {{str(k): v for k, v in {where}.items()}}"
    )
    raise TypeError(message)


def _instead(value: Any) -> str:
    """Says what to write in place of a value; nothing of it is called."""
    kind = type(value)
    name, members = kind.__name__, dir(kind)
    if name in _NOT_AWAITED:
        return "it was not awaited: write `await` before the call"
    if isinstance(value, (set, frozenset)):
        return "use sorted(x) or list(x)"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "use x.decode() for text, base64.b64encode(x).decode() for other bytes"
    if isinstance(value, type) or name in ("function", "builtin_function_or_method", "method", "module"):
        return "functions are kept with save_tool(function)"
    if name in _TIMES:
        return "use x.isoformat()"
    if name == "timedelta":
        return "use x.total_seconds()"
    if name in _TEXTS:
        return "use str(x)"
    if name == "Decimal":
        return "use str(x) to keep its digits, or float(x)"
    if name == "complex":
        return "use [x.real, x.imag]"
    if name == "DataFrame":
        return 'use x.to_dict("records")'
    if "tolist" in members:  # NumPy, pandas, array
        return "use x.tolist()" if "__len__" in members or name == "array" else "use x.item()"
    if "__dataclass_fields__" in members:
        return "use dataclasses.asdict(x)"
    if "model_dump" in members:
        return 'use x.model_dump(mode="json")'
    if "to_dict" in members:
        return "use x.to_dict()"
    if "_member_map_" in vars(kind):
        return "use x.value"
    if name in _LISTS or "__next__" in members:
        return "use list(x)"
    return "use a dict of what is to be kept" + (", such as vars(x)" if "__dict__" in members else "")


def _place(trail: _Trail, name: str) -> str:
    """Renders where something is, as Python would reach it: of a long way the two ends."""
    parts = []
    while trail:
        trail, _, key = trail
        parts.append(f"[{_short(key)}]")
    parts.reverse()
    if len(parts) > 12:
        parts[6:-6] = ["…"]
    return name + "".join(parts)


def _short(key: object) -> str:
    text = encode_ascii(str(key)) if isinstance(key, str) else repr(key)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _too_deep(trail: _Trail, name: str) -> NoReturn:
    seen: list[Any] = []
    rest = trail
    while rest:
        rest, container, _ = rest
        if any(container is each for each in seen):
            message = f"{name} contains itself, which JSON can not; it does so at {_place(_to(trail, container), name)}"
            raise ValueError(message)
        seen.append(container)
    message = f"{name} is nested deeper than {MAX_DEPTH} levels, at {_place(trail, name)}; keep it as several memories"
    raise ValueError(message)


def _to(trail: _Trail, container: Any) -> _Trail:
    """Returns the shortest way that leads back into a container."""
    found: _Trail = trail
    inside = False
    steps = []
    while trail:
        steps.append(trail)
        trail = trail[0]
    for step in reversed(steps):
        if step[1] is container:
            if inside:
                return found
            inside = True
        found = step
    return found


def _refuse_surrogates(value: Any, name: str) -> NoReturn:
    todo: list[tuple[Any, _Trail]] = [(value, ())]
    message = f"{name} has a lone surrogate, which is no text"
    while todo:
        each, trail = todo.pop()
        if isinstance(each, str):
            try:
                each.encode()
            except UnicodeEncodeError:
                message = f"{_place(trail, name)} has a lone surrogate, which is no text: {encode_ascii(each[:60])}"
                break
        elif isinstance(each, dict):
            todo += [(inner, (trail, each, key)) for key, inner in each.items()]
            todo += [(key, (trail, each, key)) for key in each]
        elif isinstance(each, list):
            todo += [(inner, (trail, each, key)) for key, inner in enumerate(each)]
    message += '; use x.encode("utf-8", "replace").decode()'
    raise ValueError(message)


def _too_large(name: str, size: str) -> NoReturn:
    message = f"{name} is {size}, and one memory holds 16 MiB; keep it in parts, as several memories"
    raise ValueError(message)
