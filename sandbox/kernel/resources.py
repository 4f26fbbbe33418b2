"""Resources and prompts of servers: the raw mappings, with conveniences."""

from __future__ import annotations

import binascii
from collections.abc import Iterable

from .codec import decode
from .results import Answer, Image, Record
from .servers import shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONG = 200

_decode_base64 = binascii.a2b_base64


class ResourceList(list):
    """The resources of a server as dicts; `templates` has those whose URI is filled in. Prints a line for each."""

    __module__ = "mcp.runtime"

    def __init__(self, answer: dict[str, Any], server: str = "") -> None:
        super().__init__(map(Record, answer["resources"]))
        self.templates = [Record(each) for each in answer["templates"]]
        self.complete: bool = answer["complete"]
        self.server = server

    @property
    def resources(self) -> ResourceList:
        """The list itself, as in the SDKs."""
        return self

    def __repr__(self) -> str:
        try:
            lines = [f"await runtime.read_resource({self.server!r}, uri):"] if self or self.templates else []
            lines += [_line(each["uri"], each) for each in self]
            lines += ["templates, to be filled in:"] if self.templates else []
            lines += [_line(each["uriTemplate"], each) for each in self.templates]
            lines += [] if self.complete else ["… there are more than the host passes on"]
            return "\n".join(lines) or "[]"
        except (AttributeError, KeyError, TypeError):  # the user made something else of it
            return list.__repr__(self)


class PromptList(list):
    """The prompts of a server as dicts. Prints a line for each."""

    __module__ = "mcp.runtime"

    def __init__(self, answer: dict[str, Any], server: str = "") -> None:
        super().__init__(map(Record, answer["prompts"]))
        self.complete: bool = answer["complete"]
        self.server = server

    @property
    def prompts(self) -> PromptList:
        """The list itself, as in the SDKs."""
        return self

    def __repr__(self) -> str:
        try:
            lines = [_line(self._call(each), each, ()) for each in self]
            lines += [] if self.complete else ["… there are more than the host passes on"]
            return "\n".join(lines) or "[]"
        except (AttributeError, KeyError, TypeError):
            return list.__repr__(self)

    def _call(self, prompt: dict[str, Any]) -> str:
        arguments = [each for each in prompt.get("arguments") or () if isinstance(each, dict) and "name" in each]
        shown = [f"{each['name']!r}: {'str' if each.get('required') else '...'}" for each in arguments]
        more = f", {{{', '.join(shown)}}}" if shown else ""
        return f"await runtime.get_prompt({self.server!r}, {prompt['name']!r}{more})"


class ResourceResult(Answer):
    """A `ReadResourceResult` exactly as the server gave it, with shortcuts to what is usually wanted."""

    __module__ = "mcp.runtime"

    @property
    def contents(self) -> list[Any]:
        """The contents; most resources have one."""
        return [Record(each) for each in self.get("contents") or () if isinstance(each, dict)]

    @property
    def text(self) -> str:
        """All contents that are text, one after the other, each on a line of its own."""
        return "\n".join(each["text"] for each in self.contents if isinstance(each.get("text"), str))

    @property
    def data(self) -> Any:
        """The text parsed when it is a JSON object or array, else None."""
        try:
            value = decode(self.text)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, (dict, list)) else None

    @property
    def bytes(self) -> bytes:
        """All contents as bytes, text in UTF-8, one after the other."""
        return b"".join(_bytes(each) for each in self.contents)

    @property
    def images(self) -> list[Image]:
        """The contents that are images; each has a `mime_type`."""
        images = []
        for each in self.contents:
            if str(each.get("mimeType")).startswith("image/"):
                image = Image(_bytes(each))
                image.mime_type = each["mimeType"]
                images.append(image)
        return images

    def __repr__(self) -> str:
        return repr({**self, "contents": [_without_base64(each) for each in self.contents]})

    def __str__(self) -> str:
        return "\n".join(_show(each) for each in self.contents)


class PromptResult(Answer):
    """A `GetPromptResult` exactly as the server gave it, with a shortcut to its text."""

    __module__ = "mcp.runtime"

    @property
    def messages(self) -> list[Any]:
        """The messages: dicts with `role` and `content`."""
        return [Record(each) for each in self.get("messages") or () if isinstance(each, dict)]

    @property
    def text(self) -> str:
        """The text of all messages, each on a line of its own."""
        return "\n".join(filter(None, map(_text_of, self.messages)))

    def __str__(self) -> str:
        return "\n".join(
            f"{each.get('role')}: {_text_of(each) or '[' + _kind_of(each) + ']'}" for each in self.messages
        )


def prompt_arguments(given: Any) -> dict[str, str]:
    """Returns the arguments of a prompt, which MCP wants as text. Raises TypeError."""
    from .codec import encode

    if given is None:
        return {}
    try:
        pairs: Iterable[Any] = dict(given).items()
    except (TypeError, ValueError):
        message = f"the arguments of a prompt must be a mapping, not {type(given).__name__}"
        raise TypeError(message) from None
    return {str(name): value if isinstance(value, str) else encode(value, default=str) for name, value in pairs}


def _line(call: str, entry: dict[str, Any], facts: Iterable[str] = ("name", "mimeType")) -> str:
    known = [str(entry[key]) for key in facts if entry.get(key) and str(entry[key]) != call]
    parts = [", ".join(known), " ".join(str(entry.get("description") or "").split())]
    text = shorten(": ".join(each for each in parts if each))
    return f"{call}  # {text}" if text else call


def _bytes(content: dict[str, Any]) -> bytes:
    if isinstance(content.get("text"), str):
        return content["text"].encode("utf-8", "replace")
    return _decode_base64(content.get("blob") or "")


def _without_base64(content: dict[str, Any]) -> dict[str, Any]:
    blob = content.get("blob")
    if not isinstance(blob, str) or len(blob) <= LONG:
        return content
    return {**content, "blob": f"… {len(blob)} characters of base64 …"}


def _show(content: dict[str, Any]) -> str:
    if isinstance(content.get("text"), str):
        return content["text"]
    return f"[{content.get('mimeType') or 'binary'}, {len(_bytes(content))} bytes]"


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if not isinstance(content, dict):
        return content if isinstance(content, str) else ""
    resource = content.get("resource")
    text = resource.get("text") if isinstance(resource, dict) else content.get("text")
    return text if isinstance(text, str) else ""


def _kind_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    return str(content.get("type")) if isinstance(content, dict) else "nothing"
