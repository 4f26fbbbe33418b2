"""Single statements and values of a session, judged and written for a file that has to work on its own."""

from __future__ import annotations

import ast
import posixpath
import sys

from .toolfile import bindings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .origin import Origin

MAX_CONSTANT = 4000

_SCALARS = (type(None), bool, int, str, bytes, complex, type(...))


def saving_lines(statement: Any) -> tuple[int, int] | None:
    """Returns the lines of the decorator that saves, which is not to be saved itself."""
    for each in getattr(statement, "decorator_list", ()):
        if _saves(each):
            return each.lineno, each.end_lineno
    return None


def _saves(decorator: Any) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(target, "id", getattr(target, "attr", None)) == "save_tool"


def undecorated(statement: Any) -> str:
    """Writes a definition without the decorator that saves."""
    kept = [each for each in statement.decorator_list if not _saves(each)]
    plain = ast.parse(ast.unparse(statement)).body[0]
    plain.decorator_list = kept  # type: ignore[attr-defined]
    return ast.unparse(plain)


def import_line(origin: Origin, name: str) -> str | None:
    """Writes the import of one name; None for a star and for what is relative."""
    statement, alias = origin.statement, origin.part
    behind = f" as {alias.asname}" if alias.asname else ""
    if isinstance(statement, ast.Import):
        return f"import {alias.name}{behind}"
    if alias.name == "*" or statement.level or not statement.module:
        return None
    return f"from {statement.module} import {alias.name}{behind}"


_WRITABLE = ("/workspace/", "/tmp/", "/projects/")
# Python itself may be anywhere, in a folder below /tmp too.
_LIBRARY = tuple({f"{each}/" for each in (sys.prefix, sys.base_prefix, posixpath.dirname(posixpath.__file__))})


def is_installed(file: str) -> bool:
    """Tells whether a module's file is of the image, and so is there in every session."""
    return file.startswith(_LIBRARY) or (file.startswith("/") and not file.startswith(_WRITABLE))


class TooMuchError(Exception):
    """Plain data, but more than belongs into a file of tools."""


def literal(value: Any) -> str | None:
    """Writes plain data as Python does; None for all else. Raises TooMuchError."""
    todo, count = [value], 0
    while todo:
        each = todo.pop()
        count += 1
        kind = type(each)
        if count > MAX_CONSTANT:
            raise TooMuchError
        if kind is dict:
            todo += [*each.keys(), *each.values()]
        elif kind in (list, tuple, set, frozenset):
            todo += each
        elif kind is float:
            if each - each != 0:
                return None
        elif kind not in _SCALARS:
            return None
        if kind in (str, bytes) and len(each) > MAX_CONSTANT:
            raise TooMuchError
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        raise TooMuchError from None
    if len(text) > MAX_CONSTANT:
        raise TooMuchError
    return text


def is_simple(statement: Any, name: str) -> bool:
    """Tells whether a statement does nothing but give one name a value."""
    if isinstance(statement, ast.Assign):
        return len(statement.targets) == 1 and getattr(statement.targets[0], "id", None) == name
    return (
        isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", None) == name and bool(statement.value)
    )


def makes_a_value(origin: Origin, name: str, value: Any) -> bool:
    """Tells whether the statement of a name can be run anew where the file is loaded, and still makes what is there."""
    statement = origin.statement
    if not is_simple(statement, name) or len(list(bindings([statement]))) != 1:
        return False
    made = statement.value
    written = getattr(made, "keys", getattr(made, "elts", None))
    if isinstance(value, (dict, list, set)) and written is not None and len(written) != len(value):
        return False  # it was filled later
    return not any(isinstance(each, (ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(statement))


def kind_of(value: Any) -> str:
    """Names the type of a value, with its article."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
