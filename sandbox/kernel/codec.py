"""JSON in both directions through the C encoder and scanner alone, which user code can not replace under us."""

from __future__ import annotations

import _json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class _Plain:
    """How JSON is read: into Python's own types."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float  # NaN, Infinity and -Infinity are names that it knows


_string = _json.encode_basestring_ascii
_unescaped = _json.encode_basestring
_make_encoder = _json.make_encoder
_scan = _json.make_scanner(_Plain)


def _refuse(value: object) -> Any:
    message = f"Object of type {type(value).__name__} is not JSON serializable"
    raise TypeError(message)


class TooLargeError(ValueError):
    """The JSON is longer than allowed."""


def encode(value: Any, limit: int | None = None, default: Callable[[object], Any] = _refuse) -> str:
    """Renders JSON in ASCII on one line. Raises TypeError, ValueError (NaN, a cycle, too large) or RecursionError."""
    left = limit

    def string(text: str) -> str:
        # Stops before a copy is made that may not fit into the memory.
        nonlocal left
        left -= len(text)
        if left < 0:
            raise TooLargeError(message)
        return _string(text)

    message = f"the JSON is too long: at most {limit} bytes can be sent at once"
    # A fresh encoder each time: it carries the marks of the containers that are being rendered.
    encoder = _make_encoder({}, default, _string if limit is None else string, None, ":", ",", False, False, False)
    parts = encoder(value, 0)
    if limit is not None and sum(map(len, parts)) > limit:
        raise TooLargeError(message)
    return "".join(parts)


def render(value: Any) -> bytes:
    """Renders JSON of our own making on one line of UTF-8, which is shorter than ASCII for most text."""
    encoder = _make_encoder({}, _refuse, _unescaped, None, ":", ",", False, False, False)
    return "".join(encoder(value, 0)).encode()


def decode(text: str) -> Any:
    """Parses one JSON value, which must fill `text` but for white space around it. Raises ValueError."""
    stripped = text.strip(" \t\r\n")
    try:
        value, end = _scan(stripped, 0)
    except StopIteration:
        end = -1
        value = None
    except (ValueError, RecursionError, MemoryError):
        raise
    except Exception:  # the scanner looks for an exception in `json.decoder`, which may not be there
        end = -1
        value = None
    if end != len(stripped):
        message = "not one JSON value"
        raise ValueError(message)
    return value


def clean(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 can not carry, by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text
