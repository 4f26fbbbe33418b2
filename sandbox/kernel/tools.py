"""Servers and their tools as Python objects. Making one asks the host nothing; calling one does."""

from __future__ import annotations

from _collections_abc import Mapping  # not `collections.abc`, which imports all of collections

from . import late
from .late import close_matches
from .results import ToolResult
from .rpc import PendingCall, Rpc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class UnknownServerError(KeyError):
    """No configured server has this name or alias."""

    __module__ = "mcp.runtime"

    def __str__(self) -> str:
        return str(self.args[0])


def unknown(what: str, name: object, known: list[str]) -> str:
    """Words a message about a name that does not exist."""
    near = close_matches(str(name), known, 1, 0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(repr(each) for each in known[:20]) or "none"
    more = f" and {len(known) - 20} more" if len(known) > 20 else ""
    return f"no {what} is called {name!r}.{hint} Known: {shown}{more}"


class Directory:
    """The servers that the host offers now, and the proxies that were made for them."""

    def __init__(self, rpc: Rpc) -> None:
        self.rpc = rpc
        self.servers: dict[str, dict[str, Any]] = {}
        self.aliases: dict[str, str] = {}
        self.loaded: tuple[str, ...] = ()
        self.proxies: dict[str, Server] = {}
        self.tools: dict[str, dict[str, str]] = {}  # server name → tool alias → signature, as far as they were listed

    def update(self, servers: list[dict[str, Any]], loaded: list[str]) -> None:
        """Takes the list of an `execute` frame."""
        self.servers = {server["name"]: server for server in servers}
        self.aliases = {server["alias"]: server["name"] for server in servers}
        self.loaded = tuple(loaded)

    def resolve(self, server: object) -> str:
        """Returns the name of a server from its name, alias or proxy. Unknown text stays: the host judges it."""
        if isinstance(server, Server):
            return server._sandpy_name
        if not isinstance(server, str):
            message = f"a server is given by its name, not by {type(server).__name__}"
            raise TypeError(message)
        return server if server in self.servers else self.aliases.get(server, server)

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

    def call(self, server: object, tool: str, arguments: Mapping[str, Any] | None) -> PendingCall:
        """Starts a call of a tool."""
        name = self.resolve(server)
        if not isinstance(tool, str):
            message = f"a tool is given by its name, not by {type(tool).__name__}"
            raise TypeError(message)
        if arguments is not None and not isinstance(arguments, Mapping):
            message = f"{name}.{tool}: the arguments must be a mapping, not {type(arguments).__name__}"
            raise TypeError(message)
        params = {"server": name, "tool": tool, "arguments": dict(arguments or {}), "timeout": None}
        return self.rpc.request("call_tool", params, f"{name}.{tool}", ToolResult)


class Server:
    """A server: `await server.tool(argument=value)`, or `server["raw tool name"](...)`."""

    __slots__ = ("_sandpy_directory", "_sandpy_name")
    __module__ = "mcp.runtime"

    def __init__(self, directory: Directory, name: str) -> None:
        self._sandpy_directory = directory
        self._sandpy_name = name

    def __getattr__(self, tool: str) -> Tool:
        # Probes of copy, inspect, notebooks and mocks must not find a tool.
        if tool.startswith(("__", "_repr_", "_ipython_", "_sandpy_")):
            message = f"{self!r} has no attribute {tool!r}"
            raise AttributeError(message)
        return Tool(self, tool)

    def __getitem__(self, tool: str) -> Tool:
        if not isinstance(tool, str):
            message = f"a tool is given by its name, not by {type(tool).__name__}"
            raise TypeError(message)
        return Tool(self, tool)

    def __iter__(self) -> Iterator[Any]:
        message = f"{self!r} is not iterable; await runtime.list_tools({self._sandpy_name!r}) lists its tools"
        raise TypeError(message)

    def __dir__(self) -> list[str]:
        return list(self._sandpy_directory.tools.get(self._sandpy_name, ()))

    def __repr__(self) -> str:
        return f"<MCP server {self._sandpy_name!r}>"

    def __reduce__(self) -> Any:
        message = f"{self!r} can not be pickled"
        raise TypeError(message)


class Tool:
    """A tool of a server: call it with keyword arguments and `await` the call."""

    __slots__ = ("__name__", "__qualname__", "_sandpy_server")
    __module__ = "mcp.runtime"

    def __init__(self, server: Server, name: str) -> None:
        self._sandpy_server = server
        self.__name__ = name
        self.__qualname__ = f"{server._sandpy_name}.{name}"

    def __call__(self, /, *positional: Any, **arguments: Any) -> PendingCall:
        """Starts a call; `await` it, or use its `.result()`."""
        if positional:
            message = f"{self.__qualname__}() takes keyword arguments only, as in {self.__name__}(name=value)"
            raise TypeError(message)
        server = self._sandpy_server
        plain = {_plain(name): value for name, value in arguments.items()}
        return server._sandpy_directory.call(server, self.__name__, plain)

    def __repr__(self) -> str:
        return f"<MCP tool {self.__qualname__}>"


def _plain(name: str) -> str:
    """Returns `from` for `from_`: Python keywords can not be written as argument names."""
    return name[:-1] if name.endswith("_") and late.load("keyword").iskeyword(name[:-1]) else name


class Servers(Mapping):
    """All servers, by name or alias: `mcp_servers["name"]`."""

    __module__ = "mcp.runtime"

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __getitem__(self, name: str) -> Server:
        return self._directory.proxy(name)

    def __contains__(self, name: object) -> bool:
        return name in self._directory.servers or name in self._directory.aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self._directory.servers)

    def __len__(self) -> int:
        return len(self._directory.servers)

    def __getattr__(self, alias: str) -> Server:
        if alias.startswith("_"):
            raise AttributeError(alias)
        try:
            return self._directory.proxy(alias)
        except UnknownServerError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._directory.aliases]

    def __repr__(self) -> str:
        return f"<MCP servers: {', '.join(self._directory.servers) or 'none'}>"
