"""The names that Python finds: `mcp`, `runtime`, `mcp_servers`, `mcp_<alias>`, and the module `mcp.runtime`."""

from __future__ import annotations

import sys

from . import late
from .results import Image, MCPError, MCPTimeoutError, Record, ToolResult
from .rpc import PendingCall, Rpc
from .tools import Directory, Servers, UnknownServerError, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from importlib.machinery import ModuleSpec as Spec
    from typing import Any

ModuleType = type(sys)
ModuleSpec = type(sys.__spec__)


class AwaitableList(list):
    """A list that may also be awaited, since both spellings are natural."""

    def __await__(self) -> Generator[Any, Any, AwaitableList]:
        return self
        yield  # makes this a generator


class Importer:
    """Lets `import mcp_memory` and `import runtime` work, as last resort, for the names that are there without it."""

    def __init__(self) -> None:
        self.injected: dict[str, Any] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> Spec | None:
        """Answers the import system."""
        return ModuleSpec(name, self) if name in self.injected else None

    def create_module(self, spec: Spec) -> Any:
        """Returns what has the name already."""
        return self.injected[spec.name]

    def exec_module(self, module: object) -> None:
        """Has nothing to run."""


class Names:
    """Keeps the injected names up to date without ever touching a variable of the user's."""

    def __init__(self, namespace: dict[str, Any], rpc: Rpc, more: dict[str, Any]) -> None:
        self.namespace = namespace
        self.more = more
        self.importer = Importer()
        self.injected: dict[str, Any] = {}
        self.directory = Directory(rpc)
        self.servers = Servers(self.directory)
        self.runtime = make_runtime(self.directory)
        self.mcp = ModuleType("mcp", "The MCP servers of the user; see mcp.runtime.")
        self.mcp.__path__ = []  # a package, so that `import mcp.runtime` works
        self.mcp.runtime = self.runtime  # type: ignore[attr-defined]
        self.mcp.servers = self.servers  # type: ignore[attr-defined]
        self.update([], [])
        sys.meta_path.append(self.importer)

    def update(self, servers: list[dict[str, Any]], loaded: list[str]) -> None:
        """Takes the servers of an `execute` frame."""
        self.directory.update(servers, loaded)
        sys.modules["mcp"] = self.mcp
        sys.modules["mcp.runtime"] = self.runtime
        wanted: dict[str, Any] = {
            "mcp": self.mcp,
            "runtime": self.runtime,
            "mcp_servers": self.servers,
            "LOADED_MCP_SERVERS": self.directory.loaded,
            **self.more,
        }
        for server in servers:
            wanted["mcp_" + server["alias"]] = self.directory.proxy(server["name"])
        namespace = self.namespace
        missing = object()
        for name, value in self.injected.items():
            if name not in wanted and namespace.get(name, missing) is value:
                del namespace[name]
        for name, value in wanted.items():
            found = namespace.get(name, missing)
            if found is missing or found is self.injected.get(name, missing):
                namespace[name] = value
        self.injected = self.importer.injected = wanted


def make_runtime(directory: Directory) -> Any:
    """Builds the module `mcp.runtime`."""
    rpc = directory.rpc

    def fetch_servers() -> list[dict[str, Any]]:
        return rpc.request("servers", {}, "runtime.list_servers").result()

    def discovered_servers(detailed: bool = False) -> AwaitableList:
        """All servers that can be used: their names, or with `detailed` a dict for each."""
        servers = fetch_servers()
        return AwaitableList(servers if detailed else [server["name"] for server in servers])

    def list_servers() -> AwaitableList:
        """The names of all servers that can be used."""
        return discovered_servers()

    def list_servers_sync() -> AwaitableList:
        """The names of all servers that can be used."""
        return discovered_servers()

    def list_loaded_server_metadata() -> list[dict[str, Any]]:
        """What is known of the servers that this call of run_python asked for."""
        return [dict(directory.servers[name]) for name in directory.loaded if name in directory.servers]

    def tools_of(server: str, finish: Any) -> PendingCall:
        name = directory.resolve(server)
        docs = late.load(".docs")

        def take(tools: list[dict[str, Any]]) -> Any:
            directory.tools[name] = {
                tool["alias"]: docs.signature(tool["alias"], tool.get("inputSchema") or {}) for tool in tools
            }
            return finish(name, tools)

        return rpc.request("tools", {"server": name}, f"runtime.list_tools({name!r})", take)

    def list_tools(server: str) -> PendingCall:
        """The tools of a server, as dicts with name, alias, description and inputSchema. To be awaited."""
        return tools_of(server, lambda name, tools: late.load(".docs").ToolList(map(Record, tools), directory.alias(name)))

    def list_tools_sync(server: str) -> list[dict[str, Any]]:
        """`list_tools` without await."""
        return list_tools(server).result()

    def query_tool_docs(server: str, tool: str | None = None, detail: str = "summary") -> PendingCall:
        """Documents the tools of a server, or one tool; detail="full" adds the inputSchema. To be awaited."""
        if detail not in ("summary", "full"):
            message = f"detail must be 'summary' or 'full', not {detail!r}"
            raise ValueError(message)

        def describe(name: str, tools: list[dict[str, Any]]) -> Any:
            docs = late.load(".docs")
            summary = directory.servers.get(name, {"name": name, "alias": name})
            if tool is None:
                return docs.ToolList(
                    [docs.entry(summary, each, detail == "full") for each in tools], directory.alias(name)
                )
            for key in ("name", "alias"):
                for each in tools:
                    if each[key] == tool:
                        return docs.entry(summary, each, detail == "full")
            raise MCPError(unknown("tool", tool, [each["name"] for each in tools]), name, None, "unknown")

        return tools_of(server, describe)

    def query_tool_docs_sync(server: str, tool: str | None = None, detail: str = "summary") -> Any:
        """`query_tool_docs` without await."""
        return query_tool_docs(server, tool, detail).result()

    def call_tool(server: str, tool: str, arguments: Mapping[str, Any] | None = None) -> PendingCall:
        """Calls a tool by name. To be awaited."""
        return directory.call(server, tool, arguments)

    runtime = ModuleType("mcp.runtime", "Finds and calls the tools of the user's MCP servers.")
    functions = (
        discovered_servers,
        list_servers,
        list_servers_sync,
        list_loaded_server_metadata,
        list_tools,
        list_tools_sync,
        query_tool_docs,
        query_tool_docs_sync,
        call_tool,
    )
    for function in functions:
        function.__module__ = "mcp.runtime"
        function.__qualname__ = function.__name__
    classes = (Image, MCPError, MCPTimeoutError, Record, ToolResult, UnknownServerError)
    public = {each.__name__: each for each in (*functions, *classes)}
    vars(runtime).update(public, __all__=sorted(public))
    return runtime
