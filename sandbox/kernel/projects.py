"""The files of /projects, of which the host keeps a copy: what a cell pays for where there are none."""

from __future__ import annotations

import posix

from .late import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .filelist import FileList
    from .rpc import Rpc

_listdir = posix.listdir

CELL_SECONDS = 15.0  # less than a call has: one that runs out of time would lose its variables
SHORT_SECONDS = 1.0  # one that was stopped has two to end in
SYNC_SECONDS = 2.0


class Projects:
    """Has the folder brought in line with the host before and after each cell."""

    def __init__(self, rpc: Rpc, folder: str | None) -> None:
        self.rpc = rpc
        self.folder = folder
        self.state: str | None = ""  # what the host said last; None: to a process before this one
        self.changed = False
        self.mirror: Any = None

    def notice(self, state: str | None) -> None:
        """Takes the state of an `execute` frame: None for that of the frame before."""
        if state != self.state and (state is not None or self.mirror is None):
            self.changed = self.changed or bool(state) or self.mirror is not None or state is None
            self.state = state or ""

    def before(self) -> str:
        """Fetches what changed on the host; words what could not be fetched."""
        if self.folder is None or not self.changed:
            return ""
        self.changed = False
        try:
            return self.open().fetch(CELL_SECONDS)
        except Exception as error:  # the code may need no files, and the next cell tries again
            self.changed = True
            return f"/projects could not be brought up to date: {error}\n"

    def after(self, is_stopped: bool) -> str:
        """Sends what changed here; words what is not kept."""
        return self.send(SHORT_SECONDS if is_stopped else CELL_SECONDS)

    def sync(self) -> None:
        """Sends what background code wrote; nobody is there to hear what is not kept."""
        self.send(SYNC_SECONDS)

    def send(self, seconds: float) -> str:
        """Sends what changed here within so many seconds; the rest is left for the next time."""
        if self.folder is None:
            return ""
        try:
            if self.mirror is None and not _listdir(self.folder):
                return ""
            mirror = self.open()
            notes = mirror.send(seconds)
            # The host may be back at the state that it named last, and then names none.
            self.changed = self.changed or mirror.has_sent
            return notes
        except OSError as error:
            return f"not kept: {self.folder}: {error.strerror}\n" if self.mirror is not None else ""
        except Exception as error:
            return f"not kept: {self.folder}: {type(error).__name__}: {error}\n"

    def open(self) -> Any:
        """Returns what does the work."""
        if self.mirror is None:
            self.mirror = load(".mirror").Mirror(self.rpc, self.folder)
        return self.mirror


def project_functions(rpc: Rpc) -> list[Any]:
    """Makes the function about the files."""

    def list_project_files() -> FileList:
        """The files of /projects that are kept, as dicts with path, bytes and modified (seconds since the epoch); what a
        call writes is kept when it ends."""
        files = rpc.request("project_list", {}, "runtime.list_project_files()").result()["files"]
        found: FileList = load(".filelist").listed(files)
        return found

    return [list_project_files]
