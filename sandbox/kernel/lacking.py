"""What to do about what a sandbox lacks on purpose: the network, the user's files, room for processes, programs."""

from __future__ import annotations

import errno
import os
import re

from .foreign import INSTALLER
from .names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NO_NETWORK = "the sandbox has no network; what is outside is reached through the tools of MCP servers"
NOBODY = f"nothing listens there: localhost is the sandbox itself; {NO_NETWORK}"
TOO_MANY = (
    "the sandbox has room for no more processes and threads (MCP_BRIDGE_PIDS): wait for those that run, and use fewer "
    "at once, such as ThreadPoolExecutor(16); os.kill(-1, 9) ends processes that are left behind, os._exit(1) "
    "threads, and with them this Python"
)
NO_USER_FILES = "the user's files are not in the sandbox: reach them through an MCP server that has them"
NO_FILES_OF_PROGRAM = "a program has no files of yours but those that `sandpy run --in` and `--mount` name"
PLACES = "/workspace, /tmp and /projects"

_users_path = re.compile(r"/(home|Users|root|mnt|media|Volumes)/|~|[A-Za-z]:[\\/]")
_places = tuple(f"{place}/" for place in PLACES.replace(" and ", ", ").split(", "))
_commands = frozenset(
    {"pip", "pip3", "uv", "conda", "apt", "apt-get", "apk", "brew", "curl", "wget", "git", "npm", "npx"}
)
_forking = frozenset({"_execute_child", "_launch"})
_unreachable = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN})


def no_network(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about an address that is not reached, also where a library's error hides that."""
    seen: list[Any] = []
    while error is not None and error not in seen and len(seen) < 8:
        seen.append(error)
        if type(error).__name__ == "gaierror" or getattr(error, "errno", None) in _unreachable:
            return NO_NETWORK
        if getattr(error, "errno", None) == errno.ECONNREFUSED:
            return NOBODY
        reason = getattr(error, "reason", None)
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error.__context__
    return ""


def missing_file(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about a path that is not there, and about a program."""
    name = error.filename
    if not isinstance(name, str):
        return ""
    if name in _commands:
        return f"the sandbox has no {name}, and no network"
    if "/" not in name and _is_forking(error):
        return ""  # a program, which the error names
    no_files = NO_FILES_OF_PROGRAM if names.is_program else NO_USER_FILES
    if _users_path.match(name):
        return f"{no_files}; only {PLACES} can be written"
    if name.startswith("projects/"):
        return f"did you mean {'/' + name!r}? A path without / begins in {os.getcwd()}"
    folder = os.path.dirname(os.path.abspath(name))
    if folder.startswith(_places) and not os.path.isdir(folder):
        return f"there is no folder {folder!r}: os.makedirs({folder!r}) makes it; {no_files}"
    return no_files if names.is_program else ""


def read_only(error: Any, found: re.Match[str], names: Names) -> str:
    """Says what can be written."""
    return f"only {PLACES} can be written" if error.errno == errno.EROFS else ""


def no_room(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about a process that could not be forked; other calls fail with the same number."""
    return TOO_MANY if error.errno == errno.EAGAIN and _is_forking(error) else ""


def _is_forking(error: Any) -> bool:
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    return entry is not None and entry.tb_frame.f_code.co_name in _forking


def failed_command(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about an installer that failed."""
    command = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
    return "nothing can be installed: the sandbox has no network" if INSTALLER.search(command) else ""
