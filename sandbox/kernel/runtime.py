"""The module `mcp.runtime`: finds the tools of the user's servers, documents and calls them."""

from __future__ import annotations

from .directory import UnknownServerError, UnknownToolError, unknown
from .keeping import memory_functions, tool_functions
from .late import load
from .results import Image, MCPError, MCPTimeoutError, MemoryStoreError, Record, ToolResult
from .rpc import answered
from .projects import project_functions
from .sessions import Runtime, session_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any, Callable

    from .directory import Directory
    from .docs import ToolList
    from .keeping import Kept
    from .rpc import PendingCall
    from .servers import AwaitableList, Server, Text

MAX_LIMIT = 100


def make_runtime(
    directory: Directory, add: Callable[[list[dict[str, Any]]], None], kept: Kept
) -> tuple[ModuleType, dict[str, Any]]:
    """Builds the module, and with it those of its functions that are global too; `add` makes servers usable that the
    host just named."""
    helpers = Helpers(directory, add, kept)
    runtime = Runtime("mcp.runtime", "Finds and calls the tools of the user's MCP servers.")
    save_tool, about_saved = tool_functions(kept)
    shared = [*memory_functions(kept), save_tool]
    more = [*_resource_functions(helpers), *shared, *about_saved, *project_functions(helpers.rpc)]
    more += session_functions(runtime, helpers.rpc)
    functions = [*_server_functions(helpers), *_tool_functions(helpers), *more]
    for function in functions:
        function.__module__ = "mcp.runtime"
        function.__qualname__ = function.__name__
    classes = (Image, MCPError, MCPTimeoutError, MemoryStoreError, Record, ToolResult)
    classes += (UnknownServerError, UnknownToolError)
    vars(runtime).update({each.__name__: each for each in (*functions, *classes)})
    # Without most classes, of which help(runtime) would show every method, for ten thousand tokens.
    runtime.__all__ = sorted(each.__name__ for each in (*functions, MCPError, MemoryStoreError))
    return runtime, {each.__name__: each for each in shared}


class Helpers:
    """What the functions share."""

    def __init__(self, directory: Directory, add: Callable[[list[dict[str, Any]]], None], kept: Kept) -> None:
        self.directory = directory
        self.kept = kept
        self.rpc = directory.rpc
        self.add = add

    def ask(
        self, method: str, server: object, label: str, finish: Callable[[str, Any], Any], **more: Any
    ) -> PendingCall:
        """Starts a request about one server; `finish` gets its name and the answer."""
        name = self.directory.resolve(server)
        return self.rpc.request(method, {"server": name, **more}, f"runtime.{label}", lambda value: finish(name, value))

    def servers(self) -> list[Server]:
        """Asks for the servers that can be used; new ones can be used at once."""
        servers = self.rpc.request("servers", {}, "runtime.list_servers").result()
        self.add(servers)
        return list(map(load(".servers").Server, servers))

    def described(self, name: str, details: dict[str, Any]) -> Server:
        """Takes the description of a server."""
        if details.get("reason") is None:
            self.add([details])
        if details.get("tools"):
            self.directory.take(details["name"], details["tools"])
        return load(".servers").describe(details)

    def documented(self, name: str, tools: list[dict[str, Any]], tool: object, detail: str) -> Any:
        """Documents all tools of a server, or one."""
        docs = load(".docs")
        self.directory.take(name, tools)
        server = self.directory.servers.get(name, {"name": name, "alias": name})
        full = detail == "full"
        if tool is None:
            return docs.ToolList([docs.entry(server, each, full) for each in tools], self.directory.alias(name))
        wanted = str(getattr(tool, "__name__", tool))
        for same in (lambda known: known == wanted, lambda known: known.lower() == wanted.lower()):
            for key in ("name", "alias"):
                for each in tools:
                    if same(each[key]):
                        return docs.OneDoc([docs.entry(server, each, full)])
        raise MCPError(unknown("tool", wanted, [each["name"] for each in tools]), name, None, "unknown")

    def saved(self, server: object) -> bool:
        """Tells whether a name stands for the saved tools, and not for a server."""
        return server == "user_tools" and server not in self.directory.servers and server not in self.directory.aliases


