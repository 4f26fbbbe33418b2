"""The source of the newest cells: tracebacks show their lines, and `inspect` finds functions and classes in them."""

from __future__ import annotations

import io
import sys
from _collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

MAX_CELLS = 500
MAX_CHARS = 32 * 1024 * 1024

_StringIO = io.StringIO
_Function = type(lambda: None)
_cache: dict[str, Any] = {}  # what `linecache` is to have; its own once it is imported


def split_lines(source: str) -> list[str]:
    """Cuts where Python itself sees the end of a line, and nowhere else; the ends are kept."""
    return list(_StringIO(source, newline=""))


class History:
    """Which cells `linecache` has; the oldest make room for the newest."""

    def __init__(self) -> None:
        self.sizes: OrderedDict[str, int] = OrderedDict()
        self.total = 0

    def remember(self, source: str, filename: str) -> None:
        """Takes the source of a cell."""
        lines = split_lines(source.replace("\r\n", "\n").replace("\r", "\n"))
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        _cache[filename] = (len(source), None, lines, filename)
        self.total += len(source) - self.sizes.pop(filename, 0)
        self.sizes[filename] = len(source)
        while len(self.sizes) > 1 and (len(self.sizes) > MAX_CELLS or self.total > MAX_CHARS):
            oldest, size = self.sizes.popitem(last=False)
            self.total -= size
            _cache.pop(oldest, None)

    def file_of(self, cls: type) -> str | None:
        """Finds the cell that defines a class of `__main__`, which has no file that `inspect` could name."""
        for member in list(vars(cls).values()):
            function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            if type(function) is _Function and function.__qualname__.startswith(f"{cls.__qualname__}."):
                name = function.__code__.co_filename
                if name in self.sizes:
                    return name
        import re  # `inspect` asks, which has imported it

        pattern = re.compile(rf"\s*class\s+{re.escape(cls.__name__)}\b")
        first = vars(cls).get("__firstlineno__")  # Python 3.13
        for name in reversed(self.sizes):
            lines = _cache[name][2] if name in _cache else []
            if first is not None:
                lines = lines[first - 1 :]
                while lines and lines[0].lstrip().startswith("@"):
                    lines = lines[1:]
                lines = lines[:1]
            if any(map(pattern.match, lines)):
                return name
        return None


history = History()
_getfile: Callable[[Any], str]


def getfile(object: Any) -> str:
    """Return the name of the file, or of the cell, in which an object was defined."""
    if isinstance(object, type) and getattr(object, "__module__", None) == "__main__":
        found = history.file_of(object)
        if found is not None:
            return found
    return _getfile(object)


def keep(source: str, filename: str) -> None:
    """Lets tracebacks and `inspect` show lines of what is no cell."""
    _cache[filename] = (len(source), None, split_lines(source.replace("\r\n", "\n").replace("\r", "\n")), filename)


def newest_first() -> list[tuple[str, list[str]]]:
    """Returns the names and lines of the cells, the newest first."""
    return [(name, _cache[name][2]) for name in reversed(history.sizes) if name in _cache]


def line_of(filename: str, number: int) -> str | None:
    """Returns a line of a cell; None where there is no such line."""
    lines = _cache[filename][2] if filename in _cache else []
    return lines[number - 1] if 0 < number <= len(lines) else None


class _Ours:
    """Gives one of our sources, which is cut into lines only when somebody wants one. A reference to its text would count
    in the text's own page, which supervisor and kernel then have twice."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> str:
        return __loader__.files[self.name]


def share(linecache: Any) -> None:
    """Gives the sources to `linecache`, which tracebacks and `inspect` read them from: the cells', and our own."""
    global _cache
    if _cache is linecache.cache:
        return
    linecache.cache.update(_cache)
    _cache = linecache.cache
    for name in getattr(__loader__, "files", ()):
        origin = f"<sandpy>/{name}"
        if origin[:-3].replace("<sandpy>/", "_sandpy.") in sys.modules:
            _cache[origin] = (_Ours(name),)


def install(inspect: Any) -> None:
    """Lets `inspect.getsource` find classes of cells too."""
    global _getfile
    _getfile = inspect.getfile
    inspect.getfile = getfile
