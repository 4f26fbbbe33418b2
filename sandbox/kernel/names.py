"""The names that Python finds: `mcp`, `runtime`, `mcp_servers`, `mcp_<alias>`, and the module `mcp.runtime`."""

from __future__ import annotations

import sys

from .directory import Directory
from .importer import Importer, make_package
from .keeping import Kept
from .runtime import make_runtime
from .tools import Servers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .rpc import Rpc

ASK_SECONDS = 5.0
SHARED = ("name", "alias", "description")  # what an `execute` frame says of a server


def replace_names(namespace: dict[str, Any], before: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Replaces the names that were put into a namespace before, but for those that the user gave to something else."""
    missing = object()
    for name, value in before.items():
        if name not in wanted and namespace.get(name, missing) is value:
            del namespace[name]
    for name, value in wanted.items():
        found = namespace.get(name, missing)
        if found is missing or found is before.get(name, missing):
            namespace[name] = value


class Names:
    """Keeps the injected names up to date without ever touching a variable of the user's."""

    def __init__(self, namespace: dict[str, Any], rpc: Rpc, more: dict[str, Any]) -> None:
        self.namespace = namespace
        self.more = more
        self.injected: dict[str, Any] = {}
        self.is_program = False  # of `sandpy run`, and no cells of a session
        self.directory = Directory(rpc)
        self.importer = Importer(self.directory)
        self.servers = Servers(self.directory)
        self.kept = Kept(self)
        self.runtime, self.shared = make_runtime(self.directory, self.add, self.kept)
        self.mcp = make_package(self.directory, runtime=self.runtime, servers=self.servers)
        self.known: list[dict[str, Any]] | None = None
        self.update([], [])
        self.known = None
        sys.meta_path.append(self.importer)

    def update(self, servers: list[dict[str, Any]] | None, loaded: list[str]) -> None:
        """Takes the servers of an `execute` frame: None for those of the frame before."""
        sys.modules["mcp"] = self.mcp
        sys.modules["mcp.runtime"] = self.runtime
        if servers is None and self.known is not None:
            self.directory.loaded = tuple(loaded)
            self.restore()
            return
        self.known = self.ask() if servers is None else servers
        self.directory.update(self.known, loaded)
        self.inject()

    def ask(self) -> list[dict[str, Any]]:
        """Asks the host: a process before this one died with the frame that had the servers."""
        try:
            return self.directory.rpc.request("servers", {}, "the list of servers").result(ASK_SECONDS)
        except Exception:  # the code may not need any
            return []

    def add(self, servers: list[dict[str, Any]]) -> None:
        """Makes servers usable that the host knows of since the cell began."""
        directory = self.directory
        new = [server for server in servers if server["name"] not in directory.servers]
        if new:
            self.known = [*(self.known or ()), *({key: each[key] for key in SHARED} for each in new)]
            directory.update(self.known, list(directory.loaded))
            self.inject()

    def restore(self) -> None:
        """As `inject`, for the same servers as before: with a thousand of them, each cell would pay for all."""
        namespace, injected = self.namespace, self.injected
        loaded = "LOADED_MCP_SERVERS"
        if namespace.get(loaded) is injected[loaded]:
            namespace[loaded] = self.directory.loaded
        injected[loaded] = self.directory.loaded
        if not injected.keys() <= namespace.keys():
            for name, value in injected.items():
                namespace.setdefault(name, value)

    def inject(self) -> None:
        """Puts the names into the namespace."""
        wanted: dict[str, Any] = {
            "mcp": self.mcp,
            "runtime": self.runtime,
            "mcp_servers": self.servers,
            "LOADED_MCP_SERVERS": self.directory.loaded,
            "MCPError": self.runtime.MCPError,
            **self.shared,
            **self.more,
        }
        for server in self.directory.servers.values():
            wanted["mcp_" + server["alias"]] = self.directory.proxy(server["name"])
        replace_names(self.namespace, self.injected, wanted)
        self.injected = self.importer.injected = self.directory.reserved = wanted
        self.kept.share(wanted)
