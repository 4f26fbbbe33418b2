"""JSON schemas as servers send them: untrusted and often odd, so they are read leniently and within bounds."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

MAX_DEPTH = 6
MAX_NODES = 600  # that one question about a schema looks at: references may double at each level
MAX_HOPS = 16
MAX_SHAPE = 400
MAX_VALUES = 40
UNIONS = ("anyOf", "oneOf")
TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def kind_of(value: Any) -> str:
    """Returns the JSON type of a value, "integer" for whole numbers that are an int."""
    return "null" if value is None else _KINDS.get(type(value), "")


def follow(root: Any, reference: str) -> Any:
    """Returns what a reference such as `#/$defs/x` stands for, None where it is not in the schema itself."""
    head, *parts = reference.split("/", 64)
    if head != "#":
        return None
    node = root
    for part in parts:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key[:6]) < len(node):
            node = node[int(key[:6])]
        else:
            return None
    return node


class Reader:
    """Answers one question about a part of a schema; `root` is where its references start."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.left = MAX_NODES

    def resolve(self, node: Any) -> Any:
        """Follows references from a node; None where they lead nowhere."""
        for _ in range(MAX_HOPS):
            reference = node.get("$ref") if isinstance(node, dict) else None
            if not isinstance(reference, str):
                return node
            node = follow(self.root, reference)
        return None

    def allows(self, node: Any, kind: str, depth: int = 0) -> Optional[bool]:
        """Tells whether a value of a JSON type can be right; None where that is not certain."""
        self.left -= 1
        node = self.resolve(node)
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict) or depth > MAX_DEPTH or self.left < 0:
            return None
        if kind == "null" and node.get("nullable") is True:
            return True
        verdicts: list[Optional[bool]] = []
        if isinstance(node.get("enum"), list):
            verdicts.append(any(kind_of(value) == kind for value in node["enum"]))
        if "const" in node:
            verdicts.append(kind_of(node["const"]) == kind)
        if "type" in node:
            types = node["type"] if isinstance(node["type"], list) else [node["type"]]
            verdicts.append(kind in types if all(isinstance(each, str) for each in types) else None)
        for key in UNIONS:
            if isinstance(node.get(key), list) and node[key]:
                found = {self.allows(each, kind, depth + 1) for each in node[key]}
                verdicts.append(True if True in found else None if None in found else False)
        if isinstance(node.get("allOf"), list):
            verdicts += [self.allows(each, kind, depth + 1) for each in node["allOf"]]
        return False if False in verdicts else None if None in verdicts else True

    def text(self, node: Any, depth: int = 0, open_references: tuple[str, ...] = ()) -> str:
        """Renders a type as Python writes it, objects as in `{name: str, note?: str}`."""
        self.left -= 1
        if not isinstance(node, dict) or depth > MAX_DEPTH or self.left < 0:
            return "Any"
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference in open_references:
                return "dict"
            return self.text(follow(self.root, reference), depth + 1, (*open_references, reference))

        def inner(part: Any) -> str:
            return self.text(part, depth + 1, open_references)

        return _nullable(node, self._values(node) or self._union(node, inner) or self._kinds(node, inner))

    def _values(self, node: dict[str, Any]) -> str:
        values = [node["const"]] if "const" in node else node.get("enum")
        if not isinstance(values, list) or not 0 < len(values) <= MAX_VALUES:
            return ""
        text = ", ".join(map(shown_value, values))
        return f"Literal[{text}]" if len(text) <= MAX_SHAPE else ""

    def _union(self, node: dict[str, Any], inner: Any) -> str:
        for key in (*UNIONS, "allOf"):
            if isinstance(node.get(key), list) and node[key]:
                texts = list(dict.fromkeys(inner(each) for each in node[key][:MAX_VALUES]))
                if key == "allOf":
                    texts = [text for text in texts if text != "Any"][:1]
                text = " | ".join(texts)
                # Beside a type they are conditions, such as which of the properties must be there.
                if text and not (texts == ["Any"] and ("type" in node or "properties" in node)):
                    return text if len(text) <= 2 * MAX_SHAPE else "Any"
        return ""

    def _kinds(self, node: dict[str, Any], inner: Any) -> str:
        kind = node.get("type")
        if kind is None:
            kind = "object" if "properties" in node else "array" if "items" in node else None
        kinds = kind if isinstance(kind, list) else [kind]
        return " | ".join(dict.fromkeys(self._kind(node, each, inner) for each in kinds[:8])) or "Any"

    def _kind(self, node: dict[str, Any], kind: Any, inner: Any) -> str:
        if kind == "array" and isinstance(node.get("items"), dict):
            item = inner(node["items"])
            return "list" if item == "Any" else f"list[{item}]"
        if kind == "object":
            return self._shape(node, inner)
        return TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"

    def _shape(self, node: dict[str, Any], inner: Any) -> str:
        properties, required = members(node)
        if not properties:
            others = node.get("additionalProperties")
            value = inner(others) if isinstance(others, dict) else "Any"
            return "dict" if value == "Any" else f"dict[str, {value}]"
        parts, length = [], 0
        for name, part in properties.items():
            shown = name if name.isidentifier() else repr(name)
            parts.append(f"{shown}{'' if name in required else '?'}: {inner(part)}")
            length += len(parts[-1]) + 2
            if length > MAX_SHAPE:
                return "dict"
        return f"{{{', '.join(parts)}}}"


def shown_value(value: Any) -> str:
    """Returns the repr of a JSON value, "" for one that is too deep."""
    try:
        return repr(value)
    except RecursionError:
        return ""


def _nullable(node: dict[str, Any], text: str) -> str:
    if node.get("nullable") is True and "None" not in text and text != "Any":
        return f"{text} | None"
    return text


def members(node: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Returns the properties of an object's schema, and the names of those that it must have."""
    properties, required = node.get("properties"), node.get("required")
    return (
        properties if isinstance(properties, dict) else {},
        {each for each in required if isinstance(each, str)} if isinstance(required, list) else set(),
    )
