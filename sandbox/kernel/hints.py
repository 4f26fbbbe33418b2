"""Signatures and type hints as objects, for `inspect`, `help` and editors. Imported when somebody asks for one."""

from __future__ import annotations

import inspect
import typing

from .arguments import OMITTED
from .parameters import Parameters
from .results import ToolResult
from .schema import MAX_DEPTH, MAX_NODES, MAX_VALUES, UNIONS, Reader, follow, members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_LITERALS = (str, int, bool, type(None))


class Hinter:
    """Makes hints of the parts of a schema, with the bounds of `Reader`."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.left = MAX_NODES

    def hint(self, node: Any, depth: int = 0, references: tuple[str, ...] = ()) -> Any:
        """Returns what may stand behind the colon of a parameter."""
        self.left -= 1
        if not isinstance(node, dict) or depth > MAX_DEPTH or self.left < 0:
            return typing.Any
        reference = node.get("$ref")
        if isinstance(reference, str):
            if reference in references:
                return dict
            return self.hint(follow(self.root, reference), depth + 1, (*references, reference))

        def inner(part: Any) -> Any:
            return self.hint(part, depth + 1, references)

        hint = self._plain(node, inner)
        return typing.Optional[hint] if node.get("nullable") is True else hint

    def _plain(self, node: dict[str, Any], inner: Any) -> Any:
        values = [node["const"]] if "const" in node else node.get("enum")
        if (
            isinstance(values, list)
            and 0 < len(values) <= MAX_VALUES
            and all(type(each) in _LITERALS for each in values)
        ):
            return typing.Literal[tuple(values)]
        for key in UNIONS:
            if isinstance(node.get(key), list) and node[key]:
                hint = _union([inner(each) for each in node[key][:MAX_VALUES]])
                if hint is not typing.Any or not ("type" in node or "properties" in node):
                    return hint
        if isinstance(node.get("allOf"), list):
            for each in node["allOf"][:MAX_VALUES]:
                hint = inner(each)
                if hint is not typing.Any:
                    return hint
        kind = node.get("type")
        if kind is None:
            kind = "object" if "properties" in node else "array" if "items" in node else None
        return _union([self._kind(node, each, inner) for each in (kind if isinstance(kind, list) else [kind])[:8]])

    def _kind(self, node: dict[str, Any], kind: Any, inner: Any) -> Any:
        if kind == "array":
            return list[inner(node["items"])] if isinstance(node.get("items"), dict) else list  # type: ignore[misc]
        if kind == "object":
            properties, required = members(node)
            if not properties:
                others = node.get("additionalProperties")
                return dict[str, inner(others)] if isinstance(others, dict) and others else dict  # type: ignore[misc]
            return _shape(
                Reader(self.root).text(node), {name: inner(each) for name, each in properties.items()}, required
            )
        return _TYPES.get(kind, typing.Any) if isinstance(kind, str) else typing.Any


def _union(hints: list[Any]) -> Any:
    if not hints or typing.Any in hints:
        return typing.Any
    return typing.Union[tuple(hints)]


def _shape(text: str, hints: dict[str, Any], required: set[str]) -> Any:
    """Makes a class like a TypedDict, which any Python can have and which prints as what is in it."""
    keys = frozenset(hints)
    return type(
        "Shape",
        (dict,),
        {
            "__module__": "builtins",
            "__qualname__": text,
            "__annotations__": hints,
            "__required_keys__": keys & required,
            "__optional_keys__": keys - required,
        },
    )


def annotations_of(parameters: Parameters, output: Any) -> dict[str, Any]:
    """Returns the hints by Python's names of the parameters, and under "return" what `.data` of a result is."""
    hints = {alias: Hinter(parameters.root).hint(parameters.fields[name]) for name, alias in parameters.aliases.items()}
    result = Hinter(output).hint(output) if isinstance(output, dict) and output else typing.Any
    return {**hints, "return": ToolResult if result is typing.Any else result}


def signature_of(parameters: Parameters, output: Any) -> inspect.Signature:
    """Returns the signature of a tool."""
    hints = annotations_of(parameters, output)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if parameters.in_order else inspect.Parameter.KEYWORD_ONLY
    shown = []
    for name in parameters.shown():
        node, alias = parameters.fields[name], parameters.aliases[name]
        default: Any = inspect.Parameter.empty
        if name not in parameters.required:
            default = node["default"] if isinstance(node, dict) and "default" in node else OMITTED
        shown.append(inspect.Parameter(alias, kind, default=default, annotation=hints[alias]))
    if parameters.is_open:
        others = "others"
        while others in hints:
            others += "_"
        shown.append(inspect.Parameter(others, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(shown, return_annotation=hints["return"])
