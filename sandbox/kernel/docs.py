"""Documentation entries of tools: a Python signature made from a JSON schema, and a short form for reading."""

from __future__ import annotations

from collections.abc import Iterable

from .codec import encode
from .parameters import Parameters
from .results import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_SUMMARY = 120


class Doc(Record):
    """One documentation entry: a dict, which prints as a person writes it down."""

    notes: tuple[str, ...] = ()  # the whole description, and what the schema says of each parameter

    def __repr__(self) -> str:
        try:
            call = call_line(self)
            if "inputSchema" not in self:
                summary = self["description"].rstrip(".")
                return f"{call}  # {summary}" if summary else call
            schemas = [f"{key}: {encode(self[key])}" for key in ("inputSchema", "outputSchema") if key in self]
            return "\n".join(each for each in (call, self["description"], *schemas) if each)
        except (AttributeError, KeyError, TypeError, ValueError):  # the user made something else of it
            return dict.__repr__(self)


class ToolList(list):
    """Tools of one server: a list of dicts, which prints one line for each."""

    def __init__(self, tools: Iterable[Any] = (), alias: str = "") -> None:
        super().__init__(tools)
        self.alias = alias

    def __repr__(self) -> str:
        try:
            if self and all(isinstance(tool, Doc) and "inputSchema" in tool for tool in self):
                return "\n".join(map(repr, self))
            head = [f"await mcp_{self.alias}.<tool>(...):"] if self and self.alias else []
            return "\n".join([*head, *map(line, self)]) or "[]"
        except (AttributeError, KeyError, TypeError):
            return list.__repr__(self)


class Found(list):
    """The documentation of the tools that a search found, and what to do next."""

    def __init__(self, entries: Iterable[Any] = (), head: str = "", foot: Iterable[str] = ()) -> None:
        super().__init__(entries)
        self.head = head
        self.foot = tuple(foot)

    def __repr__(self) -> str:
        try:
            return "\n".join([self.head, *map(repr, self), *self.foot]) if self.head else list.__repr__(self)
        except AttributeError:
            return list.__repr__(self)


def found(answer: dict[str, Any], query: str, limit: int, full: bool) -> Found:
    """Shows the answer of a search."""
    entries = [
        entry({"name": each["server"], "alias": each["serverAlias"]}, each["tool"], full) for each in answer["matches"]
    ]
    total, searched, unknown, learning = (answer[key] for key in ("total", "searched", "unknown", "learning"))
    about = f" for {query!r}" if query.strip() else ""
    head = f"{len(entries)} of {total}{about}, {searched} tools searched" if total else f"no tool{about} in {searched}"
    foot = []
    if total > len(entries):
        foot.append(f"more: limit={min(total, limit * 4)}, or other words")
    if entries and not full:
        foot.append("details: await runtime.query_tool_docs(server, tool)")
    if not entries and answer["suggestions"] and not learning:
        foot.append(f"like these? {', '.join(map(repr, answer['suggestions']))}")
    if not entries:
        foot.append("all servers: runtime.discovered_servers(detailed=True), await runtime.find_servers()")
    if learning:
        foot.append(f"not searched: {_servers(unknown)} whose tools are not known yet; search again in some seconds")
    elif unknown:
        named = answer["unknownServers"]
        more = f" and {unknown - len(named)} more" if unknown > len(named) else ""
        foot.append(f"not searched: {', '.join(map(repr, named))}{more}; await runtime.list_tools(server) says why")
    return Found(entries, head, foot)


def _servers(count: int) -> str:
    return "1 server" if count == 1 else f"{count} servers"


class OneDoc(list):
    """The documentation of the one tool that was asked for: a list of one, which can also be used as that entry."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(0)[key] if isinstance(key, str) else super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not self:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)
        return getattr(super().__getitem__(0), name)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or (isinstance(key, str) and bool(self) and key in super().__getitem__(0))

    def keys(self) -> Any:
        """The keys of the entry, so that `dict(docs)` and `{**docs}` work."""
        return super().__getitem__(0).keys()

    def __repr__(self) -> str:
        try:
            doc = super().__getitem__(0)
            if "inputSchema" in doc or not doc.notes:
                return repr(doc)
            return "\n".join([call_line(doc), *doc.notes])
        except (AttributeError, IndexError, KeyError, TypeError):
            return list.__repr__(self)


def call_line(doc: dict[str, Any]) -> str:
    """Returns a call of a tool as code writes it, with its signature for the arguments."""
    return f"await mcp_{doc['serverAlias']}.{doc['signature']}"


def line(tool: dict[str, Any]) -> str:
    """Renders a tool, or its documentation entry, on one line: the signature and what it does."""
    text = tool.get("signature") or signature(tool["alias"], tool.get("inputSchema"), tool.get("outputSchema"))
    summary = sentence(tool.get("description") or "").rstrip(".")
    return f"{text}  # {summary}" if summary else text


def sentence(text: str) -> str:
    """Returns the first sentence, on one line and not too long."""
    line = " ".join(text[: MAX_SUMMARY * 8].split())
    end = line.find(". ") + 1
    line = line[:end] if end > 0 else line
    return line if len(line) <= MAX_SUMMARY else f"{line[:MAX_SUMMARY]}…"


def entry(server: dict[str, Any], tool: dict[str, Any], full: bool) -> Doc:
    """Builds one documentation entry: a summary on one line, or in full with the schemas."""
    schema = tool.get("inputSchema") or {}
    description = (tool.get("description") or "").strip()
    doc = Doc(
        server=server["name"],
        serverAlias=server["alias"],
        tool=tool["name"],
        toolAlias=tool["alias"],
        description=description if full else sentence(description),
        signature=signature(tool["alias"], schema, tool.get("outputSchema")),
    )
    if full:
        doc["inputSchema"] = tool.get("inputSchema")
        if tool.get("outputSchema") is not None:
            doc["outputSchema"] = tool["outputSchema"]
    else:
        doc.__dict__["notes"] = tuple(each for each in (description, *_describe(schema)) if each)
    return doc


def _describe(schema: Any) -> list[str]:
    return Parameters(schema).describe()


def signature(name: str, schema: Any, output: Any = None) -> str:
    """Renders `name(must: type, may: type = default) -> type of .data`."""
    return Parameters(schema).signature(name, output)
