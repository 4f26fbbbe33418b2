"""The text of `user_tools.py`: which tools are in it, and how one is put in or taken out."""

from __future__ import annotations

import ast

from .history import split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

NAME = "user_tools"
PATH = "/projects/user_tools.py"
MAX_CHARS = 1024 * 1024  # more is no tools of anybody's, and would take seconds to compile

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = (ast.If, ast.Try, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While)


class FaultyFileError(Exception):
    """The file is no Python, or fails when it is run; says where."""


class Item:
    """One statement to be in the file: what it binds, and its source with LF."""

    def __init__(self, name: str, source: str, is_import: bool = False) -> None:
        self.name = name
        self.source = source.strip("\n")
        self.is_import = is_import


class ToolFile:
    """One state of the file. Raises FaultyFileError where it is no Python."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.mark = "\ufeff" if text.startswith("\ufeff") else ""
        self.lines = split_lines(text[len(self.mark) :])
        ends = self.lines[0] if self.lines else "\n"
        self.newline = "\r\n" if ends.endswith("\r\n") else "\r" if ends.endswith("\r") else "\n"
        self.tree = parse(text[len(self.mark) :])

    def definitions(self) -> dict[str, Any]:
        """Returns the statement that defines each function and class; of several the last."""
        return {each.name: each for each in self.tree.body if isinstance(each, _DEFINITIONS)}

    def tools(self) -> dict[str, Any]:
        """The same, without those that are for the file itself."""
        return {name: node for name, node in self.definitions().items() if not name.startswith("_")}

    def bound(self) -> dict[str, Any]:
        """Returns the statement that binds each name of the file."""
        return {name: statement for name, statement, _ in bindings(self.tree.body)}

    def source(self, statement: Any) -> str:
        """Returns the source of a statement, with LF."""
        first, last = span(statement)
        return "".join(self.lines[first - 1 : last]).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"

    def with_items(self, items: list[Item], at_end: bool = False) -> str:
        """Returns the text with these in it, the last of which is the tool: each in the place of what defines its name
        now, others before the tool, or with `at_end` all at the end. Raises ValueError."""
        edits: list[tuple[int, int, str]] = []  # first line, line after the last, text in between
        new: list[str] = []
        imports: list[str] = []
        bound = self.bound()
        tool_line = None
        for item in items:
            found = bound.get(item.name)
            if found is not None and item.is_import != isinstance(found, (ast.Import, ast.ImportFrom)):
                raise ValueError(self._other(item, found))
            if item.is_import:
                if found is None:
                    imports.append(item.source)
                elif not self._same_import(item):
                    raise ValueError(self._other(item, found))
            elif not self._is_alone(found, item.name):
                new.append(item.source)
            else:
                first, last = self._lines_of(found)
                same = self.source(found).strip("\n") == item.source
                if at_end:
                    edits.append((first, self._after(last), ""))
                    new.append(item.source)
                    continue
                if not same:
                    edits.append((first, last + 1, item.source + "\n"))
                if item is items[-1]:
                    tool_line = first
        if imports:
            line, apart = self._imports_line()
            edits.append((line, line, "".join(f"{each}\n" for each in imports) + ("\n\n" if apart else "")))
        if new and tool_line is not None:
            edits.append((tool_line, tool_line, "".join(f"{each}\n\n\n" for each in new)))
        lines = list(self.lines)
        for _, (first, after, text) in sorted(enumerate(edits), key=lambda each: (*each[1][:2], each[0]), reverse=True):
            if first > len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
                lines[-1] += self.newline
            lines[first - 1 : after - 1] = [text.replace("\n", self.newline)]
        text = "".join(lines)
        if new and tool_line is None:
            text = self._spaced(text) + "\n\n\n".join(new).replace("\n", self.newline) + self.newline
        return self.mark + text

    def _spaced(self, text: str) -> str:
        """Adds what is missing of two empty lines at the end."""
        if not text.strip():
            return ""
        if not text.endswith(("\n", "\r")):
            text += self.newline
        lines = split_lines(text)
        empty = 0
        while empty < 2 and not lines[-1 - empty].strip():
            empty += 1
        return text + self.newline * (2 - empty)

    @staticmethod
    def _is_alone(statement: Any, name: str) -> bool:
        """Tells whether a statement of the top level does nothing but bind this one name."""
        return (
            statement is not None
            and statement.col_offset == 0
            and len({each for each, _, _ in bindings([statement])}) == 1
        )

    @staticmethod
    def _other(item: Item, found: Any) -> str:
        return f"{PATH} has another {item.name!r} in line {found.lineno}: use another name in the tool"

    def without(self, name: str) -> str:
        """Returns the text without a definition, and the empty lines behind it. Raises ValueError."""
        first, last = self._lines_of(self.definitions()[name])
        return self.mark + "".join([*self.lines[: first - 1], *self.lines[self._after(last) - 1 :]])

    def _after(self, last: int) -> int:
        after = last + 1
        while after <= len(self.lines) and not self.lines[after - 1].strip():
            after += 1
        return after

    def _lines_of(self, statement: Any) -> tuple[int, int]:
        first, last = span(statement)
        for other in self.tree.body:
            if other is not statement and span(other)[0] <= last and span(other)[1] >= first:
                message = f"{PATH} has several statements in line {other.lineno}: put each on a line of its own"
                raise ValueError(message)
        return first, last

    def _same_import(self, item: Item) -> bool:
        wanted = {_spelled(each) for each in bindings(ast.parse(item.source).body)}
        return wanted <= {_spelled(each) for each in bindings(self.tree.body)}

    def _imports_line(self) -> tuple[int, bool]:
        """Returns the line before which imports go, behind those at the head or the docstring, and whether there are
        to be empty lines behind them."""
        line = 0
        imports = False
        for number, statement in enumerate(self.tree.body):
            first, last = span(statement)
            is_import = isinstance(statement, (ast.Import, ast.ImportFrom))
            is_text = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if first >= line and not is_import and not is_text:
                break
            line, imports = last + 1, imports or is_import
        if line:
            return line, not imports
        line = span(self.tree.body[0])[0] if self.tree.body else len(self.lines) + 1
        while (
            line > 1 and self.lines[line - 2].startswith("#") and not self.lines[line - 2].startswith(("#!", "# -*-"))
        ):
            line -= 1
        return line, True


def span(statement: Any) -> tuple[int, int]:
    """Returns the first and the last line of a statement, decorators included."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(each.lineno for each in decorators)]), statement.end_lineno


