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


class Doc(Record):
    """One documentation entry: a dict, which prints as a person writes it down."""

    parameters: tuple[str, ...] = ()  # what the schema says of each

    def __repr__(self) -> str:
        try:
            lines = [f"await mcp_{self['serverAlias']}.{self['signature']}", self["description"], *self.parameters]
            if "inputSchema" in self:
                lines.append(f"inputSchema: {encode(self['inputSchema'])}")
            return "\n".join(line for line in lines if line)
        except (KeyError, TypeError, ValueError):  # the user made something else of it
            return dict.__repr__(self)


class ToolList(list):
    """Tools of one server: a list of dicts, which prints one line for each."""

    def __init__(self, tools: Iterable[Any] = (), alias: str = "") -> None:
        super().__init__(tools)
        self.alias = alias

    def __repr__(self) -> str:
        try:
            head = [f"await mcp_{self.alias}.<tool>(...):"] if self and self.alias else []
            return "\n".join([*head, *map(_line, self)]) or "[]"
        except (AttributeError, KeyError, TypeError):
            return list.__repr__(self)


def _line(tool: dict[str, Any]) -> str:
    text = tool["signature"] if "signature" in tool else signature(tool["alias"], tool.get("inputSchema") or {})
    summary = _sentence(tool.get("description") or "")
    return f"{text}  # {summary}" if summary else text


def _sentence(text: str) -> str:
    """Returns the first sentence, on one line and not too long."""
    line = " ".join(text.split())
    end = line.find(". ")
    line = line[:end] if end > 0 else line.rstrip(".")
    return line if len(line) <= MAX_SUMMARY else f"{line[:MAX_SUMMARY]}…"


def entry(server: dict[str, Any], tool: dict[str, Any], full: bool) -> Doc:
    """Builds one documentation entry."""
    schema = tool.get("inputSchema") or {}
    doc = Doc(
        server=server["name"],
        serverAlias=server["alias"],
        tool=tool["name"],
        toolAlias=tool["alias"],
        description=tool.get("description") or "",
        signature=signature(tool["alias"], schema),
    )
    if full:
        doc["inputSchema"] = tool.get("inputSchema")
    else:
        doc.__dict__["parameters"] = tuple(_describe(schema))
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
