"""Saves, lists, shows and deletes tools. The bodies of the functions of keeping.py about them."""

from __future__ import annotations

import ast

from .docs import Doc, Found, OneDoc, ToolList, sentence
from .gather import Gathering, NotSavableError
from .late import close_matches
from .memory import Memories
from .origin import Cells
from .rehearsal import describe
from .results import MCPError
from .saved import Saved
from .servers import Awaitable, Text
from .toolfile import NAME, PATH, FaultyFileError, ToolFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from .names import Names

    Body = Generator[Any, Any, Any]

_Module = type(ast)


class SavedTool(Doc):
    """The documentation of one saved tool, which prints as a call of it."""

    def __repr__(self) -> str:
        try:
            call = f"{'await ' if self['isAsync'] else ''}{self['signature']}"
            description = self["description"].rstrip(".")
            return (
                f"{call}\n{description}" if "\n" in description else f"{call}  # {description}" if description else call
            )
        except (AttributeError, KeyError, TypeError):  # the user made something else of it
            return dict.__repr__(self)


class SavedTools(Awaitable, ToolList):
    """The saved tools, which print a line each."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "[]"


class Tools:
    """What can be done with saved tools."""

    def __init__(self, names: Names, memories: Memories, saved: Saved) -> None:
        self.names = names
        self.memories = memories
        self.saved = saved
        self.cells = Cells()

    def save(self, function: Any, more: tuple[Any, ...], line: int, awaits: bool) -> Body:
        """Saves a function with all that it needs."""
        if more or isinstance(function, str):
            message = "save_tool takes a function alone: define it with `def` in the session, then save_tool(name)"
            raise NotSavableError(message)
        names = self.names
        held = yield from self.hold("saving a tool", awaits)
        try:
            text = held["source"]
            self.saved.take(text)
            file = self.current(text)
            items = self.gather(function, file, line)
            name = items[-1].name
            before = file.definitions().get(name)
            text, module = self.fit(file, items)
            yield self.memories.rpc.request("tools_commit", {"lease": held["lease"], "source": text}, "save_tool")
        except BaseException:
            self.memories.release(held["lease"])
            raise
        finally:
            self.memories.turns.give_back(held["turn"])
        self.saved.take(text, tried=True)
        self.saved.adopt(module, self.saved.module)
        rest = ", ".join(each.name for each in items[:-1])
        what = f"tool {name!r} saved{' again' if before is not None else ''}" + (f", with {rest}" if rest else "")
        said = f"{what}; every session has it as {name}, and from {NAME} import {name}"
        if any(value is function for value in list(names.namespace.values())):
            return Text(said)
        print(said)  # it decorates, so the name is to stand for the function
        return function

    def delete(self, name: Any, awaits: bool) -> Body:
        """Removes one; what it needed stays, and is named where nothing else uses it."""
        wanted = self.name_of(name)
        held = yield from self.hold("deleting a tool", awaits)
        try:
            file = self.current(held["source"])
            self.check(file, wanted)
            text = file.without(wanted)
            yield self.memories.rpc.request("tools_commit", {"lease": held["lease"], "source": text}, "delete")
        except BaseException:
            self.memories.release(held["lease"])
            raise
        finally:
            self.memories.turns.give_back(held["turn"])
        self.saved.take(text)
        unused = sorted(_unused(ToolFile(text)) - _unused(file))
        left = f"; {', '.join(unused)} stays in the file, though nothing there uses it now" if unused else ""
        return Text(f"tool {wanted!r} deleted{left}")

    def list(self, awaits: bool) -> Body:
        """Returns what is saved."""
        file = yield from self.newest(awaits)
        return SavedTools([entry(node, False) for node in file.tools().values()])

    def show(self, name: Any, awaits: bool) -> Body:
        """Returns the source of one."""
        wanted = self.name_of(name)
        file = yield from self.newest(awaits)
        self.check(file, wanted)
        return Text(file.source(file.definitions()[wanted]))

    # Documentation

    def docs(self, tool: object, full: bool) -> Any:
        """Documents all tools, or one, as `query_tool_docs` does."""
        tools = self.tools()
        if tool is None:
            return ToolList([entry(node, full) for node in tools.values()])
        wanted = str(getattr(tool, "__name__", tool))
        if wanted not in tools:
            raise MCPError(_unknown(wanted, list(tools)), NAME, None, "unknown")
        return OneDoc([entry(tools[wanted], True)])

    def tools(self) -> dict[str, Any]:
        """Returns the tools that can be used now, and makes them so."""
        if self.saved.fault is not None or not self.saved.text:
            return {}
        self.saved.mentioned(NAME)
        return self.saved.file.tools() if self.saved.module is not None else {}

    def found(self, found: Any, query: str, limit: int, full: bool) -> Any:
        """Puts those saved tools that fit before what the host found."""
        words = _words(query)
        ranked = []
        for name, node in self.tools().items():
            own, text = _words(name), _words(f"{name} {ast.get_docstring(node) or ''}")
            hits = sum(1 for word in words if any(_alike(word, each) for each in text))
            named = name.lower() in query.lower() or (bool(words) and own <= words)
            if named or (words and hits * 2 >= len(words)):
                ranked.append((-hits - (len(words) if named else 0), name, entry(node, full)))
        best = [each for _, _, each in sorted(ranked, key=lambda each: each[:2])][:limit]
        if not best:
            return found
        head = f"{len(best)} saved tool{'s' if len(best) > 1 else ''}"
        head += f", {found.head}" if found else ""
        foot = found.foot if found else ()
        return Found([*best, *found[: max(0, limit - len(best))]], head, foot)

    # Parts

    def hold(self, action: str, awaits: bool) -> Body:
        """Waits for the hold of the file. Its `turn` is to be given back too."""
        turn = yield from self.memories.turns.take("the saved tools", action, awaits)
        try:
            held = yield from self.memories.hold("tools_hold", {}, action)
        except BaseException:
            self.memories.turns.give_back(turn)
            raise
        return {**held, "turn": turn}

    def newest(self, awaits: bool) -> Body:
        """Returns the file as it is now. Raises NotSavableError where it is no Python."""
        held = yield from self.hold("reading the saved tools", awaits)
        self.memories.release(held["lease"])
        self.memories.turns.give_back(held["turn"])
        self.saved.take(held["source"])
        return self.current(held["source"])

    def current(self, text: str) -> ToolFile:
        """Parses the file as the host has it."""
        try:
            return ToolFile(text)
        except FaultyFileError as error:
            message = f"{PATH}, {error}; the user can mend that file, `sandpy memory tools path` says where it is"
            raise NotSavableError(message) from None

    def gather(self, function: Any, file: ToolFile, line: int) -> list[Any]:
        """Finds what a tool needs."""
        names = self.names
        bound = dict.fromkeys(file.bound())
        if self.saved.module is not None:
            bound.update({name: vars(self.saved.module).get(name) for name in bound})
        return Gathering(self.cells, names.namespace, names.injected, bound).take(function, line)

    def fit(self, file: ToolFile, items: list[Any]) -> tuple[str, Any]:
        """Puts the items into the file, and runs the outcome; returns both. Raises NotSavableError."""
        try:
            for at_end in (False, True):
                text = file.with_items(items, at_end)
                module = _Module(NAME)
                try:
                    ToolFile(text)
                    self.saved.run(module, text)
                except NameError:  # something is used before its line
                    if at_end:
                        raise
                    continue
                return text, module
        except (FaultyFileError, ValueError) as error:
            raise NotSavableError(str(error)) from None
        except Exception as error:
            message = f"tool {items[-1].name!r} is not saved, since {NAME}.py would fail with it: {describe(error)}"
            raise NotSavableError(message) from error
        raise AssertionError

    @staticmethod
    def name_of(name: Any) -> str:
        """Returns the name of a tool that is given by it, or itself."""
        return name if isinstance(name, str) else getattr(name, "__name__", repr(name))

    @staticmethod
    def check(file: ToolFile, name: str) -> None:
        """Raises NotSavableError where there is no such tool."""
        if name not in file.definitions():
            raise NotSavableError(_unknown(name, list(file.tools())))


def _unknown(name: str, known: list[str]) -> str:
    near = close_matches(name, known, 1, 0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"no saved tool is called {name!r}.{hint} There is {', '.join(map(repr, known[:20])) or 'none'}"


def entry(node: Any, full: bool) -> SavedTool:
    """Documents one tool from its source."""
    text = ast.get_docstring(node) or ""
    name, is_class = node.name, isinstance(node, ast.ClassDef)
    arguments = node
    if is_class:
        made = [each for each in node.body if getattr(each, "name", None) == "__init__"]
        arguments = made[0] if made else None
    shown = ast.unparse(arguments.args) if arguments is not None else ""
    if is_class:
        shown = shown.partition(",")[2].strip()
    returns = f" -> {ast.unparse(node.returns)}" if getattr(node, "returns", None) is not None else ""
    return SavedTool(
        server=NAME,
        serverAlias=NAME,
        tool=name,
        toolAlias=name,
        description=text if full else sentence(text),
        signature=f"{name}({shown}){returns}",
        isAsync=isinstance(node, ast.AsyncFunctionDef),
    )


def _unused(file: ToolFile) -> set[str]:
    """Returns the private definitions of the file that nothing else there names."""
    used = {each.id for each in ast.walk(file.tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    return {name for name in file.bound() if name not in used and name not in file.tools()}


def _words(text: str) -> set[str]:
    cleaned = "".join(each if each.isalnum() else " " for each in text.lower())
    return {word for word in cleaned.split() if len(word) > 1}


def _alike(word: str, other: str) -> bool:
    """Tells whether two words are the same but for their ends: `price` and `prices`, `convert` and `converts`."""
    short = min(len(word), len(other))
    return word == other or (short > 3 and word[:short] == other[:short] and abs(len(word) - len(other)) <= 3)
