"""Fits the arguments of a call to the parameters of a tool, before anything is sent."""

from __future__ import annotations

import keyword
from _collections_abc import Mapping

from .codec import decode
from .late import close_matches
from .parameters import Parameters
from .results import ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

_iskeyword = keyword.iskeyword


class Omitted:
    """Stands for the default of a parameter whose schema has none: it is not sent."""

    def __repr__(self) -> str:
        return "..."


OMITTED = Omitted()


def fit(
    parameters: Parameters, positional: tuple[Any, ...], named: dict[str, Any]
) -> tuple[dict[str, Any], Optional[float]]:
    """Returns the arguments by their original names, and the call's own timeout. Raises TypeError, which says what is
    wrong but not where."""
    timeout = None
    if "timeout" in named and "timeout" not in parameters.names:
        timeout = seconds(named["timeout"])
        named = {name: value for name, value in named.items() if name != "timeout"}
    if positional:
        positional, named = _spread(parameters, positional, named)
    given = dict(zip(parameters.fields, positional))
    names = parameters.names
    for name, value in named.items():
        original = names.get(name)
        if original is None:
            original = _guess(parameters, name, named)
        if original in given:
            _fail(f"got {_named(parameters, original)} twice")
        given[original] = value
    arguments = {}
    for name, value in given.items():
        if value is None or value is OMITTED or value is ...:
            if not _is_sent(parameters, name, value):
                continue
        elif type(value) is str or type(value) is ToolResult:
            value = _converted(parameters, name, value)
        arguments[name] = value
    missing = [_named(parameters, name) for name in parameters.required if name not in arguments]
    if missing:
        _fail(f"is missing {', '.join(missing[:20])}{', …' if len(missing) > 20 else ''}")
    return arguments, timeout


def seconds(timeout: Any) -> Optional[float]:
    """Checks the timeout of a call. Raises TypeError or ValueError."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        _fail(f"takes its timeout as a number of seconds, not {type(timeout).__name__}")
    if not 0 < timeout < float("inf"):
        message = f"the timeout of a call is a positive number of seconds, not {timeout!r}"
        raise ValueError(message)
    return timeout


def _fail(message: str) -> NoReturn:
    raise TypeError(message)


def _named(parameters: Parameters, name: str) -> str:
    return repr(parameters.aliases.get(name, name))


def _spread(
    parameters: Parameters, positional: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Takes one dict in first place for all arguments, where it can not be the first of them."""
    only = positional[0]
    if len(positional) == 1 and isinstance(only, Mapping) and all(isinstance(name, str) for name in only):
        first = next(iter(parameters.fields), None)
        if first is None or parameters.allows(first, "object") is False or _is_all(parameters, first, only, named):
            twice = [name for name in only if name in named]
            if twice:
                _fail(f"got {twice[0]!r} twice")
            return (), {**only, **named}
    if len(positional) > len(parameters.fields):
        count = len(parameters.fields)
        takes = "no" if count == 0 else f"at most {count}"
        _fail(f"takes {takes} positional argument{'' if count == 1 else 's'}, and got {len(positional)}")
    return positional, named


def _is_all(parameters: Parameters, first: str, only: Mapping[str, Any], named: dict[str, Any]) -> bool:
    names = parameters.names
    given = {names.get(name) for name in (*only, *named)}
    as_first = {first, *(names.get(name) for name in named)}
    return bool(only) and None not in given and given >= set(parameters.required) > as_first & set(parameters.required)


def _guess(parameters: Parameters, name: str, named: dict[str, Any]) -> str:
    """Returns the original name for one that is not known as it stands."""
    if parameters.is_open:
        return name[:-1] if name.endswith("_") and _iskeyword(name[:-1]) else name
    similar = parameters.similar(name)
    if similar is not None and similar not in named and parameters.aliases[similar] not in named:
        return similar
    known = list(parameters.aliases.values())
    near = close_matches(name, known, 1, 0.6)
    if not near:
        near = [alias for alias in known if name.casefold() in alias.casefold() or alias.casefold() in name.casefold()]
    message = f"got an unexpected argument {name!r}"
    raise TypeError(f"{message}; did you mean {near[0]!r}?" if near else message)


def _is_sent(parameters: Parameters, name: str, value: Any) -> bool:
    """Tells whether an empty value goes to the server: None only where null is a value of its own."""
    if value is not None:
        return False
    if name not in parameters.fields:
        return True
    verdict = parameters.allows(name, "null")
    if name in parameters.required:
        if verdict is False:
            _fail(f"needs a value for {_named(parameters, name)}, not None")
        return True
    return verdict is True


def _converted(parameters: Parameters, name: str, value: Any) -> Any:
    """Parses JSON text where only an object or array can be meant, and takes the text of a result where only text."""
    if name not in parameters.fields:
        return value
    if type(value) is ToolResult:
        is_text = parameters.allows(name, "object") is False and parameters.allows(name, "string") is True
        return value.text if is_text else value
    if value.lstrip()[:1] not in ("{", "[") or parameters.allows(name, "string") is not False:
        return value
    try:
        parsed = decode(value)
    except (ValueError, RecursionError):
        return value
    return parsed if parameters.allows(name, "object" if isinstance(parsed, dict) else "array") else value
