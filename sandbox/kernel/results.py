"""What comes back from a tool: the raw mapping with conveniences, or an exception."""

from __future__ import annotations

import binascii
import sys

from . import late
from .codec import decode, encode
from .picture import Image

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONG = 200
KEYS = 20
AGAIN = "… the same again …"

_PROTOCOL = frozenset({"content", "structuredContent", "isError", "_meta"})
_decode_base64 = binascii.a2b_base64


class MCPError(Exception):
    """A tool or its server failed. `kind` says how, as in docs/protocol.md; `server` and `tool` say where."""

    __module__ = "mcp.runtime"

    def __init__(self, message: str, server: str | None = None, tool: str | None = None, kind: str = "tool") -> None:
        super().__init__(message)
        self.message = message
        self.server = server
        self.tool = tool
        self.kind = kind

    def __str__(self) -> str:
        where = ".".join(part for part in (self.server, self.tool) if part)
        return f"{where}: {self.message}" if where else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.server, self.tool, self.kind)


_timeouts: tuple[Any, ...] = (TimeoutError,)
if sys.version_info < (3, 11):  # where asyncio has one of its own
    import asyncio

    _timeouts += (asyncio.TimeoutError,)


class MCPTimeoutError(MCPError, *_timeouts):  # type: ignore[misc]
    """A call took longer than it may."""

    __module__ = "mcp.runtime"

    def __init__(self, message: str, server: str | None = None, tool: str | None = None, kind: str = "timeout") -> None:
        super().__init__(message, server, tool, kind)


class MemoryStoreError(RuntimeError):
    """What is kept on the host could not be read or changed. What it was, it still is."""

    __module__ = "mcp.runtime"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


def error_of(record: dict[str, Any]) -> MCPError | MemoryStoreError:
    """Builds the exception for the `error` of a `reply_error` frame."""
    kind = record.get("kind") or "internal"
    message = record.get("message") or "the tool failed and gave no reason"
    if kind == "memory":
        return MemoryStoreError(message)
    cls = MCPTimeoutError if kind == "timeout" else MCPError
    return cls(message, record.get("server"), record.get("tool"), kind)


class Record(dict):
    """A dict whose keys can also be read as attributes, as in the SDKs that models know."""

    __module__ = "mcp.runtime"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)
        return self[name]


class Answer(Record):
    """What a server answered: as the value of a cell it is shown as a person wants to see it, elsewhere as it is."""

    def _sandpy_shown(self) -> str:
        """Returns what a cell shows."""
        return str(self) or repr(self)


def shown_of(value: Any, limit: int) -> str | None:
    """Returns what a cell shows for an answer, or a list of them as `asyncio.gather` gives it; None for all else."""
    if issubclass(type(value), Answer):
        return value._sandpy_shown()
    if type(value) not in (list, tuple) or not any(issubclass(type(each), Answer) for each in value):
        return None
    if not all(issubclass(type(each), (Answer, MCPError)) for each in value):
        return None
    lines: list[str] = []
    for number, each in enumerate(value):
        lines.append(f"[{number}] {each._sandpy_shown() if issubclass(type(each), Answer) else repr(each)}")
        limit -= len(lines[-1])
        if limit < 0:
            break
    return "\n".join(lines)


class Block(Record):
    """A content block."""

    def __repr__(self) -> str:
        return repr(_shorten(dict(self)))

    @property
    def images(self) -> list[Image]:
        """The image that it is, decoded."""
        return ToolResult(content=[self]).images


