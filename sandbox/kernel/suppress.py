"""`contextlib.suppress` without contextlib, whose import costs more than all that needs it here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Suppress:
    """Swallows exceptions of some classes."""

    __slots__ = ("kinds",)

    def __init__(self, *kinds: type[BaseException]) -> None:
        self.kinds = kinds

    def __enter__(self) -> None:
        """Has nothing to do."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        """Tells whether this one is among them."""
        return kind is not None and issubclass(kind, self.kinds)
