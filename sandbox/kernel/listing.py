"""The tools of servers as the host lists them: asked for once, and again before a name is called wrong."""

from __future__ import annotations

import _thread

from .arguments import fit
from .parameters import Parameters, fold, folded
from .rpc import PendingCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


class Spec:
    """One tool as its server describes it; what costs is made when it is needed."""

    __slots__ = ("_parameters", "alias", "description", "name", "output", "schema")

    def __init__(self, tool: dict[str, Any]) -> None:
        self.name: str = tool["name"]
        self.alias: str = tool["alias"]
        self.description: str = tool.get("description") or ""
        self.schema = tool.get("inputSchema")
        self.output = tool.get("outputSchema")
        self._parameters: Optional[Parameters] = None

    @property
    def parameters(self) -> Parameters:
        """What it takes."""
        if self._parameters is None:
            self._parameters = Parameters(self.schema)
        return self._parameters

    def fit(self, positional: tuple[Any, ...], named: dict[str, Any]) -> tuple[dict[str, Any], Optional[float]]:
        """Returns the arguments of a call and its timeout. Raises TypeError or ValueError."""
        return fit(self.parameters, positional, named)

    @property
    def signature(self) -> str:
        """The signature as text, on one line."""
        return self.parameters.signature(self.alias, self.output)


class Listing:
    """The tools of one server; `stamp` says when they were listed."""

    def __init__(self, tools: list[dict[str, Any]], stamp: object) -> None:
        self.stamp = stamp
        specs = [Spec(tool) for tool in tools]
        self.aliases = {spec.alias: spec for spec in specs}
        self.names = {spec.name: spec for spec in specs}
        self._folded: Optional[dict[str, Optional[str]]] = None

    def find(self, name: str, by_alias: bool = True) -> Optional[Spec]:
        """Returns a tool by its alias, its name, or one that differs in case and separators alone."""
        first, second = (self.aliases, self.names) if by_alias else (self.names, self.aliases)
        found = first.get(name) or second.get(name)
        if found is None:
            if self._folded is None:
                self._folded = folded(self.aliases)
            found = self.aliases.get(self._folded.get(fold(name)) or "")
        return found


class Fetch:
    """A listing under way: to be waited for, or to go on after."""

    def __init__(self, call: PendingCall) -> None:
        self.call = call
        self._lock = _thread.allocate_lock()
        self._answered = False
        self._next: list[Callable[[bool], None]] = []
        call.when_answered(self._go_on)

    def then(self, run: Callable[[bool], None]) -> None:
        """Has something run once the answer is there, in any thread; its argument is whether it may wait there. It must
        not raise."""
        with self._lock:
            if not self._answered:
                self._next.append(run)
                return
        run(True)

    def _go_on(self) -> None:
        with self._lock:
            self._answered = True
            todo, self._next = self._next, []

        def work(may_wait: bool) -> None:
            for run in todo:
                run(may_wait)

        if todo:
            try:
                _thread.start_new_thread(work, (True,))  # this thread takes all answers
            except Exception:  # there can be no more threads, or user code broke them
                work(False)
