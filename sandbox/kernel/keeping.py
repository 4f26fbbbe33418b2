"""The functions that keep memories and tools, as user code finds them; what they do is loaded on their first use."""

from __future__ import annotations

import sys

from .late import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .rpc import Rpc

_frame = sys._getframe


class Kept:
    """What the functions share, made when one of them needs it."""

    def __init__(self, rpc: Rpc) -> None:
        self.rpc = rpc
        self.made: dict[str, Any] = {}

    @property
    def memories(self) -> Any:
        """The memories of the user."""
        # Threads that come here at once must get the same.
        return self.made.get("memories") or self.made.setdefault("memories", load(".memory").Memories(self.rpc))


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
