"""What the host says of servers, as lists and dicts that print as a person wants to read them."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from .docs import ToolList, line
from .results import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_LINE = 100


class Awaitable:
    """What is there already but may be awaited all the same, since both spellings are natural."""

    def __await__(self) -> Generator[Any, Any, Any]:
        return self
        yield  # makes this a generator


class AwaitableList(Awaitable, list):
    """A list that may also be awaited."""


class Text(Awaitable, str):
    """A text that is shown as it is where it is the value of a cell."""

    def __repr__(self) -> str:
        return str(self)


class Server(Awaitable, Record):
    """What is known of one server. Those with a list of `tools` print a line for each."""

    __module__ = "mcp.runtime"

    def __repr__(self) -> str:
        try:
            lines = [server_line(self)]
            tools = self.get("tools")
            if isinstance(tools, list):
                if self.get("instructions"):
                    lines.append(f"instructions: {self['instructions']}")
                if not tools and self.get("reason") is None:
                    lines.append("it has no tools")
                lines += [f"await mcp_{self['alias']}.<tool>(...):", *map(line, tools)] if tools else []
            return "\n".join(lines)
        except (AttributeError, KeyError, TypeError):  # the user made something else of it
            return dict.__repr__(self)


class ServerList(AwaitableList):
    """Servers, which print a line each, and before them how many there are in all."""

    def __init__(self, servers: Iterable[Any] = (), head: str = "", foot: str = "") -> None:
        super().__init__(servers)
        self.head = head
        self.foot = foot

    def __repr__(self) -> str:
        try:
            return "\n".join(each for each in (self.head, *map(server_line, self), self.foot) if each) or "[]"
        except (AttributeError, KeyError, TypeError):
            return list.__repr__(self)


def server_line(server: dict[str, Any]) -> str:
    """Renders a server on one line: what Python calls it, its own name where that differs, and what it is for."""
    name, alias = server["name"], server["alias"]
    facts = [] if name == alias else [repr(name)]
    tools = server.get("tools")
    if isinstance(tools, list):
        tools = len(tools) or None
    if tools is not None:
        facts.append("1 tool" if tools == 1 else f"{tools} tools")
    if server.get("status") in ("connected", "failed"):
        facts.append("the last start failed" if server["status"] == "failed" else "connected")
    head = f"mcp_{alias}" if server.get("reason") is None else f"{name}: not usable"
    text = " ".join(server.get("description", "").split())
    parts = [", ".join(facts) if server.get("reason") is None else "", shorten(text)]
    tail = ": ".join(each for each in parts if each)
    reason = f" ({name!r} {server['reason']})" if server.get("reason") is not None else ""
    return f"{head}{'  # ' if tail else ''}{tail}{reason}"


def shorten(text: str, limit: int = MAX_LINE) -> str:
    """Returns the beginning of a line."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def describe(details: dict[str, Any]) -> Server:
    """Builds what `describe_server` gives. A server whose tools nobody knows has none."""
    tools = [Record(tool) for tool in details.get("tools") or ()]
    return Server({**details, "tools": ToolList(tools, details["alias"])})
