"""Compiles one cell: statements, and a last expression whose value is the result."""

from __future__ import annotations

import _ast

from .history import history, line_of, split_lines
from .results import ToolResult
from .tidy import tidy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

_FLAGS = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE; to import inspect costs much

LONG = 1_000_000

_compile = compile
_eval = eval
_exec = exec


class Cell:
    """Compiled code: what to execute, then what to evaluate; each is None where there is nothing to."""

    def __init__(self, body: CodeType | None, last: CodeType | None) -> None:
        self.body = body
        self.last = last

    @property
    def is_async(self) -> bool:
        """Tells whether it awaits at top level and so needs the event loop."""
        return any(code is not None and code.co_flags & _COROUTINE for code in (self.body, self.last))

    def run(self, namespace: dict[str, Any]) -> Any:
        """Runs a plain cell; returns the value of its last expression."""
        if self.body is not None:
            _exec(self.body, namespace)
        return None if self.last is None else _eval(self.last, namespace)

    async def run_async(self, namespace: dict[str, Any]) -> Any:
        """Runs a cell with top-level await."""
        value = None
        for code in (self.body, self.last):
            if code is not None:
                value = _eval(code, namespace)
                if code.co_flags & _COROUTINE:
                    value = await value
        return None if self.last is None else value


def compile_cell(source: str, filename: str) -> Cell:
    """Compiles; raises SyntaxError and whatever else the compiler raises for hostile source."""
    source = tidy(source)
    history.remember(source, filename)
    try:
        return (_compile_long(source, filename) if len(source) > LONG else None) or _compile_by_tree(source, filename)
    except SyntaxError as error:
        if error.text is None and error.filename == filename:  # of the later stages, which look for a file
            error.text = line_of(filename, error.lineno or 0)
        raise


def _compile_by_tree(source: str, filename: str) -> Cell:
    tree = _compile(source, filename, "exec", _FLAGS | _ast.PyCF_ONLY_AST, True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr):
        last = _ast.Expression(tree.body.pop().value)
    return Cell(
        _compile(tree, filename, "exec", _FLAGS, True) if tree.body else None,
        None if last is None else _compile(last, filename, "eval", _FLAGS, True),
    )


def _compile_long(source: str, filename: str) -> Cell | None:
    """Compiles without a tree of Python objects, which costs more than all the rest; None where that is not certain
    to be right: then the last statement is not on lines of its own, or there is an error to tell."""
    end = len(source.rstrip())
    for _ in range(100):
        start = source.rfind("\n", 0, end) + 1
        if source[start : start + 1] not in " \t\f\r\n#)]}":
            break
        end = start - 1
    else:
        return None
    head, tail = source[:start], source[start:]
    if not head or len(tail) > LONG:
        return None
    try:
        tree = _compile(tail, filename, "exec", _FLAGS | _ast.PyCF_ONLY_AST, True)
        if len(tree.body) != 1:
            return None
        if not isinstance(tree.body[0], _ast.Expr):
            return Cell(_compile(source, filename, "exec", _FLAGS, True), None)
        from ast import increment_lineno  # costs much, and is needed for this alone

        last = _ast.Expression(increment_lineno(tree.body[0], len(split_lines(head))).value)
        body = _compile(head, filename, "exec", _FLAGS, True)
        return Cell(body, _compile(last, filename, "eval", _FLAGS, True))
    except (SyntaxError, ImportError):
        return None


def note_on_nothing(source: str, namespace: dict[str, Any]) -> str:
    """Says why a cell whose last value is None shows nothing, where it asked for the data of a result; else ""."""
    line = source.rstrip(" \t\r\n;").rpartition("\n")[2]
    asked, dot, name = line.rpartition(".")
    if not dot or name != "data":
        return ""
    is_result = type(namespace.get(asked.strip())) is ToolResult or asked.lstrip().startswith("(await mcp_")
    return "`.data` is None, since the text of this result is no JSON; `.text` has it\n" if is_result else ""
