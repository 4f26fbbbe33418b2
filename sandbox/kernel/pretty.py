"""Shows values as IPython does, on several lines where one is too long, and never renders what can not be seen."""

from __future__ import annotations

import array
import sys
from itertools import islice

from .codec import clean
from .parts import Name, find_parts, table
from .render import MAX_RESULT, cut, name_of, safe_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

MAX_ITEMS = 1000  # of one container
MAX_DEPTH = 20
WIDTH = 100
HANGING = 40  # beyond this column the parts of a value move to the left
SHORT = 40  # longer parts have a line each
ENDLESS = 1 << 40

_SIMPLE = frozenset({bool, float, complex, type(None), type(...), range})
_SLICED = (str, bytes, bytearray)
_max_digits: Callable[[], int] = getattr(sys, "get_int_max_str_digits", lambda: 4300)


def render_result(value: Any, limit: int = MAX_RESULT) -> str:
    """Returns a value as text, cut to `limit` characters. A repr that fails is described, not raised."""
    return clean(cut(Printer(limit).text(value), limit))


class Node:
    """A container: what opens it, its parts (each a prefix and a Node or text), what closes it."""

    __slots__ = ("close", "open", "parts", "size")

    def __init__(self, open: str, parts: list[tuple[str, Node | str]], close: str) -> None:
        self.open = open
        self.parts = parts
        self.close = close
        self.size = len(open) + len(close) - 2 + sum(len(prefix) + _size(part) + 2 for prefix, part in parts)


def _size(part: Node | str) -> int:
    """Returns the width on one line."""
    if isinstance(part, Node):
        return part.size
    return ENDLESS if "\n" in part else len(part)


class Printer:
    """Renders one value within a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit  # characters that can still be seen
        self.open: set[int] = set()  # containers that are being rendered
        self.out: list[str] = []

    def text(self, value: Any) -> str:
        """Returns the text, which may be longer than the limit."""
        part = self.build(value, 0)
        if isinstance(part, str):
            return part
        self.emit(part, 0, 0, 0)
        return "".join(self.out)

    # What there is to show

    def build(self, value: Any, depth: int) -> Node | str:
        """Renders a value, as far as it can be seen."""
        try:
            part = self.container(value, depth)
            if part is None:
                part = self.leaf(value)[: self.room()]
                self.left -= len(part) + 2
        except Exception as error:
            kind, failure = name_of(type(value)), name_of(type(error))
            part = f"<{kind} object; its repr failed with {failure}: {safe_str(error)}>"
            self.left -= len(part)
        return part

    def room(self) -> int:
        """Returns how many characters to render at most: one more than can be seen, so that the end knows of it."""
        return max(self.left, 0) + 1

    def leaf(self, value: Any) -> str:
        """Renders what has no parts that we know."""
        kind = type(value)
        if kind in _SIMPLE:
            return repr(value)
        if kind is int:
            return _int(value)
        if kind in _SLICED:
            return repr(value[: self.room()])
        if kind is array.array and len(value) > MAX_ITEMS:
            return f"{value[:MAX_ITEMS]!r:.{self.limit}}… {len(value) - MAX_ITEMS} more"
        text = table(value)
        # Makes plain text of a subclass with methods of its own.
        return "".join((repr(value) if text is None else text,))

    def container(self, value: Any, depth: int) -> Node | str | None:
        """Renders what has parts; None for anything else."""
        kind = type(value)
        if kind in _SIMPLE or kind is int or kind in _SLICED:
            return None
        find = find_parts(kind)
        if find is None:
            return None
        found = find(value)
        if found is None:  # empty
            return None
        open, close, count, parts = found
        if id(value) in self.open:
            return f"{open}...{close}"
        if depth >= MAX_DEPTH:
            return f"{open}… {count} {'item' if count == 1 else 'items'}{close}"
        self.open.add(id(value))
        try:
            return self.node(open, close, count, list(islice(parts, min(MAX_ITEMS, self.room() // 2 + 1))), depth)
        finally:
            self.open.discard(id(value))

    def node(self, open: str, close: str, count: int, parts: list[Any], depth: int) -> Node:
        """Renders the parts of a container until no more can be seen."""
        self.left -= len(open) + len(close)
        built: list[tuple[str, Node | str]] = []
        for key, part in parts:
            if self.left < 0:
                break
            prefix = "" if key is None else key if type(key) is Name else f"{self.flat(key, depth)}: "
            built.append((prefix, self.build(part, depth + 1)))
        more = count - len(built)
        if more > 0:
            built.append(("", f"… {more} more"))
        return Node(open, built, close)

    def flat(self, key: Any, depth: int) -> str:
        """Renders a key of a dict on one line."""
        part = self.build(key, depth + 1)
        return _flat(part)

    # Where it goes

    def emit(self, part: Node | str, line: int, indent: int, after: int) -> None:
        """Writes a part that begins at column `indent` of a line that begins at column `line`, and leaves `after`
        columns of its last line to what follows."""
        out = self.out
        if isinstance(part, str):
            out.append(part.replace("\n", "\n" + " " * indent) if indent else part)
            return
        if indent + part.size + after <= WIDTH:
            out.append(_flat(part))
            return
        out.append(part.open)
        inner = indent + len(part.open)
        if inner > HANGING:
            inner = line + 2
            out.append("\n" + " " * inner)
        if all(_size(each) <= SHORT and not prefix for prefix, each in part.parts):
            self.fill([each if isinstance(each, str) else _flat(each) for _, each in part.parts], inner)
        else:
            last = len(part.parts) - 1
            for index, (prefix, each) in enumerate(part.parts):
                out.append(prefix)
                self.emit(each, inner, inner + len(prefix), after + len(part.close) if index == last else 1)
                if index < last:
                    out.append(",\n" + " " * inner)
        out.append(part.close)

    def fill(self, texts: list[str], indent: int) -> None:
        """Writes short parts, as many as there is room for on each line."""
        column = indent
        for index, text in enumerate(texts):
            if index:
                if column + len(text) + 3 > WIDTH:
                    self.out.append(",\n" + " " * indent)
                    column = indent
                else:
                    self.out.append(", ")
                    column += 2
            self.out.append(text)
            column += len(text)


def _flat(part: Node | str) -> str:
    if isinstance(part, str):
        return part
    return part.open + ", ".join([prefix + _flat(each) for prefix, each in part.parts]) + part.close


def _int(value: int) -> str:
    digits = _max_digits() or MAX_RESULT
    if value.bit_length() <= digits * 3.32:
        return repr(value)
    return f"<int of about {int(value.bit_length() * 0.30103) + 1} digits>"
