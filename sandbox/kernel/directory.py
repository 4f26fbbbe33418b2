"""What is known of the servers and their tools. A server's tools are listed once one of them is looked at."""

from __future__ import annotations

from _collections_abc import Mapping  # not `collections.abc`, which imports all of collections

from . import late
from .late import aio, close_matches
from .results import MCPError, ToolResult
from .rpc import PendingCall, Rpc
from .tools import Server, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional

    from .listing import Fetch, Listing, Spec


class UnknownServerError(KeyError):
    """No configured server has this name or alias."""

    __module__ = "mcp.runtime"

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownToolError(MCPError, AttributeError):
    """A server has no tool of this name."""

    __module__ = "mcp.runtime"

    def __str__(self) -> str:
        return self.message


def unknown(what: str, name: object, known: list[str]) -> str:
    """Words a message about a name that does not exist."""
    near = meant(str(name), known)
    hint = f" Did you mean {near!r}?" if near else ""
    shown = ", ".join(repr(each) for each in known[:20]) or "none"
    more = f" and {len(known) - 20} more" if len(known) > 20 else ""
    return f"no {what} is called {name!r}.{hint} Known: {shown}{more}"


def meant(name: str, known: list[str]) -> str:
    """Returns the name that was most likely meant, "" for none: one of the same first word, else one spelled alike.
    Who wanted to list files must not be led to a tool that edits them."""

    def first(each: str) -> str:
        return each.replace("-", "_").partition("_")[0]

    same = [each for each in known if first(each) == first(name)]
    alike = close_matches(name, same, 1, 0.3) or close_matches(name, known, 1, 0.75)
    return alike[0] if alike else ""


