"""What to do about errors that have one likely cause in this sandbox: a line after the traceback."""

from __future__ import annotations

import builtins
import re
import sys

from .foreign import foreign_character, foreign_line
from .lacking import TOO_MANY, failed_command, missing_file, no_network, no_room, read_only
from .late import close_matches, load
from .meant import SHOWN, all_servers, flat_name, functions, near_function, server_name, spelled
from .names import Names
from .render import safe_str
from .unlisted import no_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Union

    Advice = Callable[[Any, re.Match[str], Names], str]

AWAIT = "this was not awaited: write `await` before the call, or `await asyncio.gather(...)` around several"
AWAIT_IN_FUNCTION = (
    "this was not awaited: write `async def` and `await` before the call, and `await` the function where it is called; "
    "in a plain function, `.result()` after the call of a tool waits for it"
)
NO_SDK = "this is no SDK: the servers are there as `mcp_<alias>`, and connected when used"
TEXT = (
    "this is text: the result of a tool has its parsed JSON in `.data`, and "
    "`runtime.discovered_servers(detailed=True)` has dicts"
)
RESULT = (
    "the result of a tool has `.text`, `.data` (structured content or parsed JSON) and `.images`; it is a dict itself"
)
NOT_JSON = "the text of this result is no JSON, so its `.data` is None: take `.text` as it is"
MEMORY = "values are kept with `save_memory(key, value)`, `load_memory(key)`, `update_memory(key, fn)`"

_sdk = frozenset({"ClientSession", "Client", "StdioServerParameters", "stdio_client", "FastMCP", "Server"})
_sdk_modules = frozenset({"client", "server", "shared", "types"})
_lazy = r"(PendingCall|_GatheringFuture|coroutine|_asyncio\.Future|_asyncio\.Task)\b"
_common = (
    "asyncio base64 collections csv datetime functools hashlib itertools json math os pathlib random re statistics "
    "subprocess sys textwrap time urllib uuid"
)
_modules = frozenset(_common.split())
_memory = frozenset({"memory", "memories", "Memory", "store", "storage"})
_tool_error = re.compile(r"(Mcp|MCP|Tool)([A-Z]\w*)?(Error|Exception)$")
_literals = {"true": "True", "false": "False", "null": "None"}
_builtins = vars(builtins)


def advise(error: BaseException, names: Names) -> str:
    """Returns one line, or "" where the cause is not certain."""
    kinds = [cls.__name__ for cls in type(error).__mro__]
    message = safe_str(error)
    for kind, pattern, advice in RULES:
        found = re.search(pattern, message) if kind in kinds else None
        if found:
            text = advice if isinstance(advice, str) else advice(error, found, names)
            if text:
                return text
    return ""


def _user_frame(error: BaseException, names: Names) -> tuple[str, str]:
    """Returns the function of the user's that failed, and the line where; both "" where none is known."""
    entry, last = error.__traceback__, None
    while entry is not None:
        if entry.tb_frame.f_globals is names.namespace:
            last = entry
        entry = entry.tb_next
    if last is None:
        return "", ""
    code = last.tb_frame.f_code
    return code.co_name, load("linecache").getline(code.co_filename, last.tb_lineno)


def _not_awaited(error: Any, found: re.Match[str], names: Names) -> str:
    return AWAIT if _user_frame(error, names)[0] in ("", "<module>") else AWAIT_IN_FUNCTION


