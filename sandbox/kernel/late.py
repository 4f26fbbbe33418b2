"""Modules that cost more to import than all else at the start: they come when something needs them, or in idle time."""

from __future__ import annotations

import builtins
import gc
import sys
from _frozen_importlib_external import PathFinder

from .suppress import Suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Callable

# They, and what they import in their turn: no file of the user's may take the place of one.
_NEEDED = (
    "__future__ _asyncio _colorize _contextvars _hashlib _heapq _interpreters _json _locale _opcode "
    "_opcode_metadata _posixsubprocess _py_warnings _queue _socket _sre _ssl _string _struct _tokenize _typing "
    "_weakrefset annotationlib array ast asyncio base64 binascii codeop collections concurrent contextlib "
    "contextvars copy copyreg dataclasses difflib dis enum functools hashlib heapq importlib inspect io itertools "
    "json keyword linecache locale logging math opcode operator queue re reprlib select selectors signal socket "
    "ssl sre_compile sre_constants sre_parse string struct subprocess symtable textwrap threading token tokenize "
    "traceback types typing unicodedata warnings weakref"
)
NEEDED = frozenset(_NEEDED.split())

# Ours that a first result can do without.
_OURS = (
    *("advice", "docs", "images", "listing", "manual", "memory", "mirror", "pretty", "resources", "saving", "servers"),
    *("sandboxes", "twofold", "unlisted"),
)

_find_spec = PathFinder.find_spec
_path = list(sys.path)  # before user code adds to it
_import = builtins.__import__
_getrecursionlimit = sys.getrecursionlimit
_setrecursionlimit = sys.setrecursionlimit
# Empties the cache of methods; the first is that of Python 3.13.
_forget = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)

RECURSION = 1000  # the interpreter's own limit


class Watch:
    """Tells once a module was imported, whoever does it, before its importer goes on."""

    def __init__(self, hooks: dict[str, Callable[[Any], None]]) -> None:
        self.hooks = hooks
        for name in list(hooks):
            if name in sys.modules:
                hooks.pop(name)(sys.modules[name])
        if not aio.modules:
            aio.modules = dict(sys.modules)
        aio.modules["__main__"] = sys.modules["__main__"]
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


class Usual:
    """Lets the standard library be imported whatever user code did to the import system; leaves that as it was."""

    def __init__(self, modules: dict[str, Any]) -> None:
        self.modules = modules

    def __enter__(self) -> None:
        self.found, self.limit = getattr(builtins, "__import__", _import), _getrecursionlimit()
        if "sys" not in sys.modules:  # all were removed, and new ones would not be complete
            for name, module in self.modules.items():
                sys.modules.setdefault(name, module)
        builtins.__import__ = _import
        _setrecursionlimit(max(self.limit, RECURSION))

    def __exit__(self, *_: Any) -> None:
        builtins.__import__ = self.found
        _setrecursionlimit(self.limit)


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
            with Usual(self.modules):
                import asyncio
            if not self.imported:  # user code removed the watch
                self.take(asyncio)
        return self


aio = Asyncio()
_loaded: dict[str, Any] = {}


def load(name: str) -> Any:
    """Returns a module of the standard library, or with a dot before its name one of ours. What user code does to it
    later is no matter where the caller keeps what it uses. Raises what user code breaks the import with."""
    if name not in _loaded:
        with Usual(aio.modules):
            full = f"{__package__}{name}" if name[0] == "." else name
            _import(full)
            _loaded[name] = sys.modules[full]
    return _loaded[name]


def load_all() -> None:
    """Loads whatever may be needed, in a quiet moment."""
    for name in ("traceback", *(f".{each}" for each in _OURS)):
        load(name)
    load(".render").tracebacks()
    aio.load()


def close_matches(word: str, known: list[str], count: int, cutoff: float) -> list[str]:
    """Returns those of the known words that are most like a word; none where user code broke the search."""
    try:
        from difflib import get_close_matches

        return get_close_matches(word, known, count, cutoff)
    except Exception:
        return []


def settle() -> None:
    """Lets forked kernels share the memory of all that is there now."""
    gc.freeze()
    gc.enable()


def warm_up() -> None:
    """Imports in the supervisor, for all kernels that it forks from then on."""
    with Suppress(Exception):  # they can do without
        load_all()
        aio.modules = dict(sys.modules)  # to make it counts one more reference to each: better once than in every kernel
    gc.collect()
    if _forget is not None:
        _forget()  # else kernels drop the names in it one by one, and write to the page of each
    settle()
