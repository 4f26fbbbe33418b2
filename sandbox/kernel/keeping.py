"""The functions that keep memories and tools, as user code finds them; what they do is loaded on their first use."""

from __future__ import annotations

import sys

from .late import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .names import Names

ASK_SECONDS = 5.0
SHOWN = 10

_frame = sys._getframe


class Kept:
    """What the functions share, made when one of them needs it."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.made: dict[str, Any] = {}
        self.state = ""
        self.changed = self.told = False

    @property
    def memories(self) -> Any:
        """The memories of the user."""
        # Threads that come here at once must get the same.
        found = self.made.get("memories")
        return found or self.made.setdefault("memories", load(".memory").Memories(self.names.directory.rpc))

    @property
    def saved(self) -> Any:
        """The file of saved tools as this session knows it."""
        return self.made.get("saved") or self.made.setdefault("saved", load(".saved").Saved(self.names))

    @property
    def tools(self) -> Any:
        """The saved tools of the user."""
        found = self.made.get("tools")
        return found or self.made.setdefault("tools", load(".saving").Tools(self.names, self.memories, self.saved))

    def notice(self, state: str | None) -> None:
        """Takes what the host says of the user's files, "" for none: None for what it said last. To a process before
        this one, maybe, which died with the frame."""
        if state is not None:
            state = state.rpartition("/")[2]  # the part of the saved tools
        if state is None:
            self.changed = self.changed or not self.told
        elif state != self.state:
            self.state, self.changed = state, True
        self.told = True

    def before(self, source: str) -> None:
        """Has the saved tools ready for a cell that is about to run: read anew where the user's files changed, and
        there where the cell names them."""
        if self.changed:
            try:
                load(".twofold").run_plain(self.tools.newest(False), ASK_SECONDS)
            except (RuntimeError, TimeoutError) as error:
                self.saved.notes.append(f"the saved tools could not be read: {error}")
            except ValueError:  # no Python, which is noted already
                pass
            self.changed = False
        if "saved" in self.made:
            self.saved.mentioned(source)

    def share(self, injected: dict[str, Any]) -> None:
        """Lets saved tools see the names that every session has."""
        if "saved" in self.made:
            self.saved.share(injected)

    def hint(self) -> str:
        """Names the saved tools, as far as they are known without asking or running anything, "" for none."""
        tools = list(self.saved.file.tools()) if "saved" in self.made and self.saved.fault is None else []
        more = f" and {len(tools) - SHOWN} more" if len(tools) > SHOWN else ""
        return f"saved tools: {', '.join(tools[:SHOWN])}{more}; runtime.list_saved_tools()" if tools else ""

    def after(self) -> str:
        """Words what there is to say of the saved tools at the end of a cell, "" for nothing."""
        return self.saved.report() if "saved" in self.made else ""


def memory_functions(kept: Kept) -> list[Any]:
    """Makes those about memories. Each can also be awaited, and then leaves the event loop free."""

    def save_memory(key: str, value: Any, metadata: dict[str, Any] | None = None) -> Any:
        """Keeps a JSON value under a key, beyond this session; metadata=None leaves that as it is."""
        twofold, memories = load(".twofold"), kept.memories
        awaited = twofold.is_awaited(_frame(1))
        return twofold.run(memories.save(key, value, metadata, awaited), awaited)

    def load_memory(key: str, default: Any = None) -> Any:
        """Returns the value that is kept under a key, or the default."""
        twofold, memories = load(".twofold"), kept.memories
        return twofold.run(memories.load(key, default), twofold.is_awaited(_frame(1)))

    def update_memory(key: str, fn: Callable[[Any], Any], *, default: Any = None) -> Any:
        """Replaces a value by what `fn` returns for it (for the default where there is none), and returns that. Nobody
        else changes it meanwhile; where `fn` raises, nothing changes. With an async `fn`: to be awaited."""
        twofold, memories = load(".twofold"), kept.memories
        awaited = twofold.is_awaited(_frame(1))
        return twofold.run(memories.update(key, fn, default, awaited), awaited)

    def list_memories() -> list[dict[str, Any]]:
        """What is kept, as dicts with key, metadata, created_at, updated_at (seconds since the epoch) and bytes."""
        twofold, memories = load(".twofold"), kept.memories
        return twofold.run(memories.list(), twofold.is_awaited(_frame(1)))

    def delete_memory(key: str) -> bool:
        """Removes what is kept under a key; tells whether there was anything."""
        twofold, memories = load(".twofold"), kept.memories
        awaited = twofold.is_awaited(_frame(1))
        return twofold.run(memories.delete(key, awaited), awaited)

    def memory_exists(key: str) -> bool:
        """Tells whether anything is kept under a key."""
        twofold, memories = load(".twofold"), kept.memories
        return twofold.run(memories.exists(key), twofold.is_awaited(_frame(1)))

    def get_memory_info(key: str) -> dict[str, Any] | None:
        """What is kept under a key, as a dict: as in `list_memories`, and its value. None where there is nothing."""
        twofold, memories = load(".twofold"), kept.memories
        return twofold.run(memories.info(key), twofold.is_awaited(_frame(1)))

    return [
        save_memory,
        load_memory,
        update_memory,
        list_memories,
        delete_memory,
        memory_exists,
        get_memory_info,
    ]


def tool_functions(kept: Kept) -> tuple[Any, list[Any]]:
    """Makes those about saved tools: `save_tool`, which is global too, and the others."""

    def save_tool(function: Any, *more: Any) -> Any:
        """Keeps a function of the session, with the imports, helpers and constants that it needs: every later session
        has it under its name. Saving it again replaces it. Also `@save_tool` before `def`."""
        twofold, frame, tools = load(".twofold"), _frame(1), kept.tools
        awaited = twofold.is_awaited(frame)
        return twofold.run(tools.save(function, more, frame.f_lineno, awaited), awaited)

    def list_saved_tools() -> list[dict[str, Any]]:
        """The saved tools, as documentation entries."""
        twofold, tools = load(".twofold"), kept.tools
        awaited = twofold.is_awaited(_frame(1))
        return twofold.run(tools.list(awaited), awaited)

    def show_saved_tool(name: str) -> str:
        """The source of a saved tool."""
        twofold, tools = load(".twofold"), kept.tools
        awaited = twofold.is_awaited(_frame(1))
        return twofold.run(tools.show(name, awaited), awaited)

    def delete_saved_tool(name: str) -> str:
        """Deletes a saved tool; imports, helpers and constants that it used stay in the file."""
        twofold, tools = load(".twofold"), kept.tools
        awaited = twofold.is_awaited(_frame(1))
        return twofold.run(tools.delete(name, awaited), awaited)

    return save_tool, [list_saved_tools, show_saved_tool, delete_saved_tool]