class ToolResult(Answer):
    """A `CallToolResult` exactly as the server gave it, with shortcuts to what is usually wanted."""

    __module__ = "mcp.runtime"

    def __missing__(self, key: Any) -> Any:
        """Gives what is in the data: the text of many results is JSON, and is taken for a dict or list."""
        data = self.data
        if isinstance(data, dict) and key in data and key not in _PROTOCOL:
            return data[key]
        if isinstance(data, list) and isinstance(key, int):
            return data[key]
        message = f"{key!r} is neither in the result nor in its `.data`, {_outline(data, self.text)}"
        raise KeyError(message)

    def get(self, key: Any, default: Any = None) -> Any:
        """As of a dict, with what is in the data too."""
        if key in self:
            return self[key]
        data = self.data if key not in _PROTOCOL else None
        return data.get(key, default) if isinstance(data, dict) else default

    def __getattr__(self, name: str) -> Any:
        data = None if name.startswith("_") else self.data
        if isinstance(data, dict) and name not in self and name in data:
            return data[name]
        return super().__getattr__(name)

    @property
    def content(self) -> list[Any]:
        """The content blocks."""
        blocks = self.get("content")
        return [Block(block) if type(block) is dict else block for block in blocks] if isinstance(blocks, list) else []

    @property
    def structuredContent(self) -> Any:
        """The structured content, or None."""
        return self.get("structuredContent")

    @property
    def text(self) -> str:
        """All text blocks, one after the other, each on a line of its own."""
        return "\n".join(block["text"] for block in _blocks(self, "text") if isinstance(block.get("text"), str))

    @property
    def data(self) -> Any:
        """The structured content, else the text parsed when it is a JSON object or array, else None."""
        if self.get("structuredContent") is not None:
            return self["structuredContent"]
        text = self.text
        known = vars(self).get("_parsed")
        if known is None or known[0] != text:
            known = vars(self)["_parsed"] = text, _parse(text)
        return known[1]

    @property
    def images(self) -> list[Image]:
        """The image blocks, decoded; each has a `mime_type`."""
        images = []
        for block in _blocks(self, "image"):
            image = Image(_decode_base64(block.get("data") or ""))
            image.mime_type = block.get("mimeType") or Image.mime_type
            images.append(image)
        return images

    @property
    def is_error(self) -> bool:
        """Whether the tool called its result an error."""
        return bool(self.get("isError"))

    isError = is_error

    def __repr__(self) -> str:
        """Shows the raw mapping, but for what only costs: base64, and long text that is there twice."""
        raw = dict(self)
        content, structured, text = self.content, raw.get("structuredContent"), self.text
        if content:
            raw["content"] = content
        if len(text) > LONG and isinstance(structured, dict):
            if text in structured.values():
                raw["structuredContent"] = {key: AGAIN if value == text else value for key, value in structured.items()}
            elif len(content) == 1 and _parse(text) == structured:
                raw["content"] = [{**content[0], "text": AGAIN}]
        return repr(raw)

    def __str__(self) -> str:
        lines = [_show(block) for block in self.content]
        if not lines and self.get("structuredContent") is not None:
            lines = [encode(self["structuredContent"], default=repr)]
        return "\n".join(lines)

    def _sandpy_shown(self) -> str:
        """Returns the text, and the data where they say more than it."""
        text, data = super()._sandpy_shown(), self.data
        if data is None:
            return text
        only = next(iter(data.values())) if isinstance(data, dict) and len(data) == 1 else data
        repeats = _repeats(self.content, data, only)
        if (repeats and not isinstance(only, (dict, list))) or only == self.content:
            return text
        if isinstance(data, dict) and len(self.text) > LONG:
            data = {key: AGAIN if value == self.text else value for key, value in data.items()}
        shown = late.load(".pretty").render_result(data)
        shown = f".data:{chr(10) if chr(10) in shown else ' '}{shown}"
        return shown if repeats or not self.content else f"{text}\n{shown}"


def _repeats(content: list[Any], data: Any, only: Any) -> bool:
    """Tells whether the content is the data once more, or what alone is in them, as a text or one text for each."""
    texts = [block.get("text") if isinstance(block, dict) else None for block in content]
    if not texts or not all(isinstance(text, str) for text in texts):
        return False
    known = texts[0] if len(texts) == 1 else texts
    parsed = _value(texts[0]) if len(texts) == 1 else [_value(text) for text in texts]
    return parsed in (data, only) or known == only


def _value(text: str) -> Any:
    try:
        return decode(text)
    except (ValueError, RecursionError):
        return text


def _outline(data: Any, text: str) -> str:
    """Says in a few words what data there is."""
    if isinstance(data, dict):
        return f"which has the keys {', '.join(map(repr, list(data)[:KEYS]))}{', …' if len(data) > KEYS else ''}"
    if isinstance(data, list):
        return f"a list of {len(data)}"
    return f"since there is none; `.text` is {text[:LONG]!r}"


def _blocks(result: ToolResult, kind: str) -> list[dict[str, Any]]:
    return [block for block in result.content if isinstance(block, dict) and block.get("type") == kind]


def _parse(text: str) -> Any:
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _shorten(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    for key in ("data", "blob"):
        if isinstance(block.get(key), str) and len(block[key]) > LONG:
            return {**block, key: f"… {len(block[key])} characters of base64 …"}
    return {**block, "resource": _shorten(block["resource"])} if isinstance(block.get("resource"), dict) else block


def _show(block: Any) -> str:
    if not isinstance(block, dict):
        return repr(block)
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        return f"[{kind}: {block.get('mimeType')}, {len(block.get('data') or '') * 3 // 4} bytes]"
    if kind == "resource_link":
        return f"[resource: {block.get('uri')}]"
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return str(block["resource"].get("text") or f"[resource: {block['resource'].get('uri')}]")
    return f"[{kind}]"
