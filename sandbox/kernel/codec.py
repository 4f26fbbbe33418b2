"""JSON in both directions through the C encoder and scanner alone, which user code can not replace under us."""

from __future__ import annotations

import _json
import json.decoder
from typing import Any, Callable

_string = _json.encode_basestring_ascii
_make_encoder = _json.make_encoder
_scan = _json.make_scanner(json.decoder.JSONDecoder())


def _refuse(value: object) -> Any:
    message = f"Object of type {type(value).__name__} is not JSON serializable"
    raise TypeError(message)


class TooLargeError(ValueError):
    """The JSON is longer than allowed."""


def encode(value: Any, limit: int | None = None, default: Callable[[object], Any] = _refuse) -> str:
    """Renders JSON in ASCII on one line. Raises TypeError, ValueError (NaN, a cycle, too large) or RecursionError."""
    # A fresh encoder each time: it carries the marks of the containers that are being rendered.
    parts = _make_encoder({}, default, _string, None, ":", ",", False, False, False)(value, 0)
    if limit is not None:
        size = sum(map(len, parts))  # before they are copied into one: what is too large may fill the memory
        if size > limit:
            message = f"{size} bytes of JSON are too many: at most {limit} can be sent at once"
            raise TooLargeError(message)
    return "".join(parts)


def decode(text: str) -> Any:
    """Parses one JSON value, which must fill `text` but for white space around it. Raises ValueError."""
    stripped = text.strip(" \t\r\n")
    try:
        value, end = _scan(stripped, 0)
    except StopIteration:
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
