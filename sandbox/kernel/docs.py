"""Documentation entries of tools: a Python signature made from a JSON schema, and a short form for reading."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

from .codec import encode
from .results import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
MAX_DEPTH = 6
MAX_SHAPE = 400
MAX_SUMMARY = 120
PROBES = ("__", "_repr_", "_ipython_", "_sandpy_")  # of copy, notebooks and mocks: no server has such a tool


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
            head = [f"await mcp_{self.alias}.<tool>(...):"] if self and self.alias else []
            return "\n".join([*head, *map(line, self)]) or "[]"
        except (AttributeError, KeyError, TypeError):
            return list.__repr__(self)


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
    server, tool, text = f"mcp_{doc['serverAlias']}", doc["toolAlias"], doc["signature"]
    if tool.startswith(PROBES):  # which is no attribute of a server
        return f"await {server}[{tool!r}]{text[len(tool) :]}"
    return f"await {server}.{text}"


def line(tool: dict[str, Any]) -> str:
    """Renders a tool, or its documentation entry, on one line: the signature and what it does."""
    text = tool["signature"] if "signature" in tool else signature(tool["alias"], tool.get("inputSchema") or {})
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
        signature=signature(tool["alias"], schema),
    )
    if full:
        doc["inputSchema"] = tool.get("inputSchema")
        if tool.get("outputSchema") is not None:
            doc["outputSchema"] = tool["outputSchema"]
    else:
        doc.__dict__["notes"] = tuple(each for each in (description, *_describe(schema)) if each)
    return doc


def _describe(schema: dict[str, Any]) -> list[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    return [
        f"  {_safe(name)}: {' '.join(each['description'].split())}"
        for name, each in properties.items()
        if isinstance(each, dict) and isinstance(each.get("description"), str)
    ]


def signature(name: str, schema: dict[str, Any]) -> str:
    """Renders `name(*, required: type, optional: type = default)`."""
    properties, required = _properties(schema)
    ordered = sorted(properties, key=lambda each: each not in required)
    parameters = [_parameter(each, properties[each], each in required) for each in ordered]
    return f"{name}({', '.join(['*', *parameters]) if parameters else ''})"


def _properties(schema: dict[str, Any]) -> tuple[dict[str, Any], set[Any]]:
    properties = schema.get("properties")
    required = schema.get("required")
    return (
        properties if isinstance(properties, dict) else {},
        {each for each in required if isinstance(each, str)} if isinstance(required, list) else set(),
    )


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameter(name: str, schema: Any, required: bool) -> str:
    text = f"{_safe(name)}: {_type(schema)}"
    if required:
        return text
    default = schema.get("default", ...) if isinstance(schema, dict) else ...
    return f"{text} = {'...' if default is ... else repr(default)}"


def _type(schema: Any, depth: int = 0) -> str:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return "Any"
    if isinstance(schema.get("enum"), list) and len(schema["enum"]) <= 12:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return " | ".join(dict.fromkeys(_type(each, depth + 1) for each in schema[key]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(each), "Any") for each in kind) or "Any"
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list[{_type(schema['items'], depth + 1)}]"
    if kind == "object":
        return _shape(schema, depth)
    return _TYPES.get(str(kind), "Any")


def _shape(schema: dict[str, Any], depth: int) -> str:
    """Renders what is in an object, as in `{name: str, note?: str}`: without it nobody can make one."""
    properties, required = _properties(schema)
    parts = [f"{name}{'' if name in required else '?'}: {_type(properties[name], depth + 1)}" for name in properties]
    text = f"{{{', '.join(parts)}}}"
    return text if parts and len(text) <= MAX_SHAPE else "dict"