def check_detail(detail: object) -> None:
    """Raises ValueError for what is no level of detail."""
    if detail not in ("summary", "full"):
        message = f"detail must be 'summary' or 'full', not {detail!r}"
        raise ValueError(message)


def check_limit(limit: object) -> int:
    """Returns how many entries are wanted, within bounds. Raises TypeError."""
    if not isinstance(limit, int):
        message = f"limit must be a number, not {type(limit).__name__}"
        raise TypeError(message)
    return max(1, min(int(limit), MAX_LIMIT))


def _server_functions(helpers: Helpers) -> list[Any]:
    directory, rpc = helpers.directory, helpers.rpc

    def discovered_servers(detailed: bool = False) -> AwaitableList:
        """All servers that can be used: their names, or with `detailed` a dict for each."""
        servers = helpers.servers()
        lists = load(".servers")
        return (
            lists.ServerList(servers, "", helpers.kept.hint())
            if detailed
            else lists.AwaitableList(server["name"] for server in servers)
        )

    def list_servers() -> AwaitableList:
        """The names of all servers that can be used."""
        return discovered_servers()

    def list_servers_sync() -> AwaitableList:
        """The names of all servers that can be used."""
        return discovered_servers()

    def describe_server(name: str) -> Server:
        """One server, usable or not: name, alias, description, status, reason, instructions, tools."""
        return helpers.ask("describe_server", name, f"describe_server({name!r})", helpers.described).result()

    def list_loaded_server_metadata() -> AwaitableList:
        """`describe_server` for each server that this call of run_python asked for."""
        asked = [
            helpers.ask("describe_server", name, "list_loaded_server_metadata()", helpers.described)
            for name in directory.loaded
        ]
        return load(".servers").ServerList(call.result() for call in asked)

    def find_servers(query: str = "", limit: int = 20) -> PendingCall:
        """Searches all known servers, also those that are switched off or not usable, and says why. To be awaited."""

        def show(found: dict[str, Any]) -> Any:
            lists = load(".servers")
            servers = list(map(lists.Server, found["servers"]))
            total, searched = found["total"], found["searched"]
            head = f"{len(servers)} of {total} servers"
            if query:
                head = f"{len(servers)} of {total} for {query!r}, {searched} servers are known"
            foot = ""
            if total > len(servers):
                foot = f"more: runtime.find_servers({query!r}, limit={min(total, MAX_LIMIT)})"
            elif not servers and searched:
                foot = "all of them: runtime.find_servers(limit=100)"
            elif not searched:
                foot = "the user has to define servers, in a file of ~/MCPs"
            return lists.ServerList(servers, head, foot)

        params = {"query": str(query), "limit": check_limit(limit)}
        return rpc.request("find_servers", params, f"runtime.find_servers({query!r})", show)

    def add_server(name: str) -> PendingCall:
        """Makes a known server usable for this session, where the user permits that. To be awaited."""
        return helpers.ask("add_server", name, f"add_server({name!r})", helpers.described)

    def capability_summary() -> Text:
        """The manual: what can be done here, and how."""
        return load(".servers").Text(load(".manual").MANUAL.strip())

    return [
        discovered_servers,
        list_servers,
        list_servers_sync,
        describe_server,
        list_loaded_server_metadata,
        find_servers,
        add_server,
        capability_summary,
    ]