class Directory:
    """The servers that the host offers now, the proxies that were made for them, and their tools as far as listed."""

    def __init__(self, rpc: Rpc) -> None:
        self.rpc = rpc
        self.servers: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, str] = {}
        self.loaded: tuple[str, ...] = ()
        self.proxies: dict[str, Server] = {}
        self.listings: dict[str, Listing] = {}
        self.reserved: Iterable[str] = ()  # names that `import *` must not take
        self._fetches: dict[tuple[str, bool], Fetch] = {}
        self._execution = 0
        self._calls: dict[str, int] = {}
        self.others: dict[tuple[str, str], list[str]] = {}  # of this execution: `hasattr` may ask for a name often

    def update(self, servers: list[dict[str, Any]], loaded: list[str]) -> None:
        """Takes the list of an `execute` frame."""
        self.servers = {server["name"]: server for server in servers}
        self.aliases = {server["alias"]: server["name"] for server in servers}
        self.loaded = tuple(loaded)
        self.listings = {name: listing for name, listing in self.listings.items() if name in self.servers}
        self.others.clear()
        self._execution += 1

    def resolve(self, server: object) -> str:
        """Returns the name of a server from its name, alias or proxy. Unknown text stays: the host judges it."""
        if isinstance(server, Server):
            return server._sandpy_name
        if not isinstance(server, str):
            message = f"a server is given by its name, not by {type(server).__name__}"
            raise TypeError(message)
        if server in self.servers:
            return server
        if server in self.aliases:
            return self.aliases[server]
        parameters = late.load(".parameters")
        found = parameters.folded(self.aliases).get(parameters.fold(server.removeprefix("mcp_")))
        return self.aliases.get(found or "", server)

    def alias(self, name: str) -> str:
        """Returns the alias of a server, "" where it is unknown."""
        return self.servers.get(name, {}).get("alias", "")

    def proxy(self, server: str) -> Server:
        """Returns the one proxy of a server. Raises UnknownServerError."""
        name = self.resolve(server)
        if name not in self.servers:
            raise UnknownServerError(unknown("server", server, list(self.servers)))
        if name not in self.proxies:
            self.proxies[name] = Server(self, name)
        return self.proxies[name]

    # Lists of tools

    def take(self, name: str, tools: list[dict[str, Any]], stamp: object = None) -> Listing:
        """Keeps the list of a server's tools; `stamp` says when the server gave it, if that is known."""
        listing = self.listings[name] = late.load(".listing").Listing(tools, stamp)
        return listing

    def _stamp(self, name: str) -> object:
        """What must be as it was for a list to be the newest: a call may change the tools of its server."""
        return self._execution, self._calls.get(name, 0)

    def fetch(self, name: str, anew: bool = False) -> Fetch:
        """Starts to list the tools of a server, or joins who does that already: as they are known, or `anew`."""
        key = name, anew
        found = self._fetches.get(key)
        if found is None or found.call.done():
            stamp = self._stamp(name) if anew else None
            method = "tools" if anew else "tool_docs"
            found = self._fetches[key] = late.load(".listing").Fetch(
                self.rpc.request(
                    method, {"server": name}, f"the tools of {name}", lambda tools: self.take(name, tools, stamp)
                )
            )
        return found

    def listing(self, name: str) -> Listing:
        """Returns the tools of a server, and waits for them where need be. Raises MCPError."""
        return self.listings.get(name) or self.fetch(name).call.result()

    def is_stale(self, name: str) -> bool:
        """Tells whether a server may have other tools than are known."""
        known = self.listings.get(name)
        return known is None or known.stamp != self._stamp(name)

    def may_wait(self, name: str) -> bool:
        """Tells whether to wait for a list: not on a running event loop, for a server that may have to start first."""
        return name in self.loaded or not aio.imported or aio.running_loop() is None

    # Tools

    def tool(self, name: str, wanted: str, by_alias: bool) -> Tool:
        """Returns a tool of a server. Raises UnknownToolError, but for a raw name, which the host judges."""
        server = self.proxies[name]
        if name not in self.listings and not self.may_wait(name):
            return Tool(server, wanted, by_alias)
        try:
            spec = self.find(name, wanted, by_alias)
        except MCPError as error:  # the tool may be there nevertheless: who calls it gets to know
            return Tool(server, wanted, by_alias, failure=error)
        if spec is None and by_alias:
            raise late.load(".unlisted").no_tool(self, name, wanted)
        return Tool(server, wanted, by_alias, spec)

    def find(self, name: str, wanted: str, by_alias: bool, may_ask: bool = True) -> Optional[Spec]:
        """Returns a tool as the server describes it now, None where it has none of this name. Raises MCPError."""
        spec = self.listing(name).find(wanted, by_alias)
        if spec is None and may_ask and self.is_stale(name):
            spec = self.fetch(name, True).call.result().find(wanted, by_alias)
        return spec

    def renewed(self, name: str, wanted: str, by_alias: bool) -> Optional[Spec]:
        """Has a server's tools listed again; returns one of them, None where that can not be done."""
        try:
            return self.fetch(name, True).call.result().find(wanted, by_alias)
        except MCPError:
            return None

    # Calls

    def call(
        self, server: object, tool: str, arguments: Mapping[str, Any] | None, timeout: float | None = None
    ) -> PendingCall:
        """Starts a call of a tool as it stands: the host and the server judge it."""
        name = self.resolve(server)
        if not isinstance(tool, str):
            message = f"a tool is given by its name, not by {type(tool).__name__}"
            raise TypeError(message)
        if arguments is not None and not isinstance(arguments, Mapping):
            message = f"{name}.{tool}: the arguments must be a mapping, not {type(arguments).__name__}"
            raise TypeError(message)
        if timeout is not None:
            timeout = late.load(".arguments").seconds(timeout)
        return self.send(name, tool, dict(arguments or {}), timeout, f"{name}.{tool}")

    @staticmethod
    def raw(positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[dict[str, Any], Optional[float]]:
        """Takes the arguments of a tool of which nothing is known."""
        return late.load(".arguments").fit(late.load(".parameters").Parameters({}), positional, named)

    def count(self, name: str) -> None:
        """Takes note of a call, which may change the tools of its server."""
        self._calls[name] = self._calls.get(name, 0) + 1

    def send(self, name: str, tool: str, arguments: dict[str, Any], timeout: float | None, label: str) -> PendingCall:
        """Sends a call."""
        self.count(name)
        params = {"server": name, "tool": tool, "arguments": arguments, "timeout": timeout}
        return self.rpc.request("call_tool", params, label, ToolResult)
