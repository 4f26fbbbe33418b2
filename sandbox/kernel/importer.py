"""What `import` finds of the servers: `mcp_github`, `mcp.servers.github`, `mcp.github`."""

from __future__ import annotations

import sys

from .directory import Directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec as Spec
    from typing import Any

ModuleType = type(sys)
ModuleSpec = type(sys.__spec__)

PACKAGE = "mcp.servers"


class Importer:
    """Lets names be imported, as last resort, that are there without it, and servers as modules of `mcp.servers`."""

    def __init__(self, directory: Directory) -> None:
        self.directory = directory
        self.injected: dict[str, Any] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> Spec | None:
        """Answers the import system."""
        return None if self._find(name) is None else ModuleSpec(name, self)

    def _find(self, name: str) -> Any:
        if name == PACKAGE:
            return self.injected.get("mcp_servers")
        for prefix in (PACKAGE + ".", "mcp."):
            if name.startswith(prefix):
                return find_server(self.directory, name[len(prefix) :])
        return self.injected.get(name)

    def create_module(self, spec: Spec) -> Any:
        """Returns what has the name already."""
        return self._find(spec.name)

    def exec_module(self, module: object) -> None:
        """Has nothing to run."""


def find_server(directory: Directory, name: str) -> Any:
    """Returns the proxy of a server by its alias, with or without `mcp_`, or None."""
    try:
        return directory.proxy(name)
    except KeyError:
        return None


def make_package(directory: Directory, **members: Any) -> Any:
    """Makes the package `mcp`, which has the servers as attributes too."""
    package = ModuleType("mcp", "The MCP servers of the user; see mcp.runtime.")

    def find(name: str) -> Any:
        found = None if name.startswith("_") else find_server(directory, name)
        if found is None:
            message = f"module 'mcp' has no attribute {name!r}"
            raise AttributeError(message)
        return found

    package.__path__ = []  # so that `import mcp.runtime` works
    vars(package).update(members, __getattr__=find)
    return package
