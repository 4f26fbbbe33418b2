"""Memories: JSON values under names, which the host keeps. The bodies of the functions of keeping.py."""

from __future__ import annotations

from .results import MemoryStoreError, Record
from .rpc import PendingCall, Rpc
from .servers import Awaitable, AwaitableList, Text, shorten
from .turns import Turn, Turns
from .values import encode, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any, Callable

    Body = Generator[Any, Any, Any]

MAX_KEY_BYTES = 1024
SHOWN = 200


class MemoryInfo(Awaitable, Record):
    """What is kept of one memory: `key`, `metadata`, `created_at`, `updated_at` (seconds since the epoch), `bytes`, and
    from `get_memory_info` the `value` too."""

    __module__ = "mcp.runtime"

    def __repr__(self) -> str:
        try:
            text = f"{self['key']!r}  # {_size(self['bytes'])}, updated {_time(self['updated_at'])}"
            text += f", {self['metadata']}" if self["metadata"] else ""
            return f"{text}\n{shorten(repr(self['value']), SHOWN)}" if "value" in self else text
        except (KeyError, TypeError, ValueError, OverflowError):  # the user made something else of it
            return dict.__repr__(self)


class MemoryList(AwaitableList):
    """All memories, which print a line each."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "[]"


class Memories:
    """The memories of the user, as the host keeps them."""

    def __init__(self, rpc: Rpc) -> None:
        self.rpc = rpc
        self.turns = Turns()

    def save(self, key: object, value: Any, metadata: Any, awaits: bool) -> Body:
        """Creates or replaces one."""
        name, text, more = check_key(key, value), encode(value, "value"), _check_metadata(metadata)
        action = f"memory {name!r} can not be saved now"
        self.turns.check(_of(name), action, awaits)
        info = yield self.ask("memory_save", {"key": name, "value": text, "metadata": more}, name)
        return Text(f"memory {name!r} saved ({_size(info['bytes'])})")

    def load(self, key: object, default: Any) -> Body:
        """Returns the value of one, or a default."""
        name = check_key(key)
        found = (yield self.ask("memory_load", {"key": name}, name))["memory"]
        return default if found is None else _value(found)

    def list(self) -> Body:
        """Returns what there is, without the values."""
        found = yield self.rpc.request("memory_list", {}, "list_memories()")
        return MemoryList(map(_info, found["memories"]))

    def delete(self, key: object, awaits: bool) -> Body:
        """Removes one; tells whether there was one."""
        name = check_key(key)
        self.turns.check(_of(name), f"memory {name!r} can not be deleted now", awaits)
        return (yield self.ask("memory_delete", {"key": name}, name))["deleted"]

    def exists(self, key: object) -> Body:
        """Tells whether there is one."""
        return (yield from self.info(key)) is not None

    def info(self, key: object) -> Body:
        """Returns one with all that is kept of it, or None."""
        name = check_key(key)
        found = (yield self.ask("memory_load", {"key": name}, name))["memory"]
        return None if found is None else MemoryInfo(_info(found), value=_value(found))

    def update(self, key: object, function: Any, default: Any, awaits: bool) -> Body:
        """Replaces the value of one by what a function makes of it, while nobody else can change it."""
        name = check_key(key)
        _check_function(name, function)
        action = f"memory {name!r} can not be updated"
        turn = yield from self.turns.take(_of(name), action, awaits)
        try:
            held = yield from self.hold("memory_hold", {"key": name}, f"update_memory({name!r})")
            try:
                value = yield from self.changed(turn, name, held["memory"], function, default, awaits)
                text = encode(value, "the new value")
                yield self.rpc.request("memory_commit", {"lease": held["lease"], "value": text}, f"update of {name!r}")
            except BaseException:
                self.release(held["lease"])
                raise
        finally:
            self.turns.give_back(turn)
        return value

    def changed(
        self, turn: Turn, name: str, found: Any, function: Callable[[Any], Any], default: Any, awaits: bool
    ) -> Body:
        """Has the function make the new value."""
        old = default if found is None else _value(found)
        held = self.turns.held
        token = held.set((*held.get(), turn))
        try:
            value = function(old)
            if hasattr(type(value), "__await__"):
                if not awaits:
                    getattr(value, "close", bool)()
                    message = f"the function is async: write `await update_memory({name!r}, ...)`"
                    raise TypeError(message)
                value = yield value
        finally:
            held.reset(token)
        if value is None:
            message = (
                f"the function returned None, so memory {name!r} is as it was: it must return the new value, as in "
                "`lambda v: [*(v or []), item]`; to keep None, save_memory(key, None)"
            )
            raise TypeError(message)
        return value

    # The host

    def ask(self, method: str, params: dict[str, Any], name: str) -> PendingCall:
        """Starts a request about one memory."""
        return self.rpc.request(method, params, f"memory {name!r}")

    def hold(self, method: str, params: dict[str, Any], label: str) -> Body:
        """Waits until the host gives a hold; one that comes when nobody waits any more is given back."""
        number, call = self.rpc.open(label)
        try:
            self.rpc.send({"type": "rpc", "id": number, "method": method, "params": params})
            return (yield call)
        except BaseException:  # maybe an interrupt just after it was sent
            call.when_answered(lambda: self._drop(call))
            raise

    def _drop(self, call: PendingCall) -> None:
        try:
            lease = call.result(0)["lease"]
        except Exception:  # the host refused
            return
        self.release(lease)

    def release(self, lease: str) -> None:
        """Gives a hold back, without waiting."""
        try:
            self.rpc.request("release", {"lease": lease}, "release").when_answered(bool)
        except Exception:  # a forked process; the host takes it back itself
            return


def check_key(key: object, value: object = None) -> str:
    """Returns a key as plain text. Raises TypeError or ValueError."""
    if not isinstance(key, str):
        hint = f"; the key comes first: save_memory({str(value)[:60]!r}, value)" if isinstance(value, str) else ""
        message = f"the key of a memory is a str, not {type(key).__name__} {_shown(key)}{hint}"
        raise TypeError(message)
    name = str.__str__(key)
    if not name:
        message = "the key of a memory must not be empty"
        raise ValueError(message)
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        message = f"the key {_shown(name)} has a lone surrogate, which is no text; use another key"
        raise ValueError(message) from None
    if size > MAX_KEY_BYTES:
        message = (
            f"the key {name[:40]!r}… has {size:,} bytes, and it may have {MAX_KEY_BYTES:,}; keep long text in the value"
        )
        raise ValueError(message)
    return name


def _check_metadata(metadata: Any) -> str | None:
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        message = f"metadata is a dict, such as {{'tags': ['a']}}, not {type(metadata).__name__} {_shown(metadata)}"
        raise TypeError(message)
    return encode(metadata, "metadata")


def _check_function(name: str, function: Any) -> None:
    if not callable(function):
        message = (
            "update_memory takes a function that makes the new value of the old one, such as `lambda v: (v or 0) + 1`, "
            f"not {type(function).__name__} {_shown(function)}; to replace the value: save_memory({name!r}, value)"
        )
        raise TypeError(message)


def _value(found: dict[str, Any]) -> Any:
    try:
        return parse(found["value"])
    except (ValueError, RecursionError) as error:
        message = f"memory {found['key']!r} can not be read: {error}"
        raise MemoryStoreError(message) from None


def _info(found: dict[str, Any]) -> MemoryInfo:
    more = {key: found[key] for key in ("created_at", "updated_at", "bytes")}
    metadata = found.get("metadata")
    return MemoryInfo(key=found["key"], metadata=parse(metadata) if metadata else {}, **more)


def _of(name: str) -> str:
    return f"memory {name!r}"


def _shown(value: object) -> str:
    try:
        return shorten(ascii(value), 60)
    except Exception:
        return "that can not be shown"


def _size(count: int) -> str:
    for unit in ("bytes", "KiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} MiB"


def _time(seconds: float) -> str:
    from time import gmtime, strftime

    return strftime("%Y-%m-%d %H:%M UTC", gmtime(seconds))
