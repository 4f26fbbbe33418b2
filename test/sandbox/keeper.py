"""A stand-in for the host that keeps memories and saved tools, with holds that others wait for."""

from __future__ import annotations

import json
import time
from typing import Any

from harness import NO_ANSWER, RpcFailure, Sandbox


class Keeper(Sandbox):
    """A sandbox whose host keeps things; `kept` outlives it where it is given to the next."""

    def __init__(self, kept: dict[str, dict] | None = None, **more: Any) -> None:
        self.kept = {} if kept is None else kept
        self.source = ""
        self.leases: dict[str, str] = {}
        self.waiting: list[tuple[int, str]] = []
        self.most_waiting = 0
        self.asking = 0
        self.refuse: str | None = None
        self.lists_tools = self.checks_tools = True
        super().__init__(answer=self.serve, **more)

    def reply(self, frame: dict) -> None:
        """Notes which request is answered."""
        self.asking = frame["id"]
        super().reply(frame)

    def serve(self, method: str, params: dict) -> Any:
        """Answers as the host does."""
        if self.refuse is not None and method != "release":
            raise RpcFailure("memory", self.refuse)
        if method in ("memory_hold", "tools_hold"):
            what = params.get("key", "tools!")
            if what in self.leases.values():
                self.waiting.append((self.asking, what))
                self.most_waiting = max(self.most_waiting, len(self.waiting))
                return NO_ANSWER
            return self.grant(self.asking, what)
        if method in ("release", "memory_commit", "tools_commit"):
            return self.end(method, params)
        return getattr(self, method)(**params)

    def grant(self, number: int, what: str) -> dict:
        """Gives a hold."""
        lease = f"lease-{number}"
        self.leases[lease] = what
        found = {"source": self.source} if what == "tools!" else {"memory": self.memory_load(what)["memory"]}
        return {"lease": lease, **found}

    def end(self, method: str, params: dict) -> Any:
        """Takes a hold back, and gives it to the next."""
        what = self.leases.pop(params["lease"], None)
        if what is None:
            if method == "release":
                return {}
            raise RpcFailure("memory", "the hold is over")
        value: Any = {}
        if method == "memory_commit":
            value = self.memory_save(what, params["value"], None)
        elif method == "tools_commit":
            self.source = params["source"]
        for each in self.waiting:
            if each[1] == what:
                self.waiting.remove(each)
                self.send("k", {"type": "reply", "id": each[0], "value": self.grant(*each)})
                break
        return value

    def memory_save(self, key: str, value: str, metadata: str | None) -> dict:
        """Keeps one."""
        json.loads(value, parse_int=str)
        entry = self.kept.setdefault(key, {"key": key, "created_at": time.time(), "metadata": None})
        entry.update(value=value, updated_at=time.time(), bytes=len(value.encode()))
        if metadata is not None:
            entry["metadata"] = metadata
        return {name: entry[name] for name in entry if name != "value"}

    def memory_load(self, key: str) -> dict:
        """Gives one."""
        return {"memory": self.kept.get(key)}

    def memory_list(self) -> dict:
        """Gives all."""
        return {"memories": [{k: v for k, v in e.items() if k != "value"} for _, e in sorted(self.kept.items())]}

    def memory_delete(self, key: str) -> dict:
        """Removes one."""
        return {"deleted": self.kept.pop(key, None) is not None}

    def servers(self) -> list:
        """There are none."""
        return []

    def search_tools(self, **_: Any) -> dict:
        """Finds nothing."""
        none = {"matches": [], "total": 0, "searched": 0, "unknown": 0, "unknownServers": [], "suggestions": []}
        return {**none, "learning": 0}
