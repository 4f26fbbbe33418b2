"""Puts back, before each cell, what an earlier one broke and every next one needs."""

from __future__ import annotations

import builtins
import sys
from _operator import is_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# Programs do replace these on purpose, and mean it to last.
KEPT = frozenset({"input", "breakpoint", "__import__", "_", "__debug__"})


class Pristine:
    """A picture of the interpreter before any user code ran."""

    def __init__(self) -> None:
        self.builtins = dict(vars(builtins))
        self.values = list(self.builtins.values())
        self.meta_path = list(sys.meta_path)
        self.path = list(sys.path)
        self.path_hooks = list(sys.path_hooks)

    def restore(self, main: ModuleType) -> None:
        """Restores built-ins, the import system's lists where they are empty, and `__main__` itself."""
        current = vars(builtins)
        # All at once, which is quicker by far and mostly finds nothing to do. A thread of the user's may add some, hence
        # the list; and `==` could run code of the user's.
        if len(current) != len(self.values) or not all(map(is_, list(current.values()), self.values)):
            for name, value in self.builtins.items():
                if current.get(name, current) is not value and (name not in KEPT or name not in current):
                    current[name] = value
        for name in ("meta_path", "path", "path_hooks"):
            found = getattr(sys, name, None)
            if not found:
                setattr(sys, name, list(getattr(self, name)))
        namespace: dict[str, Any] = vars(main)
        namespace["__builtins__"] = builtins
        namespace["__name__"] = "__main__"
        sys.modules["__main__"] = main
