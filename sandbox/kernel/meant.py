"""What a name that does not exist most likely stands for: a server, or a function of `runtime`."""

from __future__ import annotations

import re

from .late import close_matches
from .names import Names
from .unlisted import no_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN = 20
FEW = 8
HOST_SECONDS = 2.0

# What models call our functions that is not near enough to a name of ours.
_meant = (
    (re.compile("search|find_?tool|lookup"), "search_tool_docs"),
    (re.compile("doc|schema|signature|(get|describe|inspect)_?tool$"), "query_tool_docs"),
)


def _servers(names: Names) -> str:
    aliases = list(names.directory.aliases)
    more = ["… (`runtime.discovered_servers()` has all)"] if len(aliases) > SHOWN else []
    return ", ".join([*(f"mcp_{alias}" for alias in aliases[:SHOWN]), *more])


def server_name(name: str, names: Names) -> str:
    """Advises about a name that may stand for a server."""
    if name in names.directory.aliases:
        return f"this server is `mcp_{name}`, without import"
    if not name.startswith("mcp_"):
        return ""
    alias = name[len("mcp_") :]
    reason = _why_not(alias, names)
    if reason:
        return reason
    if not names.directory.aliases:
        return "no MCP server is configured"
    known = list(names.directory.aliases)
    near = close_matches(name, [f"mcp_{each}" for each in known], 1, 0.8)
    near += [f"mcp_{each}" for each in known if len(alias) > 2 and alias in each]
    if not near:
        return f"The servers are {_servers(names)}"
    return f"did you mean `{near[0]}`? {all_servers(names)}"


def flat_name(name: str, line: str, names: Names) -> str:
    """Advises about a tool called by one name with its server's, as clients show tools to models: mcp__notes__search."""
    if not re.search(rf"\b{re.escape(name)}\(", line):
        return ""
    directory, rest = names.directory, name.removeprefix("mcp_").lstrip("_")
    if rest == name and not re.search(rf"\bawait\s+{re.escape(name)}\(", line):
        return ""  # nothing says that it has to do with a server
    server, _, tool = rest.partition("__")
    alias = directory.alias(directory.resolve(server)) if tool else ""
    if not alias:
        near = sorted((each for each in directory.aliases if rest.startswith(each + "_")), key=len)
        alias, tool = (near[-1], rest[len(near[-1]) :].strip("_")) if near else ("", "")
    if not alias or not tool:
        return ""
    server = directory.aliases.get(alias, "")
    listing = directory.listings.get(server)
    known = listing.find(tool) if listing else None
    if listing and known is None:  # without mcp_, it may be a function that was never defined
        return "" if rest == name else f"a tool is an attribute of `mcp_{alias}`: {no_tool(directory, server, tool)}"
    return f"a tool is an attribute of its server: `await mcp_{alias}.{known.signature if known else f'{tool}(...)'}`"


def all_servers(names: Names) -> str:
    """Names the servers where that is short."""
    if len(names.directory.aliases) > FEW:
        return "`runtime.discovered_servers()` has the names of all servers"
    return f"The servers are {_servers(names)}"


def _why_not(alias: str, names: Names) -> str:
    """Says why a server that is known to the host can not be used, "" for any other name."""
    try:
        asked = names.directory.rpc.request("describe_server", {"server": alias}, "describe_server")
        found = asked.result(HOST_SECONDS)
        name, reason = found["name"], found.get("reason")
    except Exception:  # there is none, or the host does not say
        return ""
    return f"the server {name!r} {reason}" if reason and found["alias"] == alias else ""


_manual = frozenset({"docs", "documentation", "guide", "help", "info", "manual", "usage"})


def functions(names: Names) -> list[str]:
    """Returns the names of what `runtime` has, but for second forms."""
    return [each for each in names.runtime.__all__ if each.islower() and not each.endswith("_sync")]


def near_function(name: str, names: Names, likeness: float) -> str:
    """Advises about a name that may stand for a function of `runtime`."""
    meant = [function for pattern, function in _meant if pattern.search(name) and "tool" in name]
    near = meant or close_matches(name.removesuffix("_sync"), functions(names), 1, likeness)
    if name in _manual:
        near = ["capability_summary"]
    if not near:
        return ""
    return f"did you mean `{spelled(near[0], names)}`?"


def spelled(name: str, names: Names) -> str:
    """Writes a function of `runtime` as code reaches it, with its parameters."""
    where = "" if names.namespace.get(name) is names.shared.get(name, names) else "runtime."
    return f"{where}{name}{signature(getattr(names.runtime, name))}"


def signature(function: Any) -> str:
    """Renders the parameters of a function as code that calls it needs them, without types."""
    code = function.__code__
    count, defaults = code.co_argcount, function.__defaults__ or ()
    shown = list(code.co_varnames[: count + code.co_kwonlyargcount])
    values = dict(zip(shown[count - len(defaults) : count], defaults), **(function.__kwdefaults__ or {}))
    return f"({', '.join(f'{each}={values[each]!r}' if each in values else each for each in shown)})"
