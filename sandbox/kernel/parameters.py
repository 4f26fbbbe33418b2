"""The parameters of a tool, from its inputSchema: what Python calls them, and the signature that people read."""

from __future__ import annotations

import keyword

from .schema import MAX_DEPTH, UNIONS, Reader, members, shown_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

MAX_NAME = 100
MAX_DEFAULT = 100
MAX_SIGNATURE = 3000
_CONDITIONS = ("patternProperties", "if", "dependentSchemas")  # which name properties of their own

_iskeyword = keyword.iskeyword


def python_name(name: str) -> str:
    """Turns a name into one that can stand before `=` in a call, as src/core/python-names.ts does for tools."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFKC", name)
    if not name.isidentifier():
        name = "".join(each if f"a{each}".isidentifier() else "_" for each in name[:MAX_NAME])
        if not name.strip("_"):
            return "unnamed"
        if not name.isidentifier():
            name = f"_{name}"
    if name == "__debug__":
        return f"x{name}"
    return f"{name}_" if _iskeyword(name) else name


class _Either(dict):
    """The schema of a parameter that several branches of the tool's schema describe."""


def fold(name: str) -> str:
    """Returns what stays the same between `createIssue`, `create_issue` and `create-issue`."""
    return "".join(each for each in name.casefold() if each.isalnum())


def folded(names: Any) -> dict[str, Optional[str]]:
    """Returns names by their folded form; None where two share one."""
    found: dict[str, Optional[str]] = {}
    for name in names:
        key = fold(name)
        found[key] = None if key in found else name
    return found


class Parameters:
    """The parameters of one tool. `names` has every name that stands for one, original or Python's."""

    __slots__ = ("_folded", "_verdicts", "aliases", "fields", "is_open", "names", "required", "root")

    def __init__(self, schema: Any) -> None:
        self.root = schema if isinstance(schema, dict) else {}
        self.fields: dict[str, Any] = {}
        self.is_open: Optional[bool] = None
        self.required = dict.fromkeys(self._collect(self.root, 0, Reader(self.root)))
        if self.is_open is None:
            self.is_open = not self.fields
        self.aliases = _assign(list(self.fields))
        self.names = {alias: name for name, alias in self.aliases.items()}
        self.names.update({name: name for name in self.fields})
        self._verdicts: dict[tuple[str, str], Optional[bool]] = {}
        self._folded: Optional[dict[str, Optional[str]]] = None

    def _collect(self, node: Any, depth: int, reader: Reader) -> list[str]:
        """Adds the properties of a schema and of what it is composed of; returns the names of those that must be."""
        reader.left -= 1
        node = reader.resolve(node)
        if not isinstance(node, dict) or depth > MAX_DEPTH or reader.left < 0:
            self.is_open = True
            return []
        properties, required = members(node)
        for name, part in properties.items():
            if name in self.fields:  # in another branch: either may hold
                known = self.fields[name]
                part = _Either(anyOf=[*known["anyOf"], part] if type(known) is _Either else [known, part])
            self.fields[name] = part
        others = node.get("additionalProperties")
        if others is True or isinstance(others, dict) or any(key in node for key in _CONDITIONS):
            self.is_open = True
        elif others is False and self.is_open is None:
            self.is_open = False
        names = [name for name in properties if name in required]
        names += sorted(required - set(names))
        if isinstance(node.get("allOf"), list):
            for each in node["allOf"]:
                names += self._collect(each, depth + 1, reader)
        for key in UNIONS:
            if isinstance(node.get(key), list) and node[key]:
                found = [self._collect(each, depth + 1, reader) for each in node[key]]
                names += [name for name in found[0] if all(name in each for each in found)]
        if depth == 0:
            for name in names:
                self.fields.setdefault(name, {})
        return names

    def allows(self, name: str, kind: str) -> Optional[bool]:
        """Tells whether a parameter takes a JSON type; None where that is not certain."""
        key = name, kind
        if key not in self._verdicts:
            self._verdicts[key] = Reader(self.root).allows(self.fields.get(name), kind)
        return self._verdicts[key]

    def similar(self, name: str) -> Optional[str]:
        """Returns the one parameter whose name differs in case and separators alone."""
        if self._folded is None:
            self._folded = folded(self.fields)
        return self._folded.get(fold(name))

    @property
    def in_order(self) -> bool:
        """Whether Python could write them in the order of the schema: none that must be behind one that need not."""
        flags = [name in self.required for name in self.fields]
        return flags == sorted(flags, reverse=True)

    def shown(self) -> list[str]:
        """Returns the original names in the order in which they are shown."""
        return list(self.fields) if self.in_order else sorted(self.fields, key=lambda name: name not in self.required)

    def signature(self, name: str, output: Any = None) -> str:
        """Renders `name(must: type, may: type = default) -> type`; of very many parameters the first."""
        parts = [] if self.in_order else ["*"]
        left = MAX_SIGNATURE
        for shown, each in enumerate(self.shown()):
            parts.append(self._parameter(each))
            left -= len(parts[-1])
            if left < 0 and len(self.fields) - shown > 1:
                parts.append(f"… {len(self.fields) - shown - 1} more")
                break
        if self.is_open and self.fields:
            parts.append("**others")
        result = Reader(output).text(output) if isinstance(output, dict) and output else "Any"
        return f"{name}({', '.join(parts)})" + ("" if result in ("Any", "dict") else f" -> {result}")

    def _parameter(self, name: str) -> str:
        node = self.fields[name]
        text = f"{self.aliases[name]}: {Reader(self.root).text(node)}"
        return text if name in self.required else f"{text} = {_default(node)}"

    def describe(self) -> list[str]:
        """Returns a line for each parameter that the schema says something about, or that is sent by another name."""
        lines = []
        for name in self.shown():
            node, alias = self.fields[name], self.aliases[name]
            text = node.get("description") if isinstance(node, dict) else None
            text = " ".join(text.split()) if isinstance(text, str) else ""
            sent = "" if alias.rstrip("_") == name else f" (sent as {name!r})"
            if text or sent:
                lines.append(f"  {alias}{sent}: {text}".rstrip(": "))
        return lines


def _default(node: Any) -> str:
    if not isinstance(node, dict) or "default" not in node:
        return "..."
    text = shown_value(node["default"])
    return text if 0 < len(text) <= MAX_DEFAULT else "..."


def _assign(names: list[str]) -> dict[str, str]:
    """Gives each name one for Python: those that can keep theirs do, the others count on where it is taken."""
    wanted = {name: python_name(name) for name in names}
    taken = {name for name in names if wanted[name] == name}
    counts: dict[str, int] = {}
    for name in sorted(name for name in names if wanted[name] != name):  # whatever the order of the schema
        alias = wanted[name]
        while alias in taken:
            counts[wanted[name]] = counts.get(wanted[name], 1) + 1
            alias = f"{wanted[name]}_{counts[wanted[name]]}"
        taken.add(alias)
        wanted[name] = alias
    return wanted
