"""Where something of the session comes from: the statements of earlier cells that made it, and the names they need."""

from __future__ import annotations

import ast
import builtins
import symtable

from . import history
from .toolfile import bindings, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_Function = type(lambda: None)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_own = frozenset(vars(builtins)) | {"__name__", "__file__", "__doc__", "__class__", "__annotations__"}


class Origin:
    """One statement of a cell, which binds a name."""

    def __init__(self, cell: Cell, statement: Any, part: Any) -> None:
        self.cell = cell
        self.statement = statement
        self.part = part

    def source(self, without: tuple[int, int] | None = None) -> str:
        """Returns its source, from the first column on; without some of its lines, if need be."""
        if self.statement.col_offset:  # in an `if`, say: to take away white space could change texts of several lines
            return ast.unparse(self.statement)
        first, last = span(self.statement)
        lines = self.cell.lines[first - 1 : last]
        if without is not None:
            lines[without[0] - first : without[1] - first + 1] = []
        if self.statement.end_col_offset is not None and lines:
            rest = lines[-1].encode()[self.statement.end_col_offset :].strip()
            if rest and not rest.startswith(b"#"):  # another statement behind a semicolon
                return ast.unparse(self.statement)
        return "".join(lines).rstrip("\n")


class Cell:
    """One cell that is remembered, parsed."""

    def __init__(self, filename: str, lines: list[str]) -> None:
        self.filename = filename
        self.lines = lines
        self.bindings = [(name, Origin(self, *more)) for name, *more in bindings(ast.parse("".join(lines)).body)]


class Cells:
    """All cells that are remembered, the newest first; parsed as far as somebody looks."""

    def __init__(self) -> None:
        self.parsed: dict[str, Cell] = {}

    def newest_first(self) -> Any:
        """Goes through them."""
        for filename, lines in history.newest_first():
            cell = self.get(filename, lines)
            if cell is not None:
                yield cell

    def get(self, filename: str, lines: list[str]) -> Cell | None:
        """Returns one, None where it is no Python."""
        known = self.parsed.get(filename)
        if known is None or known.lines is not lines:
            try:
                known = self.parsed[filename] = Cell(filename, lines)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        return known

    def binding(self, name: str) -> Origin | None:
        """Returns what bound a name last, as far as the text of the cells says."""
        for cell in self.newest_first():
            for bound, origin in reversed(cell.bindings):
                if bound == name:
                    return origin
        return None

    def imports(self, name: str) -> list[Origin]:
        """Returns all imports that bound a name, the oldest first: each of `import a.b` and `import a.c` counts."""
        found = []
        for cell in self.newest_first():
            for bound, origin in reversed(cell.bindings):
                if bound == name:
                    if not isinstance(origin.statement, (ast.Import, ast.ImportFrom)):
                        return found[::-1]
                    found.append(origin)
        return found[::-1]

    def at(self, filename: str, line: int) -> Origin | None:
        """Returns the definition of a cell that begins at a line, or has it among its decorators."""
        for cell in self.newest_first():
            if cell.filename == filename:
                for _, origin in cell.bindings:
                    statement = origin.statement
                    if isinstance(statement, _DEFINITIONS) and span(statement)[0] <= line <= statement.lineno:
                        return origin
        return None

    def definition(self, value: Any, name: str) -> Origin | None:
        """Returns the `def` or `class` of a function or class; None where it was made in another way."""
        function = unwrapped(value)
        if type(function) is _Function and "<locals>" not in function.__qualname__:
            found = self.at(function.__code__.co_filename, function.__code__.co_firstlineno)
            if found is not None and found.statement.name == function.__name__:
                return found
        found = self.binding(name)
        if found is None or not isinstance(found.statement, _DEFINITIONS):
            return None
        plain = type(value) is _Function and not found.statement.decorator_list
        return None if plain else found  # else it is the value of a decorator that hides what it decorates


def unwrapped(value: Any) -> Any:
    """Returns the function that decorators wrap, as far as they say so."""
    for _ in range(100):
        inner = getattr(value, "__dict__", {}).get("__wrapped__")
        if inner is None:
            break
        value = inner
    return value


def needs(source: str) -> list[str]:
    """Returns the names that a statement takes from the module, whether as it runs or later, in alphabetical order.
    Those that Python itself has are not left out: a module may have its own."""
    found: set[str] = set()
    todo = [symtable.symtable(source, "<tool>", "exec")]
    while todo:
        table = todo.pop()
        outermost = table.get_type() == "module"
        for symbol in table.get_symbols():
            if outermost:
                if symbol.is_referenced():
                    found.add(symbol.get_name())
            elif symbol.is_global() and (symbol.is_referenced() or symbol.is_declared_global()):
                found.add(symbol.get_name())
        todo += table.get_children()
    return sorted(found)


def is_builtin(name: str) -> bool:
    """Tells whether Python has the name in every module."""
    return name in _own
