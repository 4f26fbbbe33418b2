"""What the values of a session are made of: the parts of containers and records, the text of tables."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

from .render import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Found = Any  # tuple[str, str, int, Iterable[tuple[Any, Any]]], or None where there are no parts

MAX_SORTED = 100_000

_module_of = type.__dict__["__module__"].__get__
_bases_of = type.__dict__["__mro__"].__get__


class Name(str):
    """The name of a field, which stands before its value as it is."""

    __slots__ = ()


def find_parts(kind: Any) -> Callable[[Any], Found] | None:
    """Returns the function that takes a value of a class apart; None where its repr says all."""
    return _CONTAINERS.get(kind.__repr__) or _record(kind)


# Containers: each function returns what opens and closes it, how many parts there are and an iterator over them.


def _sequence(base: Any, open: str, close: str) -> Callable[[Any], Found]:
    def find(value: Any) -> Found:
        count = base.__len__(value)
        end = "," + close if base is tuple and count == 1 else close
        return (open, end, count, ((None, each) for each in base.__iter__(value))) if count else None

    return find


def _set(base: Any) -> Callable[[Any], Found]:
    def find(value: Any) -> Found:
        count = base.__len__(value)
        open, close = ("{", "}") if type(value) is set else (f"{name_of(type(value))}({{", "})")
        return (open, close, count, ((None, each) for each in base.__iter__(value))) if count else None

    return find


def _mapping(base: Any) -> Callable[[Any], Found]:
    def find(value: Any) -> Found:
        count = base.__len__(value)
        open, close = ("{", "}") if base is dict else (f"{name_of(type(value))}({{", "})")
        parts = base.items(value)
        if base is defaultdict:
            open = f"{name_of(type(value))}({value.default_factory!r}, {{"
        elif base is Counter and count <= MAX_SORTED:
            parts = Counter.most_common(value)
        return (open, close, count, parts) if count else None

    return find


def _deque(value: Any) -> Found:
    count = deque.__len__(value)
    close = "])" if value.maxlen is None else f"], maxlen={value.maxlen})"
    parts = ((None, each) for each in deque.__iter__(value))
    return (f"{name_of(type(value))}([", close, count, parts) if count else None


def _view(value: Any) -> Found:
    count = len(value)
    return (f"{name_of(type(value))}([", "])", count, ((None, each) for each in value)) if count else None


_ORDERED: OrderedDict[Any, Any] = OrderedDict()
_CONTAINERS: dict[Any, Callable[[Any], Found]] = {
    list.__repr__: _sequence(list, "[", "]"),
    tuple.__repr__: _sequence(tuple, "(", ")"),
    set.__repr__: _set(set),
    frozenset.__repr__: _set(frozenset),
    dict.__repr__: _mapping(dict),
    OrderedDict.__repr__: _mapping(OrderedDict),
    defaultdict.__repr__: _mapping(defaultdict),
    Counter.__repr__: _mapping(Counter),
    deque.__repr__: _deque,
    **{
        type(view).__repr__: _view
        for each in ({}, OrderedDict())
        for view in (each.keys(), each.values(), each.items())
    },
}


def _record(kind: Any) -> Callable[[Any], Found] | None:
    """Finds the fields of a class whose repr was generated: a dataclass or a namedtuple."""
    shown = kind.__repr__
    fields = kind.__dict__.get("__dataclass_fields__")
    if type(fields) is dict and kind.__dataclass_params__.repr and _file(_inner(shown)) == "<string>":
        names = [name for name, field in fields.items() if field.repr and field._field_type.name == "_FIELD"]
        name = kind.__qualname__
    elif issubclass(kind, tuple) and "_fields" in kind.__dict__ and _file(shown) == _NAMEDTUPLE:
        names, name = list(kind._fields), kind.__name__
    else:
        return None
    parts = [(Name(f"{each}="), each) for each in names]
    return lambda value: (
        (f"{name}(", ")", len(parts), ((key, getattr(value, each)) for key, each in parts)) if parts else None
    )


def _file(function: Any) -> Any:
    return getattr(getattr(function, "__code__", None), "co_filename", None)


def _inner(function: Any) -> Any:
    """Returns the function inside of what guards a generated repr against cycles."""
    cells = getattr(function, "__closure__", None) or ()
    found = [cell.cell_contents for cell in cells if hasattr(cell.cell_contents, "__code__")]
    return found[0] if len(found) == 1 else None


_NAMEDTUPLE = _file(namedtuple("_Sample", "a").__repr__)


def table(value: Any) -> str | None:
    """Renders arrays and tables of libraries that we do not import; None for anything else."""
    kinds = {(str(_module_of(each)).partition(".")[0], name_of(each)) for each in _bases_of(type(value))[:-1]}
    if ("numpy", "ndarray") in kinds:
        text = repr(value)
        return f"{text}\nshape {value.shape}, {value.dtype}" if "..." in text and "shape=" not in text else text
    if ("pandas", "DataFrame") in kinds:
        return value.to_string(max_rows=20, max_cols=20, max_colwidth=80, show_dimensions=True)
    if ("pandas", "Series") in kinds:
        return value.to_string(max_rows=20, dtype=True, name=True, length=True)
    return None
