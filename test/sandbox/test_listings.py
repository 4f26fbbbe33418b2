"""When tools are listed: once, late, and again before a call is refused; and what their results give."""

from __future__ import annotations

import unittest
from typing import Any

import test_proxies
from harness import NO_ANSWER, RpcFailure, Sandbox


class Listings(unittest.TestCase):
    def serve(self, tools: list[dict], live: Any = None) -> Sandbox:
        """Starts a sandbox whose host knows some tools, and others once it asks the server itself."""

        def answer(method: str, params: dict) -> object:
            if method == "tool_docs":
                return tools
            return self.rest(method, params, live() if callable(live) else live)

        answer.lists_tools = True
        sandbox = Sandbox(answer=answer)
        self.addCleanup(sandbox.close)
        return sandbox

    def rest(self, method: str, params: dict, tools: list[dict]) -> object:
        """Answers what is not asked of what is known of tools."""
        if method == "find_servers":
            return {"servers": [], "total": 0, "searched": 0}
        return tools if method == "tools" else {"content": [], "structuredContent": {"got": params["arguments"]}}

    def methods(self, sandbox: Sandbox) -> list[str]:
        return [frame["method"] for frame in sandbox.rpcs]

    def tool(self, name: str, *parameters: str) -> dict:
        return {"name": name, "alias": name, "description": "", "inputSchema": {"properties": {p: {} for p in parameters}, "required": list(parameters)}}

    def test_lists_once(self) -> None:
        sandbox = self.serve([self.tool("t", "a")])
        for code in ("mcp_fx.t(a=1).result()", "await mcp_fx.t(a=1)", "await mcp_fx.t(a=1)\nNone"):
            self.assertEqual(sandbox.run(code).status, "ok")
        self.assertEqual(self.methods(sandbox), ["tool_docs", *["call_tool"] * 3])

    def test_asks_the_server_before_it_refuses(self) -> None:
        newer = [self.tool("t", "b"), self.tool("u")]
        sandbox = self.serve([self.tool("t", "a")], newer)
        self.assertEqual(sandbox.run("(await mcp_fx.t(b=1)).data").result, "{'got': {'b': 1}}")
        self.assertEqual(sandbox.run("(await mcp_fx.u()).data").result, "{'got': {}}")
        for _ in range(3):
            self.assertEqual(sandbox.run("for _ in range(3):\n    hasattr(mcp_fx, 'v')\nmcp_fx.v").error["ename"], "UnknownToolError")
        self.assertEqual(self.methods(sandbox).count("tools"), 4)  # once for `b`, and once in each cell

    def test_sees_the_tools_that_a_call_brought(self) -> None:
        live: list[dict] = [self.tool("grow")]
        sandbox = self.serve(live[:], lambda: live)
        sandbox.run("hasattr(mcp_fx, 'grown')")
        live.append(self.tool("grown"))
        self.assertEqual(sandbox.run("await mcp_fx.grow()\n(await mcp_fx.grown()).data").result, "{'got': {}}")

    def test_has_gathered_first_calls_wait_for_their_lists_at_once(self) -> None:
        def hold(method: str, params: dict) -> object:
            if method == "tool_docs":
                return NO_ANSWER
            return self.rest(method, params, [self.tool("t", "a")])

        hold.lists_tools = True
        with Sandbox(answer=hold) as sandbox:
            number = sandbox.start(
                "import asyncio\na = {'n': [1]}\n"
                "calls = mcp_fx.t(a=a), mcp_fx.t(b=2), mcp_my_server.t(a=3), mcp_fx.zzz()\na['n'].append(2)\nmade = runtime.find_servers('x')\n"
                "r = await asyncio.gather(*calls, return_exceptions=True)\nawait made\n"
                "[x.data if isinstance(x, dict) else f'{type(x).__name__}: {x}'[:60] for x in r]"
            )
            lists = [sandbox.until("rpc", method="tool_docs") for _ in range(2)]
            self.assertEqual([frame["params"]["server"] for frame in lists], ["fx", "my-server"])
            sandbox.until("rpc", method="find_servers")  # once a list is there, a tool that is not in it is refused at once
            for frame in lists:
                sandbox.send("k", {"type": "reply", "id": frame["id"], "value": [self.tool("t", "a")]})
            self.assertEqual(
                eval(sandbox.finish(number).result),
                [{"got": {"a": {"n": [1]}}}, "TypeError: fx.t() got an unexpected argument 'b'. The tool i", {"got": {"a": 3}}, "UnknownToolError: server 'fx' has no tool 'zzz': no tool is "],
            )  # fmt: skip

    def test_reports_a_server_that_is_down_when_its_tool_is_called(self) -> None:
        asked = []

        def down(method: str, params: dict) -> object:
            asked.append(method)
            if method == "find_servers":
                return {"servers": [], "total": 0, "searched": 0}
            raise RpcFailure("unreachable", "server 'fx' does not start", "fx")

        down.lists_tools = True
        with Sandbox(answer=down) as sandbox:
            self.assertEqual(sandbox.run("t = mcp_fx.t\ncallable(t), dir(mcp_fx), hasattr(t, '__signature__')").result, "(True, [], False)")
            for code in ("t(a=1).result()", "await t(a=1)", "await mcp_fx.t()", "mcp_fx['t']().result()"):
                error = sandbox.run(code).error
                self.assertEqual((error["ename"], error["evalue"]), ("MCPError", "fx.t: server 'fx' does not start"))
            code = "import asyncio\n[str(e) for e in await asyncio.gather(mcp_fx.t(), mcp_fx.u(), return_exceptions=True)]"
            self.assertEqual(sandbox.run(code).result, "[\"fx.t: server 'fx' does not start\", \"fx.u: server 'fx' does not start\"]")
            self.assertIn("called without `await`", sandbox.run("r = mcp_fx.t()").stderr)
            self.assertIn("could not be listed", sandbox.run("help(mcp_fx)").stdout)
            self.assertEqual(sandbox.run("from mcp.servers.fx import *").error["ename"], "MCPError")
            self.assertNotIn("call_tool", asked)


class Results(test_proxies.Case):
    def test_gives_what_is_in_the_data_for_what_is_not_in_the_mapping(self) -> None:
        code = (
            "R = runtime.ToolResult\nraw = {'content': [{'type': 'text', 'text': '{\"id\": 7, \"content\": 1, \"isError\": 2}'}]}\n"
            "r = R(raw)\nl = R(content=[{'type': 'text', 'text': '[4, 5]'}])\n"
        )
        self.value(code)
        self.assertEqual(
            self.value("r['id'], r.id, r.get('id'), r.get('no', 3), r['content'] == raw['content'], r.get('isError'), l[1], r == raw, 'id' in r, len(r)"),
            (7, 7, 7, 3, True, None, 5, True, False, 1),
        )
        for code, message in (
            ("r['nope']", "'nope' is neither in the result nor in its `.data`, which has the keys 'id', 'content', 'isError'"),
            ("l['x']", "'x' is neither in the result nor in its `.data`, a list of 2"),
            ("R(content=[{'type': 'text', 'text': 'plain'}])['x']", "since there is none; `.text` is 'plain'"),
        ):
            outcome = self.sandbox.run(code)
            self.assertEqual(outcome.error["ename"], "KeyError")
            self.assertIn(message, eval(outcome.error["evalue"]))
        self.assertEqual(self.value("import copy, json, pickle\npickle.loads(pickle.dumps(r)) == copy.deepcopy(r) == json.loads(json.dumps(r)) == raw"), True)


if __name__ == "__main__":
    unittest.main()
