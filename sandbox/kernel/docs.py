"""Documentation entries of tools: a Python signature made from a JSON schema."""

from __future__ import annotations

import keyword
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


def entry(server: dict[str, Any], tool: dict[str, Any], full: bool) -> dict[str, Any]:
    """Builds one documentation entry."""
    doc = {
        "server": server["name"],
        "serverAlias": server["alias"],
        "tool": tool["name"],
        "toolAlias": tool["alias"],
        "description": tool.get("description") or "",
        "signature": signature(tool["alias"], tool.get("inputSchema") or {}),
    }
    if full:
        doc["inputSchema"] = tool.get("inputSchema")
    return doc


def signature(name: str, schema: dict[str, Any]) -> str:
    """Renders `name(*, required: type, optional: type = default)`."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {}
    required = schema.get("required")
    required = set(required) if isinstance(required, list) else set()
    ordered = sorted(properties, key=lambda each: each not in required)
    parameters = [_parameter(each, properties[each], each in required) for each in ordered]
    return f"{name}({', '.join(['*', *parameters]) if parameters else ''})"


def _parameter(name: str, schema: Any, required: bool) -> str:
    if keyword.iskeyword(name):
        name += "_"
    text = f"{name}: {_type(schema)}"
    if required:
        return text
    default = schema.get("default", ...) if isinstance(schema, dict) else ...
    return f"{text} = {'...' if default is ... else repr(default)}"


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "Any"
    if isinstance(schema.get("enum"), list) and len(schema["enum"]) <= 12:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    for key in ("anyOf", "oneOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return " | ".join(dict.fromkeys(_type(each) for each in schema[key]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_TYPES.get(str(each), "Any") for each in kind) or "Any"
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list[{_type(schema['items'])}]"
    return _TYPES.get(str(kind), "Any")