def bindings(body: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Finds what statements bind in their own scope, in order: the name, the statement, and the part that does it: the
    definition, the `alias` of an import, or the target."""
    for statement in body:
        if isinstance(statement, _DEFINITIONS):
            yield statement.name, statement, statement
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0], statement, alias
        elif isinstance(statement, _BLOCKS) or hasattr(statement, "handlers") or hasattr(statement, "cases"):
            yield from _targets(statement, False)
            for field in ("body", "handlers", "cases", "orelse", "finalbody"):
                for inner in getattr(statement, field, ()):
                    yield from bindings(getattr(inner, "body", ()) if field in ("handlers", "cases") else [inner])
        else:
            yield from _targets(statement, True)


def _targets(statement: Any, deep: bool) -> Iterator[tuple[str, Any, Any]]:
    """Finds the names that a statement assigns to; of a block only those of its head."""
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, statement, node
        if isinstance(node, (*_DEFINITIONS, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        for field, value in ast.iter_fields(node):
            if node is statement and not deep and field in ("body", "handlers", "cases", "orelse", "finalbody"):
                continue
            values = value if isinstance(value, list) else [value]
            todo += [each for each in values if isinstance(each, ast.AST)]


def _spelled(binding: tuple[str, Any, Any]) -> tuple[Any, ...]:
    name, statement, part = binding
    if isinstance(part, ast.alias):
        whole = part.name if part.asname is None or isinstance(statement, ast.ImportFrom) else ""
        return name, getattr(statement, "module", None), getattr(statement, "level", None), part.name, whole
    return (name, id(part))


def parse(text: str) -> Any:
    """Parses the text of the file. Raises FaultyFileError."""
    if len(text) > MAX_CHARS:
        message = f"it has {len(text):,} characters, and at most {MAX_CHARS:,} are loaded"
        raise FaultyFileError(message)
    try:
        tree = ast.parse(text, PATH)
        compile(text, PATH, "exec", dont_inherit=True)  # finds what the parser alone does not, as `return` outside
        return tree
    except SyntaxError as error:
        raise FaultyFileError(located(error, text)) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        message = f"it is no Python: {error or type(error).__name__}"
        raise FaultyFileError(message) from None


def located(error: SyntaxError, text: str) -> str:
    """Words a syntax error of the file on one line."""
    lines = split_lines(text)
    number = error.lineno or 0
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    return f"line {number}: {type(error).__name__}: {error.msg}" + (f": {line[:100]}" if line else "")
