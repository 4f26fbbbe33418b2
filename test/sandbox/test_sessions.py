"""The caller's other sandboxes, as code sees and ends them."""

from __future__ import annotations

import ast
import unittest
from typing import Any

from harness import RpcFailure, Sandbox

OWN, OTHER = f"s_{'a' * 32}", f"s_{'b' * 32}"


def row(session: str, **more: Any) -> dict[str, Any]:
    """Builds what the host says of a session."""
    return {"session": session, "current": False, "state": "idle", "age": 0, "idle": 0, "runs": 0, **more}


ROWS = [
    row(OWN, current=True, state="running", age=42, runs=3),
    row(OTHER, age=7300, idle=61, runs=12),
]


class Sessions(unittest.TestCase):
    def setUp(self) -> None:
        self.rows = ROWS
        self.sandbox = Sandbox(answer=self.answer)

    def tearDown(self) -> None:
        self.sandbox.close()

    def answer(self, method: str, params: dict) -> Any:
        """Plays the host."""
        if method == "sessions_list":
            return {"sessions": self.rows}
        if method == "session_end" and params["session"] in (OWN, OTHER):
            return {"ended": params["session"] == OTHER}
        raise RpcFailure("unknown", f"there is no session {params['session']}; nothing was ended")

    def shown(self, code: str) -> str:
        """Runs a cell that must succeed; returns its result."""
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.result or ""

    def test_prints_a_table(self) -> None:
        lines = self.shown("runtime.list_sessions()").split("\n")
        self.assertEqual(lines[0].split(), ["session", "state", "age", "idle", "runs"])
        self.assertEqual(lines[1].split(), [OWN, "running", "42", "s", "3", "this", "one"])
        self.assertEqual(lines[2].split(), [OTHER, "idle", "2", "h", "1", "min", "12"])

    def test_lists_with_and_without_await(self) -> None:
        for code in ("runtime.list_sessions()", "await runtime.list_sessions()"):
            self.assertEqual(ast.literal_eval(self.shown(f"list(map(dict, {code}))")), ROWS)
        self.assertEqual(self.shown("[each.session[:3] for each in runtime.list_sessions()]"), "['s_a', 's_b']")

    def test_shows_no_rows_of_where_there_are_none(self) -> None:
        self.rows = []
        self.assertEqual(self.shown("runtime.list_sessions()"), "[]")
        self.assertEqual(self.shown("runtime.session is None"), "True")

    def test_knows_its_own_handle(self) -> None:
        self.assertEqual(self.shown("from mcp.runtime import session\nsession, runtime.session"), f"('{OWN}', '{OWN}')")
        self.assertEqual(self.shown("hasattr(runtime, 'sessions')"), "False")

    def test_ends_one_by_handle_or_by_row(self) -> None:
        for each in (f"'{OTHER}'", "runtime.list_sessions()[1]"):
            self.assertEqual(self.shown(f"await runtime.end_session({each})"), f"session {OTHER} has ended")
        self.assertEqual(
            self.shown("runtime.end_session(runtime.session)"), f"session {OWN} ends when what it runs is over"
        )

    def test_says_what_is_no_session(self) -> None:
        outcome = self.sandbox.run("runtime.end_session('s_c')")
        self.assertEqual(outcome.error["ename"], "MCPError")
        self.assertIn("there is no session s_c; nothing was ended", outcome.error["evalue"])
        outcome = self.sandbox.run("runtime.end_session(5)")
        self.assertEqual(outcome.error["ename"], "TypeError")
        self.assertIn("by its handle", outcome.error["evalue"])
