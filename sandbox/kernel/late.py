"""Modules that cost more to import than all else at the start: they come when something needs them, or in idle time."""

from __future__ import annotations

import builtins
import contextlib
import gc
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# They, and what they import in their turn: no file of the user's may take the place of one.
_NEEDED = (
    "_asyncio _colorize _contextvars _hashlib _heapq _interpreters _locale _opcode _opcode_metadata "
    "_posixsubprocess _queue _socket _ssl _string _tokenize _typing _weakrefset annotationlib ast asyncio "
    "base64 binascii concurrent contextvars difflib dis hashlib heapq inspect locale logging opcode queue "
    "socket ssl string struct subprocess threading token tokenize traceback typing weakref"
)
NEEDED = frozenset(_NEEDED.split())

_find_spec = PathFinder.find_spec
_path = list(sys.path)  # before user code adds to it
_import = builtins.__import__
_getrecursionlimit = sys.getrecursionlimit
_setrecursionlimit = sys.setrecursionlimit

RECURSION = 1000  # the interpreter's own limit


class Watch:
    """Tells once a module was imported, whoever does it, before its importer goes on."""

    def __init__(self, hooks: dict[str, Callable[[Any], None]]) -> None:
        self.hooks = hooks
        for name in list(hooks):
            if name in sys.modules:
                hooks.pop(name)(sys.modules[name])
        aio.modules = dict(sys.modules) if hooks else {}
        sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Answers the import system."""
        if name not in NEEDED:
            return None
        spec = _find_spec(name, _path)
        run = getattr(getattr(spec, "loader", None), "exec_module", None)
        if name in self.hooks and run is not None:

            def exec_module(module: Any) -> None:
                run(module)
                hook = self.hooks.pop(name, None)
                if hook is not None:
                    hook(module)

            spec.loader.exec_module = exec_module  # type: ignore[union-attr]
        return spec


@contextlib.contextmanager
def usual(modules: dict[str, Any]) -> Iterator[None]:
    """Lets the standard library be imported whatever user code did to the import system; leaves that as it was."""
    found, limit = getattr(builtins, "__import__", _import), _getrecursionlimit()
    if "sys" not in sys.modules:  # all were removed, and new ones would not be complete
        for name, module in modules.items():
            sys.modules.setdefault(name, module)
    builtins.__import__ = _import
    _setrecursionlimit(max(limit, RECURSION))
    try:
        yield
    finally:
        builtins.__import__ = found
        _setrecursionlimit(limit)


class Asyncio:
    """The functions of asyncio, as they were when it was imported: user code may replace them."""

    def __init__(self) -> None:
        self.imported = False
        self.modules: dict[str, Any] = {}

    def take(self, module: Any) -> None:
        """Keeps what we use."""
        self.CancelledError = module.CancelledError
        self.current_task = module.current_task
        self.get_running_loop = module.get_running_loop
        self.running_loop = module._get_running_loop
        self.new_event_loop = module.new_event_loop
        self.set_event_loop = module.set_event_loop
        self.imported = True

    def load(self) -> Asyncio:
        """Imports it unless that is done. Raises what user code breaks the import with."""
        if not self.imported:
            with usual(self.modules):
                import asyncio
            if not self.imported:  # user code removed the watch
                self.take(asyncio)
        return self


aio = Asyncio()


def close_matches(word: str, known: list[str], count: int, cutoff: float) -> list[str]:
    """Returns those of the known words that are most like a word; none where user code broke the search."""
    try:
        from difflib import get_close_matches

        return get_close_matches(word, known, count, cutoff)
    except Exception:
        return []


def settle() -> None:
    """Lets forked kernels share the memory of all that is there now."""
    gc.collect()
    gc.freeze()


def warm_up() -> None:
    """Imports in the supervisor, for all later kernels."""
    with contextlib.suppress(Exception):  # they can do without
        aio.load()
    settle()