def _no_data(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about text that was taken for JSON."""
    return NOT_JSON if re.search(r"\.data\b", _user_frame(error, names)[1]) else ""


def _not_json(error: Any, found: re.Match[str], names: Names) -> str:
    return NOT_JSON if re.search(r"loads\(.*\.text\b", _user_frame(error, names)[1]) else ""


def _called_property(error: Any, found: re.Match[str], names: Names) -> str:
    called = re.search(r"\.(text|data|images|content)\(", _user_frame(error, names)[1])
    return f"`.{called[1]}` of a result is a value: leave out the parentheses" if called else ""


def _overwritten(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about a variable of the user's in the place of something that the code goes on to use."""
    line, namespace = _user_frame(error, names)[1], names.namespace
    kind, attribute = found["kind"].rpartition(".")[2], found.groupdict().get("attribute")
    use = r"\(" if attribute is None else rf"\.{attribute}\b"
    for name in re.findall(rf"(?<![\w.])(\w+){use}", line):
        ours = names.injected.get(name) if name in names.injected else _builtins.get(name)
        if ours is None or name not in namespace or namespace[name] is ours:
            continue
        if type(namespace[name]).__name__ != kind:
            continue  # it is another that has failed
        if name in names.injected:
            return f"`{name}` is a variable of yours here: `del {name}` brings ours back in the next call"
        if attribute is None:
            return f"`{name}` is a variable of yours here: `del {name}` brings Python's own back"
    return ""


def _missing_name(error: Any, found: re.Match[str], names: Names) -> str:
    name = found[1]
    if name in _literals:
        return f"JSON's {name} is {_literals[name]} in Python; json.loads parses JSON text"
    if hasattr(names.runtime, name):
        return f"it is `runtime.{name}`"
    if _tool_error.match(name):
        return "a tool that fails raises `MCPError`"
    if name in _memory:
        server = "; the server is `mcp_memory`" if name in names.directory.aliases else ""
        return f"{MEMORY}{server}"
    if sys.version_info < (3, 12) and name in _modules:  # later ones say so themselves
        return f"add `import {name}`"
    line = _user_frame(error, names)[1]
    return (
        flat_name(name, line, names)
        or server_name(name, names)
        or _tool_name(name, names)
        or near_function(name, names, 0.75)
        or _unknown_awaited(name, line, names)
    )


def _unknown_awaited(name: str, line: str, names: Names) -> str:
    """Advises about what was awaited as tools are, where nobody ever listed one of that name."""
    if not re.search(rf"\bawait\s+{name}\(", line):
        return ""
    if name in getattr(sys.modules.get("asyncio"), "__all__", ()):
        return f"add `from asyncio import {name}`"
    if not names.directory.aliases:
        return ""
    words = name.replace("_", " ").strip()
    return (
        "if a tool is meant: it is called as `await mcp_server.tool(...)`, and "
        f"`await runtime.search_tool_docs({words!r})` finds it"
    )


def _tool_name(name: str, names: Names) -> str:
    """Advises about a name that is one of a tool of a server whose tools are known."""
    directory = names.directory
    found = ((server, listing.aliases.get(name)) for server, listing in list(directory.listings.items()))
    calls = [f"`await mcp_{directory.alias(server)}.{tool.signature}`" for server, tool in found if tool]
    return f"it is a tool: {' or '.join(calls[:3])}" if calls else ""


def _missing_module(error: Any, found: re.Match[str], names: Names) -> str:
    name = error.name or ""
    if name.partition(".")[0] == "IPython":
        return "it is not needed: `display(value)` is there without import, and shows images as images"
    if name.startswith("mcp.") and name.split(".")[1] in _sdk_modules:
        return f"{NO_SDK}; a tool that fails raises `MCPError`"
    if name.startswith("mcp."):
        return server_name("mcp_" + name.rpartition(".")[2], names)
    if name == "user_tools":
        return "no tool is saved yet: save_tool(function) keeps a function of the session"
    if not name or "." in name:
        return ""
    if name == "nest_asyncio":
        return "it is not needed: write `await` at top level"
    return server_name(name, names) or (
        f"{name} is not in the sandbox and cannot be installed, since there is no network: "
        "use the standard library or a tool of an MCP server, "
        "or have the user set MCP_BRIDGE_IMAGE to an image that has it"
    )


def _missing_function(error: Any, found: re.Match[str], names: Names) -> str:
    name, runtime = found["name"], names.runtime
    if name in _sdk:
        return NO_SDK
    if found["module"] == "mcp" and hasattr(runtime, name):
        return f"it is `runtime.{name}`"
    near = close_matches(name, list(names.directory.aliases), 1, 0.6) if found["module"] == "mcp" else []
    if near:
        return f"did you mean `mcp_{near[0]}`? {all_servers(names)}"
    return server_name(name, names) or near_function(name, names, 0.5) or f"runtime has {', '.join(functions(names))}"


def _wrong_call(error: Any, found: re.Match[str], names: Names) -> str:
    """Says how a function of `runtime` is called."""
    function = getattr(names.runtime, found[1], None) if found[1] in names.runtime.__all__ else None
    return f"it is {spelled(found[1], names)}" if function else ""


def _missing_tool(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about a tool that could not be imported: Python says nothing of what the server said."""
    directory = names.directory
    server = directory.resolve(found["server"])
    return str(no_tool(directory, server, found["name"])) if server in directory.listings else ""


def _missing_server(error: Any, found: re.Match[str], names: Names) -> str:
    known = ", ".join(repr(name) for name in list(names.directory.servers)[:SHOWN])
    return f"name a server, one of {known}" if known else "no MCP server is configured"


def _usage(error: Any, found: re.Match[str], names: Names) -> str:
    server, tool = error.server, error.tool
    if not server or not tool:
        return ""
    listing = names.directory.listings.get(server)
    known = listing.find(tool, False) if listing else None
    return f"it is {known.signature}" if known else f"see `await runtime.query_tool_docs({server!r}, {tool!r})`"


# The name of an exception's class, a pattern in its message, what to do about it. The first that says something wins.
RULES: tuple[tuple[str, str, Union[str, Advice]], ...] = (
    ("ModuleNotFoundError", "", _missing_module),
    ("ImportError", r"^cannot import name '(?P<name>\w+)' from '(?P<module>mcp(\.runtime)?)'", _missing_function),
    (
        "ImportError",
        r"^cannot import name '(?P<name>\w+)' from 'mcp(_|\.servers\.|\.)(?P<server>\w+)'",
        _missing_tool,
    ),
    ("AttributeError", r"^module '(?P<module>mcp(\.runtime)?)' has no attribute '(?P<name>\w+)'", _missing_function),
    ("NameError", r"^name '(\w+)' is not defined", _missing_name),
    ("TypeError", rf"(['\"]|not |got |type ){_lazy}(?! was)", _not_awaited),
    ("AttributeError", rf"^'{_lazy}", _not_awaited),
    ("TypeError", "^'NoneType' object is not (subscriptable|iterable)", _no_data),
    ("AttributeError", "^'NoneType' object has no attribute", _no_data),
    ("JSONDecodeError", "", _not_json),
    ("TypeError", "^'(str|NoneType|dict|list)' object is not callable", _called_property),
    ("TypeError", "^'(?P<kind>.+)' object is not callable", _overwritten),
    (
        "TypeError",
        "^unhashable type: 'slice'",
        "a dict cannot be cut; the result of a tool is one: cut its `.text`, or a list in its `.data`",
    ),
    (
        "TypeError",
        r"^'([\w.]+\.)?Server' object .*context manager",
        "a server is connected when used: `await mcp_server.tool(...)`, without `with`",
    ),
    ("TypeError", r"\bToolResult can't be used in 'await'", "it is the result already: leave out `await`"),
    ("TypeError", r"^'ToolResult' object can't be awaited", "it is the result already: leave out `await`"),
    ("TypeError", r"(['\"]|not )ToolResult\b", RESULT),
    ("TypeError", r"^'([\w.]+\.)?Server' object is not callable", "call one of its tools, as in `await mcp_server.tool(...)`"),
    ("AttributeError", "^'ToolResult' object", RESULT),
    (
        "AttributeError",
        "^'AwaitableList' object",
        "it is a list of names; `discovered_servers(detailed=True)` has dicts",
    ),
    ("AttributeError", r"^'(?P<kind>.+)' object has no attribute '(?P<attribute>\w+)'", _overwritten),
    ("TypeError", r"^(list_tools|query_tool_docs)(_sync)?\(\) missing .* 'server'", _missing_server),
    ("TypeError", r"^(?:[\w.<>]+\.)?(\w+)\(\) (?:missing|got|takes)\b", _wrong_call),
    ("TypeError", r"^a tool is given by its name", "it is runtime.call_tool(server, tool, arguments)"),
    ("TypeError", r"^string indices must be integers", TEXT),
    ("MCPError", r"(?i)-32602|invalid arguments|validation error", _usage),
    ("RuntimeError", r"^asyncio\.run\(\) cannot be called from a running", "write `await` at top level instead"),
    ("RuntimeError", r"^(Cannot run the|This) event loop (while|is already)", "write `await` at top level instead"),
    (
        "RuntimeError",
        "^no running event loop",
        "code without top-level `await` runs outside the loop: add `await asyncio.sleep(0)`",
    ),
    ("FileNotFoundError", "", missing_file),
    ("OSError", "", no_network),
    ("BlockingIOError", "", no_room),
    ("RuntimeError", "^can't start new thread", TOO_MANY),
    ("OSError", "", read_only),
    ("CalledProcessError", "", failed_command),
    (
        "SyntaxError",
        r"^'await' outside async function",
        "make the function `async def`, and `await` where it is called",
    ),
    ("SyntaxError", r"^'return' outside function", "put the value itself on the last line: it is shown"),
    ("SyntaxError", r"^invalid (?:non-printable )?character\b.*U\+([0-9A-F]+)", foreign_character),
    ("SyntaxError", "", foreign_line),
)
