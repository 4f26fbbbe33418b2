"""What to do about a tool that is not listed: wait for the list, or say what to write instead."""

from __future__ import annotations

from .codec import decode, encode
from .directory import Directory, UnknownToolError, meant, unknown
from .results import MCPError, ToolResult
from .rpc import PendingCall
from .tools import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

ELSEWHERE_SECONDS = 2.0
ELSEWHERE = 5
MAX_QUERY = 200
MAX_NAME = 256
MAX_SIGNATURE = 1000
_SDK = {
    "call_tool": "await runtime.call_tool({server!r}, 'tool', {{'argument': value}})",
    "list_tools": "await runtime.list_tools({server!r})",
}


def no_tool(directory: Directory, name: str, wanted: str) -> UnknownToolError:
    """Words that a server has no such tool or that it may not be used, and what to write instead."""
    refusal = _refusal(directory, name, wanted)
    if refusal is not None:
        return UnknownToolError(refusal.message, name, wanted, refusal.kind)
    if wanted in _SDK:
        message = f"write: {_SDK[wanted].format(server=name)}"
    else:
        listing = directory.listings.get(name)
        known = list(listing.aliases) if listing else []
        message = unknown("tool", wanted, known)
        near = listing.find(meant(wanted, known)) if listing else None
        if near is not None and len(near.signature) <= MAX_SIGNATURE:
            message += f". The nearest is: {near.signature}"
        key = name, wanted
        if key not in directory.others:
            directory.others[key] = _elsewhere(directory, name, wanted)
        others = directory.others[key]
        if others:
            message = f"it is a tool of another server: {' or '.join(others)}"
    return UnknownToolError(f"server {name!r} has no tool {wanted!r}: {message}", name, wanted, "unknown")


def _refusal(directory: Directory, name: str, wanted: str) -> Optional[MCPError]:
    """Returns why a tool is not listed that the server has: a rule of the user's."""
    try:
        params = {"server": name, "tool": wanted[:MAX_NAME]}
        directory.rpc.request("check_tool", params, f"{name}.{wanted}").result(ELSEWHERE_SECONDS)
    except MCPError as error:
        return error if error.kind == "denied" else None
    return None


def _elsewhere(directory: Directory, name: str, wanted: str) -> list[str]:
    """Returns how to call a tool of this name on other servers, none of which is started for it."""
    try:
        query = {"query": wanted[:MAX_QUERY], "limit": ELSEWHERE}
        found = directory.rpc.request("find_servers", query, "runtime.find_servers").result(ELSEWHERE_SECONDS)
        known = [each["name"] for each in found["servers"] if each["tools"] is not None]
        for other in known:
            if other in directory.servers and other not in directory.listings:
                directory.fetch(other).call.result(ELSEWHERE_SECONDS)
    except MCPError:
        pass
    tools = ((each, listing.find(wanted)) for each, listing in list(directory.listings.items()) if each != name)
    calls = (
        f"await mcp_{directory.alias(each)}.{spec.signature}" for each, spec in tools if spec and directory.alias(each)
    )
    return list(calls)[:3]


def call(directory: Directory, tool: Tool, positional: tuple[Any, ...], named: dict[str, Any]) -> PendingCall:
    """Starts a call of a tool that was not listed when it was looked up."""
    name, label = tool._sandpy_server._sandpy_name, tool.__qualname__
    failure, tool._sandpy_failure = tool._sandpy_failure, None
    if failure is None and name not in directory.listings:
        if not directory.may_wait(name):
            return _call_later(directory, tool, positional, named)
        try:
            directory.listing(name)
        except MCPError as error:
            failure = error
    if failure is not None:
        number, call = directory.rpc.open(label)
        directory.rpc.unawaited.start(number, label)
        directory.rpc.settle(number, None, _of_tool(failure, name, tool.__name__))
        return call
    tool._sandpy_spec = directory.find(name, tool.__name__, tool._sandpy_by_alias)
    return directory.send(name, *tool._sandpy_fit(positional, named), label)


def _call_later(directory: Directory, tool: Tool, positional: tuple[Any, ...], named: dict[str, Any]) -> PendingCall:
    """Starts a call whose arguments are looked at once the tools of its server are known."""
    name, label = tool._sandpy_server._sandpy_name, tool.__qualname__
    positional, named = _copied(positional, named)
    number, call = directory.rpc.open(label, ToolResult)
    fetch = directory.fetch(name)

    def go_on(may_wait: bool) -> None:
        try:
            fetch.call.result()
            tool._sandpy_spec = directory.find(name, tool.__name__, tool._sandpy_by_alias, may_wait)
            raw, arguments, timeout = tool._sandpy_fit(positional, named, may_wait)
            directory.count(name)
            params = {"server": name, "tool": raw, "arguments": arguments, "timeout": timeout}
            directory.rpc.send_as(number, label, "call_tool", params)
        except BaseException as error:
            directory.rpc.calls.pop(number, None)
            call.settle(None, _of_tool(error, name, tool.__name__))

    directory.rpc.unawaited.start(number, label)
    fetch.then(go_on)
    return call


def _of_tool(error: BaseException, server: str, tool: str) -> BaseException:
    """Returns the failure of a listing as that of the call that needed it."""
    if isinstance(error, MCPError) and error.tool is None:
        return type(error)(error.message, error.server or server, tool, error.kind)
    return error


def _copied(positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies lists and dicts, which the caller may change before they are sent."""

    def copy(value: Any) -> Any:
        if type(value) not in (list, dict):
            return value
        try:
            return decode(encode(value))
        except (TypeError, ValueError, RecursionError):  # said when it is sent
            return value

    return tuple(map(copy, positional)), {name: copy(value) for name, value in named.items()}