def _tool_functions(helpers: Helpers) -> list[Any]:
    directory = helpers.directory

    def list_tools(server: str) -> PendingCall:
        """The tools of a server, as dicts with name, alias, description and inputSchema. To be awaited."""

        def show(name: str, tools: list[dict[str, Any]]) -> ToolList:
            directory.take(name, tools)
            return load(".docs").ToolList(map(Record, tools), directory.alias(name))

        return helpers.ask("tools", server, f"list_tools({server!r})", show)

    def list_tools_sync(server: str) -> list[dict[str, Any]]:
        """`list_tools` without await."""
        return list_tools(server).result()

    def query_tool_docs(server: str, tool: str | None = None, detail: str = "summary") -> PendingCall:
        """Documents the tools of a server, or one tool; detail="full" adds the schemas. To be awaited."""
        check_detail(detail)
        if helpers.saved(server):
            return answered(helpers.kept.tools.docs(tool, detail == "full"))

        def show(name: str, tools: list[dict[str, Any]]) -> Any:
            return helpers.documented(name, tools, tool, detail)

        return helpers.ask("tool_docs", server, f"query_tool_docs({server!r})", show)

    def query_tool_docs_sync(server: str, tool: str | None = None, detail: str = "summary") -> Any:
        """`query_tool_docs` without await."""
        return query_tool_docs(server, tool, detail).result()

    def search_tool_docs(
        query: str, *, limit: int = 5, detail: str = "summary", server: str | None = None
    ) -> PendingCall:
        """Finds tools by what they do or are called, of all servers or one, and documents them. To be awaited."""
        check_detail(detail)
        words, most = " ".join(map(str, query)) if isinstance(query, (list, tuple)) else str(query), check_limit(limit)

        def show(answer: dict[str, Any]) -> Any:
            found = load(".docs").found(answer, words, most, detail == "full")
            return helpers.kept.tools.found(found, words, most, detail == "full") if server is None else found

        if helpers.saved(server):
            nothing = load(".docs").Found([], f"no saved tool for {words!r}")
            return answered(helpers.kept.tools.found(nothing, words, most, detail == "full"))
        params = {"query": words, "limit": most, "server": None if server is None else directory.resolve(server)}
        return directory.rpc.request("search_tools", params, f"runtime.search_tool_docs({words!r})", show)

    def search_tool_docs_sync(
        query: str, *, limit: int = 5, detail: str = "summary", server: str | None = None
    ) -> list[dict[str, Any]]:
        """`search_tool_docs` without await."""
        return search_tool_docs(query, limit=limit, detail=detail, server=server).result()

    def call_tool(
        server: str, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> PendingCall:
        """Calls a tool with arguments as its server names them, for at most `timeout` seconds. To be awaited."""
        return directory.call(server, tool, arguments, timeout)

    return [
        list_tools,
        list_tools_sync,
        query_tool_docs,
        query_tool_docs_sync,
        search_tool_docs,
        search_tool_docs_sync,
        call_tool,
    ]


def _resource_functions(helpers: Helpers) -> list[Any]:
    def list_resources(server: str) -> PendingCall:
        """The resources of a server as dicts with uri and name; `.templates` has the templates. To be awaited."""

        def show(name: str, found: dict[str, Any]) -> Any:
            return load(".resources").ResourceList(found, name)

        return helpers.ask("list_resources", server, f"list_resources({server!r})", show)

    def read_resource(server: str, uri: str) -> PendingCall:
        """Reads a resource: `.text`, `.data`, `.bytes`, `.images`, `.contents`. To be awaited."""

        def show(_: str, found: dict[str, Any]) -> Any:
            return load(".resources").ResourceResult(found)

        uri = str(uri.get("uri") if isinstance(uri, dict) else uri)
        return helpers.ask("read_resource", server, f"read_resource({server!r}, {uri!r})", show, uri=uri)

    def list_prompts(server: str) -> PendingCall:
        """The prompts of a server as dicts with name and arguments. To be awaited."""

        def show(name: str, found: dict[str, Any]) -> Any:
            return load(".resources").PromptList(found, name)

        return helpers.ask("list_prompts", server, f"list_prompts({server!r})", show)

    def get_prompt(server: str, name: str, arguments: Mapping[str, Any] | None = None) -> PendingCall:
        """Fills in a prompt: `.text`, `.messages`. To be awaited."""

        def show(_: str, found: dict[str, Any]) -> Any:
            return load(".resources").PromptResult(found)

        prompt = str(name.get("name") if isinstance(name, dict) else name)
        given = load(".resources").prompt_arguments(arguments)
        label = f"get_prompt({server!r}, {prompt!r})"
        return helpers.ask("get_prompt", server, label, show, prompt=prompt, arguments=given)

    return [list_resources, read_resource, list_prompts, get_prompt]
