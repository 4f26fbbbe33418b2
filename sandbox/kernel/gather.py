"""What a saved tool needs to work on its own: imports, helpers and constants of the session, found and put in order."""

from __future__ import annotations

import ast
import keyword
import sys

from .judged import (
    TooMuchError,
    import_line,
    is_installed,
    is_simple,
    kind_of,
    literal,
    makes_a_value,
    saving_lines,
    undecorated,
)
from .origin import Cells, Origin, is_builtin, needs, unwrapped
from .toolfile import NAME, Item, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ITEMS = 200

_Module = type(sys)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What would do more, where the file is loaded, than make a value.
_ACTIVE = frozenset(
    ("open", "input", "print", "exec", "eval", "globals", "locals", "vars", "breakpoint", "exit", "quit", "__import__")
)


class NotSavableError(ValueError):
    """A tool can not be saved; says why, and what to do."""

    __module__ = "mcp.runtime"


class Gathering:
    """The items of one tool."""

    def __init__(self, cells: Cells, namespace: dict[str, Any], given: dict[str, Any], saved: Any) -> None:
        self.cells = cells
        self.namespace = namespace
        self.given = given  # what the session puts into every namespace
        self.saved = saved  # names of the file, with their values as far as it is loaded
        self.items: list[Item] = []
        self.seen: set[str] = set()
        self.missing: list[str] = []

    def take(self, function: Any, line: int) -> list[Item]:
        """Returns the items of a tool, which is the last. Raises NotSavableError. `line` is where the cell that runs
        now called, for a decorator."""
        name, origin = self.find(function, line)
        self.seen.add(name)
        self.add(name, origin, saving_lines(origin.statement))
        if self.missing:
            listed = "; ".join(self.missing[:10]) + (
                f"; and {len(self.missing) - 10} more" if self.missing[10:] else ""
            )
            message = f"tool {name!r} is not saved, since it needs what can not be saved with it: {listed}"
            raise NotSavableError(message)
        return self.items

    def find(self, function: Any, line: int) -> tuple[str, Origin]:
        """Returns the name and the definition of what is to be saved."""
        names = [name for name, value in list(self.namespace.items()) if value is function and name != "_"]
        name = getattr(function, "__name__", None)
        if not callable(function) or not isinstance(name, str):
            hint = " without calling it" if function is None else ""
            message = f"save_tool takes a function made with `def`, as in save_tool(f){hint}, not {kind_of(function)}"
            raise NotSavableError(message)
        if name == "<lambda>":
            message = "a lambda has no name to be saved under: write `def name(...): return ...`, then save_tool(name)"
            raise NotSavableError(message)
        inner = unwrapped(function)
        module = getattr(inner, "__module__", None)
        if module not in ("__main__", None) or isinstance(function, type(len)):
            why = f"{name!r} comes from {module}, so import it where it is needed"
            if module == NAME and name in self.saved:
                why = f"{name!r} is saved already"
            message = f"{why}; a tool is a function that was defined in the session"
            raise NotSavableError(message)
        for bound in [name, *names]:
            origin = self.cells.definition(function, bound)
            if origin is not None:
                return self.check_name(origin.statement.name), origin
        origin = self.decorated(line)
        if origin is not None:
            return self.check_name(origin.statement.name), origin
        if "<locals>" in getattr(inner, "__qualname__", ""):
            held = ", ".join(map(repr, inner.__code__.co_freevars)) if hasattr(inner, "__code__") else ""
            remembers = f", and remembers {held}" if held else ""
            message = f"{name!r} is made inside another function{remembers}: define it with `def` at top level"
            raise NotSavableError(message)
        message = (
            f"the source of {name!r} is not known, as of code from exec(): define it with `def` in a call of run_python"
        )
        raise NotSavableError(message)

    def decorated(self, line: int) -> Origin | None:
        """Returns the definition that is being decorated by `save_tool` at a line of the newest cell."""
        for cell in self.cells.newest_first():
            for _, origin in cell.bindings:
                statement = origin.statement
                if isinstance(statement, _DEFINITIONS) and span(statement)[0] <= line <= statement.lineno:
                    return origin if saving_lines(statement) else None
            return None
        return None

    def check_name(self, name: str) -> str:
        """Returns the name where a tool may have it."""
        why = ""
        if name.startswith("_"):
            why = "names that begin with _ are for what tools use"
        elif is_builtin(name) or keyword.iskeyword(name):
            why = "Python has something of that name"
        elif name in self.given or name.startswith("mcp_") or name == NAME:
            why = "the session has something of that name"
        if why:
            message = f"a tool can not be called {name!r}: {why}; rename it"
            raise NotSavableError(message)
        return name

    def add(self, name: str, origin: Origin, without: tuple[int, int] | None = None) -> None:
        """Adds a statement, after what it needs."""
        source = origin.source(without)
        if without is not None and origin.statement.col_offset:
            source = undecorated(origin.statement)
        self.add_source(name, source)

    def add_source(self, name: str, source: str) -> None:
        """Adds a statement by its source, after what it needs."""
        if len(self.seen) > MAX_ITEMS:
            self.missing.append(f"more than {MAX_ITEMS} names")
            return
        for each in needs(source):
            if each not in self.seen:
                self.seen.add(each)
                self.visit(each)
        self.items.append(Item(name, source))

    def visit(self, name: str) -> None:
        """Adds what a name stands for."""
        missing = object()
        value = self.namespace.get(name, missing)
        if value is missing:
            if not is_builtin(name) and name not in self.given and name not in self.saved:
                self.missing.append(f"{name!r} is not defined")
            return
        if value is self.given.get(name, missing) or (name in self.saved and value is self.saved[name]):
            return
        origin = self.cells.binding(name)
        if isinstance(value, _Module):
            self.module(name, value)
        elif isinstance(getattr(origin, "statement", None), (ast.Import, ast.ImportFrom)):
            self.imported(name, value)
        elif not (self.defined(name, value) or self.data(name, value, origin) or self.made(name, value, origin)):
            if callable(value) and self.starred(name, value):
                return
            self.miss(name, value, "pass it as an argument, or keep it with save_memory and load it in the tool")

    def miss(self, name: str, value: Any, hint: str) -> None:
        """Takes note of what can not be saved."""
        self.missing.append(f"{name!r} is {kind_of(value)} of this session: {hint}")

    def defined(self, name: str, value: Any) -> bool:
        """Adds a function or class of the session; False where it is none."""
        if not callable(value) or getattr(unwrapped(value), "__module__", None) != "__main__":
            return False
        origin = self.cells.definition(value, name)
        if origin is None:
            return False
        if origin.statement.name != name:  # f = g
            own = origin.statement.name
            if own not in self.seen:
                self.seen.add(own)
                self.add(own, origin, saving_lines(origin.statement))
            self.items.append(Item(name, f"{name} = {own}"))
            return True
        self.add(name, origin, saving_lines(origin.statement))
        return True

    def module(self, name: str, value: Any) -> None:
        """Adds the imports of a module."""
        file = getattr(value, "__file__", None) or ""
        if value.__name__ != NAME and file and not is_installed(file):
            self.missing.append(
                f"the module {name!r} is the file {file}, which does not stay: put its code into the session"
            )
            return
        lines = [import_line(each, name) for each in self.cells.imports(name)]
        lines = [each for each in lines if each]
        if not lines:
            whole = value.__name__
            lines = [f"import {whole}" if whole == name else f"import {whole} as {name}"]
        self.items.append(Item(name, "\n".join(dict.fromkeys(lines)), True))

    def imported(self, name: str, value: Any) -> None:
        """Adds the import of something that is no module."""
        source = getattr(value, "__module__", None)
        file = getattr(sys.modules.get(source), "__file__", None) if isinstance(source, str) else None
        if file and source != NAME and not is_installed(file):
            self.missing.append(f"{name!r} is from the file {file}, which does not stay: put its code into the session")
            return
        line = import_line(self.cells.imports(name)[-1], name)
        if line:
            self.items.append(Item(name, line, True))
        elif not self.starred(name, value):
            self.missing.append(f"{name!r} is not imported in a way that can be kept: import it by its name")

    def starred(self, name: str, value: Any) -> bool:
        """Adds the import of what `import *` brought; False where it is nothing of the kind."""
        source = getattr(value, "__module__", None)
        found = getattr(sys.modules.get(source), name, None) if isinstance(source, str) else None
        if found is not value or source == "__main__":
            return False
        self.items.append(Item(name, f"from {source} import {name}", True))
        return True

    def data(self, name: str, value: Any, origin: Origin | None) -> bool:
        """Adds plain data as it is now, in the words of the cell where those still say the same; False for all else."""
        try:
            text = literal(value)
        except TooMuchError:
            self.miss(name, value, "it is too long; keep it with save_memory and load it in the tool")
            return True
        if text is None:
            return False
        source = f"{name} = {text}"
        if origin is not None and is_simple(origin.statement, name):
            try:
                if repr(ast.literal_eval(origin.statement.value)) == repr(value):
                    source = origin.source()
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                pass
        self.items.append(Item(name, source))
        return True

    def made(self, name: str, value: Any, origin: Origin | None) -> bool:
        """Adds what an expression made, to be made again, where all that it needs can be had; False for all else."""
        if origin is None or not makes_a_value(origin, name, value):
            return False
        if any(each in _ACTIVE or each in self.given for each in needs(origin.source())):
            self.miss(name, value, "make it inside the tool")
        else:
            self.add_source(name, origin.source())
        return True
