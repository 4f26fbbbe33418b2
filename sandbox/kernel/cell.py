"""Compiles one cell: statements, and a last expression whose value is the result."""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType
from typing import Any, NamedTuple

from .tidy import tidy

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = inspect.CO_COROUTINE

_compile = compile
_eval = eval
_exec = exec
_cache = linecache.cache


class Cell(NamedTuple):
    """Compiled code: what to execute, then what to evaluate."""

    body: CodeType | None
    last: CodeType | None

    @property
    def is_async(self) -> bool:
        """Tells whether it awaits at top level and so needs the event loop."""
        return any(code is not None and code.co_flags & _COROUTINE for code in self)

    def run(self, namespace: dict[str, Any]) -> Any:
        """Runs a plain cell; returns the value of its last expression."""
        if self.body is not None:
            _exec(self.body, namespace)
        return None if self.last is None else _eval(self.last, namespace)

    async def run_async(self, namespace: dict[str, Any]) -> Any:
        """Runs a cell with top-level await."""
        value = None
        for code in self:
            if code is not None:
                value = _eval(code, namespace)
                if code.co_flags & _COROUTINE:
                    value = await value
        return None if self.last is None else value


def compile_cell(source: str, filename: str) -> Cell:
    """Compiles; raises SyntaxError and whatever else the compiler raises for hostile source."""
    source = tidy(source)
    remember(source, filename)
    tree = _compile(source, filename, "exec", _FLAGS | ast.PyCF_ONLY_AST, True)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    return Cell(
        _compile(tree, filename, "exec", _FLAGS, True) if tree.body else None,
        None if last is None else _compile(last, filename, "eval", _FLAGS, True),
    )


def remember(source: str, filename: str) -> None:
    """Gives tracebacks and `inspect.getsource` the lines of a cell."""
    lines = source.splitlines(True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    _cache[filename] = (len(source), None, lines, filename)
