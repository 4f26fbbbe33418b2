"""Servers and their tools as Python objects."""

from __future__ import annotations

import builtins
from _collections_abc import Mapping  # not `collections.abc`, which imports all of collections

from . import late
from .results import MCPError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    from .directory import Directory
    from .listing import Spec
    from .rpc import PendingCall

# Of copy, inspect, notebooks and mocks: they must not find a tool, nor have the host asked for one.
PROBES = ("__", "_repr_", "_ipython_", "_sandpy_")
MAX_SHOWN = 200

_builtins = frozenset(dir(builtins))


class Server:
    """A server: `await server.tool(argument=value)`, or `server["raw tool name"](...)`."""

    __slots__ = ("_sandpy_directory", "_sandpy_name")
    __module__ = "mcp.runtime"

    def __init__(self, directory: Directory, name: str) -> None:
        self._sandpy_directory = directory
        self._sandpy_name = name

    def __getattr__(self, tool: str) -> Tool:
        if tool.startswith(PROBES):
            message = f"{self!r} has no attribute {tool!r}"
            raise AttributeError(message)
        return self._sandpy_directory.tool(self._sandpy_name, tool, True)

    def __getitem__(self, tool: str) -> Tool:
        if not isinstance(tool, str):
            message = f"a tool is given by its name, not by {type(tool).__name__}"
            raise TypeError(message)
        return self._sandpy_directory.tool(self._sandpy_name, tool, False)

    def __iter__(self) -> Iterator[Any]:
        message = f"{self!r} is not iterable; await runtime.list_tools({self._sandpy_name!r}) lists its tools"
        raise TypeError(message)

    def __dir__(self) -> list[str]:
        try:
            return list(self._sandpy_directory.listing(self._sandpy_name).aliases)
        except MCPError:  # who calls one gets to know
            return []

    @property
    def __all__(self) -> list[str]:
        """What `from mcp.servers.<alias> import *` takes: all tools that hide nothing that Python needs."""
        directory = self._sandpy_directory
        tools = directory.listing(self._sandpy_name).aliases
        return [tool for tool in tools if tool not in _builtins and tool not in directory.reserved]

    @property
    def __name__(self) -> str:
        return f"mcp_{self._sandpy_directory.alias(self._sandpy_name)}"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What `help` shows."""
        directory, name = self._sandpy_directory, self._sandpy_name
        about = directory.servers.get(name, {}).get("description") or f"The MCP server {name!r}."
        try:
            specs = list(directory.listing(name).aliases.values())
        except MCPError as error:
            return f"{about}\n\nIts tools could not be listed: {error}"
        lines = [f"    await {self.__name__}.{spec.signature}" for spec in specs[:MAX_SHOWN]]
        more = [f"    … {len(specs) - MAX_SHOWN} more"] if len(specs) > MAX_SHOWN else []
        return "\n".join([about, "", "Tools:", *(lines or ["    none"]), *more])

    def __repr__(self) -> str:
        return f"<MCP server {self._sandpy_name!r}>"

    def __reduce__(self) -> Any:
        message = f"{self!r} can not be pickled"
        raise TypeError(message)


class Tool:
    """A tool of a server, which is called like a function: `await` the call, or use its `.result()`."""

    __slots__ = ("__name__", "__qualname__", "_sandpy_by_alias", "_sandpy_failure", "_sandpy_server", "_sandpy_spec")
    __module__ = "mcp.runtime"

    def __init__(
        self,
        server: Server,
        name: str,
        by_alias: bool,
        spec: Optional[Spec] = None,
        failure: Optional[MCPError] = None,
    ) -> None:
        self._sandpy_server = server
        self._sandpy_by_alias = by_alias
        self._sandpy_spec = spec
        self._sandpy_failure = failure  # why there is no list of tools: the next call says it
        self.__name__ = name
        self.__qualname__ = f"{server._sandpy_name}.{name}"

    def __call__(self, /, *positional: Any, **named: Any) -> PendingCall:
        """Starts a call."""
        server = self._sandpy_server
        if self._sandpy_spec is None:
            return late.load(".unlisted").call(server._sandpy_directory, self, positional, named)
        name, arguments, timeout = self._sandpy_fit(positional, named)
        return server._sandpy_directory.send(server._sandpy_name, name, arguments, timeout, self.__qualname__)

    def _sandpy_fit(
        self, positional: tuple[Any, ...], named: dict[str, Any], may_ask: bool = True
    ) -> tuple[str, dict[str, Any], Optional[float]]:
        """Returns the tool's own name, the arguments by theirs, and a timeout. Raises TypeError or ValueError."""
        directory, server = self._sandpy_server._sandpy_directory, self._sandpy_server._sandpy_name
        spec = self._sandpy_spec
        if spec is None:
            if self._sandpy_by_alias:
                raise late.load(".unlisted").no_tool(directory, server, self.__name__)
            return (self.__name__, *directory.raw(positional, named))
        try:
            return (spec.name, *spec.fit(positional, named))
        except (TypeError, ValueError) as error:
            if may_ask and directory.is_stale(server):
                newer = directory.renewed(server, self.__name__, self._sandpy_by_alias)
                if newer is not None:
                    self._sandpy_spec = newer
                    return self._sandpy_fit(positional, named, False)
            message = (
                f"{self.__qualname__}() {error}{'' if str(error).endswith('?') else '.'} The tool is: {spec.signature}"
            )
            raise type(error)(message) from None

    def _sandpy_known(self) -> Optional[Spec]:
        """Returns what its server says of it, asking if need be. Raises MCPError."""
        if self._sandpy_spec is None:
            server = self._sandpy_server
            self._sandpy_spec = server._sandpy_directory.find(server._sandpy_name, self.__name__, self._sandpy_by_alias)
        return self._sandpy_spec

    def _sandpy_hints(self, what: str) -> Any:
        try:
            spec = self._sandpy_known()
        except MCPError as error:
            raise AttributeError(str(error)) from None
        if spec is None:
            message = f"{self!r} is not known to its server"
            raise AttributeError(message)
        return getattr(late.load(".hints"), what)(spec.parameters, spec.output)

    @property
    def __signature__(self) -> Any:
        """For `inspect.signature`."""
        return self._sandpy_hints("signature_of")

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        """For `typing.get_type_hints`; "return" is what `.data` of the result is."""
        return self._sandpy_hints("annotations_of")

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What `help` shows."""
        try:
            spec = self._sandpy_known()
        except MCPError as error:
            return f"The tools of this server could not be listed: {error}"
        if spec is None:
            return f"Server {self._sandpy_server._sandpy_name!r} does not list this tool."
        call = f"await {self._sandpy_server.__name__}.{spec.signature}"
        return "\n\n".join(part for part in (call, spec.description, "\n".join(spec.parameters.describe())) if part)

    def __repr__(self) -> str:
        return f"<MCP tool {self.__qualname__}>"

    def __reduce__(self) -> Any:
        message = f"{self!r} can not be pickled"
        raise TypeError(message)


class Servers(Mapping):
    """All servers, by name or alias: `mcp_servers["name"]`."""

    __module__ = "mcp.runtime"
    __name__ = "mcp.servers"
    __path__: tuple[str, ...] = ()  # a package, so that `import mcp.servers.github` works

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
        except KeyError as error:
            raise AttributeError(str(error)) from None

    @property
    def __all__(self) -> list[str]:
        """What `from mcp.servers import *` takes."""
        return list(self._directory.aliases)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._directory.aliases]

    def __repr__(self) -> str:
        return f"<MCP servers: {', '.join(self._directory.servers) or 'none'}>"
