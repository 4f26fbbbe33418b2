"""Servers and tools as Python sees them, and the requests that they make."""

from __future__ import annotations

import unittest

from harness import FX, NO_ANSWER, SERVERS, RpcFailure, Sandbox

TOOLS = [
    {
        "name": "find-it",
        "alias": "find_it",
        "description": "Finds.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "default": 5},
                "q": {"type": "string"},
                "from": {"type": ["string", "null"]},
                "kind": {"enum": ["a", "b"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["q"],
        },
    },
    *(
        {"name": name, "alias": name, "description": "", "inputSchema": {"type": "object"}}
        for name in ("bare", "t", "do_it", "fail", "slow", "denied")
    ),
]


def answer(method: str, params: dict) -> object:
    """Plays a host with two servers."""
    if method == "servers":
        return SERVERS
    if method in ("tools", "tool_docs"):
        if params["server"] not in ("fx", "my-server"):
            raise RpcFailure("unknown", "no server is called 'nope'", params["server"])
        return TOOLS
    tool, arguments = params["tool"], params["arguments"]
    if tool == "fail":
        raise RpcFailure("tool", "no such repo", "fx", "fail")
    if tool == "slow":
        raise RpcFailure("timeout", "no answer within 30 s", "fx", "slow")
    if tool == "denied":
        raise RpcFailure("denied", "not allowed", None, None)
    if "raw" in arguments:
        return arguments["raw"]
    return {"content": [{"type": "text", "text": "ok"}], "structuredContent": {"got": arguments}}


answer.lists_tools = True


def answer_listings(method: str, params: dict) -> object:
    """Answers what is asked of tools, and no call."""
    return NO_ANSWER if method == "call_tool" else answer(method, params)


answer_listings.lists_tools = True


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox(answer=answer)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def value(self, code: str, **fields: object) -> object:
        """Runs a cell that must succeed; returns its result, evaluated."""
        outcome = self.sandbox.run(code, **fields)
        self.assertEqual(outcome.status, "ok", outcome)
        return None if outcome.result is None else eval(outcome.result)

    def error(self, code: str) -> dict:
        """Runs a cell that must fail; returns its error."""
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "error", outcome)
        return outcome.error

    def test_asks_the_host_as_the_protocol_says(self) -> None:
        before = len(self.sandbox.rpcs)
        self.value("r = await mcp_my_server.do_it(a=1, b='\u00e9')")
        listing, frame = self.sandbox.rpcs[before:]
        self.assertEqual((listing["method"], listing["params"]), ("tool_docs", {"server": "my-server"}))
        self.assertEqual(frame["method"], "call_tool")
        self.assertEqual(
            frame["params"],
            {"server": "my-server", "tool": "do_it", "arguments": {"a": 1, "b": "\u00e9"}, "timeout": None},
        )

    def test_reaches_a_tool_on_every_documented_way(self) -> None:
        calls = [
            "await mcp_fx.t(a=1)",
            "mcp_fx.t(a=1).result()",
            "mcp_fx.t(a=1).result(timeout=10)",
            "await mcp_servers['fx'].t(a=1)",
            "await mcp_servers['fx']['t'](a=1)",
            "await mcp.servers.fx.t(a=1)",
            "await runtime.call_tool('fx', 't', {'a': 1})",
            "await mcp.runtime.call_tool(mcp_fx, 't', {'a': 1})",
            "import asyncio\nasyncio.run(mcp_fx.t(a=1))",
            "import asyncio\n(await asyncio.gather(mcp_fx.t(a=1)))[0]",
            "import asyncio\nawait asyncio.create_task(mcp_fx.t(a=1))",
            "import asyncio\nawait asyncio.wait_for(mcp_fx.t(a=1), 10)",
            "import asyncio\nasync def main(): return await mcp_fx.t(a=1)\nasyncio.run(main())",
            "from mcp.runtime import call_tool\nawait call_tool('fx', 't', dict(a=1))",
            "import mcp.runtime as rt\nawait rt.call_tool('fx', 't', dict(a=1))",
            "from mcp import runtime as rt\nrt.call_tool('fx', 't', dict(a=1)).result()",
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor() as pool: r = pool.submit(lambda: mcp_fx.t(a=1).result()).result()\nr",
            "c = mcp_fx.t(a=1)\nfirst = await c\nawait c",
        ]
        for code in calls:
            with self.subTest(code=code):
                self.assertEqual(self.sandbox.run(code).status, "ok")
                self.assertEqual(self.value("dict(_)")["structuredContent"], {"got": {"a": 1}})

    def test_strips_the_underscore_from_python_keywords_only(self) -> None:
        code = "(await mcp_fx.t(from_='a', class_='b', other_='c', **{'cik-A': 1, 'self': 2})).data['got']"
        self.assertEqual(self.value(code), {"from": "a", "class": "b", "other_": "c", "cik-A": 1, "self": 2})

    def test_refuses_positional_and_unsendable_arguments(self) -> None:
        rows = [
            ("mcp_fx.t(1)", "TypeError", "fx.t() takes no positional arguments, and got 1. The tool is: t()"),
            ("mcp_fx.t(a={1})", "TypeError", "fx.t: the arguments can not be sent as JSON: Object of type set"),
            ("mcp_fx.t(a=float('nan'))", "TypeError", "fx.t: the arguments can not be sent as JSON: Out of range"),
            (
                "a = []\na.append(a)\nmcp_fx.t(a=a)",
                "TypeError",
                "fx.t: the arguments can not be sent as JSON: Circular",
            ),
            ("runtime.call_tool('fx', 't', [1])", "TypeError", "fx.t: the arguments must be a mapping, not list"),
            ("runtime.call_tool('fx', 5)", "TypeError", "a tool is given by its name, not by int"),
            ("runtime.call_tool(5, 't')", "TypeError", "a server is given by its name, not by int"),
        ]
        for code, ename, start in rows:
            with self.subTest(code=code):
                error = self.error(code)
                self.assertEqual(error["ename"], ename)
                self.assertTrue(error["evalue"].startswith(start), error["evalue"])

    def test_keeps_every_digit_both_ways(self) -> None:
        self.assertEqual(
            self.value("(await mcp_fx.t(n=2**53 + 1, m=-2**80)).data['got']"), {"n": 2**53 + 1, "m": -(2**80)}
        )

    def test_raises_the_failure_of_a_tool(self) -> None:
        error = self.error("r = await mcp_fx.fail(q='z')\nprint('went on')")
        self.assertEqual((error["ename"], error["evalue"]), ("MCPError", "fx.fail: no such repo"))
        self.assertIn("mcp.runtime.MCPError", error["traceback"])
        self.assertNotIn("<sandpy>", error["traceback"])
        code = "try:\n    await mcp_fx.fail()\nexcept MCPError as e:\n    r = e.message, e.server, e.tool, e.kind\nr"
        self.assertEqual(self.value(code), ("no such repo", "fx", "fail", "tool"))

    def test_raises_timeouts_as_timeout_error(self) -> None:
        for base in ("TimeoutError", "asyncio.TimeoutError", "runtime.MCPError", "runtime.MCPTimeoutError"):
            code = f"import asyncio\ntry:\n    await mcp_fx.slow()\nexcept {base} as e:\n    r = e.kind, str(e)\nr"
            self.assertEqual(self.value(code), ("timeout", "fx.slow: no answer within 30 s"))

    def test_carries_the_kind_of_other_failures(self) -> None:
        code = "try:\n    mcp_fx.denied().result()\nexcept runtime.MCPError as e:\n    r = e.kind, str(e), e.server\nr"
        self.assertEqual(self.value(code), ("denied", "not allowed", None))

    def test_pickles_errors(self) -> None:
        code = (
            "import pickle\ntry:\n    await mcp_fx.fail()\nexcept runtime.MCPError as e:\n    c = pickle.loads(pickle.dumps(e))\n"
            "c.message, c.server, c.tool"
        )
        self.assertEqual(self.value(code), ("no such repo", "fx", "fail"))

    def test_returns_the_raw_mapping_with_conveniences(self) -> None:
        raw = {
            "content": [
                {"type": "text", "text": "r1"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "text", "text": "r2"},
                {"type": "resource_link", "uri": "file:///x"},
                {"type": "text", "text": "r3"},
            ],
            "_meta": {"x": [None, 1.5]},
        }
        self.value(f"r = await mcp_fx.t(raw={raw!r})")
        self.assertEqual(self.value("{'r': r}"), {"r": raw})
        self.assertEqual(
            self.value("isinstance(r, dict), r.text, r.data, r.is_error"), (True, "r1\nr2\nr3", None, False)
        )
        self.assertEqual(self.value("[(bytes(i), i.mime_type) for i in r.images]"), [(b"hi", "image/png")])
        self.assertEqual(
            self.sandbox.run("print(r)").stdout, "r1\n[image: image/png, 3 bytes]\nr2\n[resource: file:///x]\nr3\n"
        )

    def test_finds_data_in_text_and_in_structured_content(self) -> None:
        rows = [
            ({"content": [{"type": "text", "text": '{"a": [1]}'}]}, {"a": [1]}),
            ({"content": [{"type": "text", "text": " [1, 2]\n"}]}, [1, 2]),
            ({"content": [{"type": "text", "text": "5"}]}, None),
            ({"content": [{"type": "text", "text": "{bad"}]}, None),
            ({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"s": 1}}, {"s": 1}),
            ({"content": []}, None),
            ({}, None),
        ]
        for raw, data in rows:
            with self.subTest(raw=raw):
                self.assertEqual(self.value(f"(await mcp_fx.t(raw={raw!r})).data"), data)

    def test_lists_servers_with_and_without_await(self) -> None:
        names = ["fx", "my-server"]
        for call in ("discovered_servers()", "list_servers()"):
            self.assertEqual(self.value(f"runtime.{call}"), names)
            self.assertEqual(self.value(f"await runtime.{call}"), names)
        self.assertEqual(self.value("runtime.list_servers_sync()"), names)
        self.assertEqual(self.value("list(map(dict, runtime.discovered_servers(detailed=True)))"), SERVERS)
        self.assertEqual(
            self.value("list(mcp_servers), len(mcp_servers), 'my_server' in mcp_servers"), (names, 2, True)
        )

    def test_tells_what_was_loaded(self) -> None:
        self.assertEqual(self.value("LOADED_MCP_SERVERS", loaded=["fx"]), ("fx",))

    def test_documents_tools(self) -> None:
        self.assertEqual(self.value("list(await runtime.list_tools('fx'))"), TOOLS)
        self.assertEqual(self.value("list(runtime.list_tools_sync('my_server'))"), TOOLS)
        summary = {
            "server": "my-server",
            "serverAlias": "my_server",
            "tool": "find-it",
            "toolAlias": "find_it",
            "description": "Finds.",
            "signature": "find_it(*, q: str, limit: int = 5, from_: str | None = ..., kind: Literal['a', 'b'] = ..., "
            "tags: list[str] = ...)",
        }
        full = {**summary, "inputSchema": TOOLS[0]["inputSchema"]}
        self.assertEqual(self.value("dict((await runtime.query_tool_docs('my-server'))[0])"), summary)
        self.assertEqual(self.value("dict(runtime.query_tool_docs_sync('my-server', 'find_it'))"), summary)
        self.assertEqual(self.value("dict(await runtime.query_tool_docs('my_server', 'find-it', detail='full'))"), full)
        self.assertEqual(self.value("runtime.query_tool_docs_sync(mcp_fx, 'bare')['signature']"), "bare()")
        self.assertIn("find_it", self.value("dir(mcp_fx)"))

    def test_names_what_exists_when_a_name_does_not(self) -> None:
        rows = [
            ("mcp_servers['my-serv']", "UnknownServerError", "'my-server'?"),
            ("mcp_servers['zzz']", "UnknownServerError", "Known: 'fx', 'my-server'"),
            ("mcp.servers.zzz", "AttributeError", "Known: 'fx', 'my-server'"),
            ("runtime.query_tool_docs_sync('fx', 'find_itt')", "MCPError", "Did you mean 'find-it'?"),
            ("await runtime.list_tools('nope')", "MCPError", "no server is called 'nope'"),
            (
                "runtime.query_tool_docs('fx', detail='all')",
                "ValueError",
                "detail must be 'summary' or 'full', not 'all'",
            ),
        ]
        for code, ename, part in rows:
            with self.subTest(code=code):
                error = self.error(code)
                self.assertEqual(error["ename"], ename)
                self.assertIn(part, error["evalue"])
        self.assertEqual(self.value("try:\n    mcp_servers['x']\nexcept KeyError:\n    r = 'KeyError'\nr"), "KeyError")

    def test_makes_no_tool_of_a_probe(self) -> None:
        self.value("t = mcp_fx.t")
        before = len(self.sandbox.rpcs)
        code = (
            "import copy, inspect\n"
            "names = ['__len__', '__array__', '_repr_html_', '_ipython_display_', '__wrapped__', '__deepcopy__']\n"
            "[hasattr(mcp_fx, n) for n in names], inspect.isawaitable(mcp_fx), callable(mcp_fx), "
            "callable(mcp_fx.t), repr(mcp_fx), repr(mcp_fx.t), str(mcp_servers)"
        )
        self.assertEqual(
            self.value(code),
            ([False] * 6, False, False, True, "<MCP server 'fx'>", "<MCP tool fx.t>", "<MCP servers: fx, my-server>"),
        )
        self.assertEqual(self.error("for t in mcp_fx: pass")["ename"], "TypeError")
        self.assertEqual(self.sandbox.rpcs[before:], [])

    def test_hints_at_a_call_that_nobody_awaited(self) -> None:
        self.assertIn("use `await`", self.sandbox.run("[mcp_fx.t()]").result)

    def test_awaits_a_call_that_is_the_last_value(self) -> None:
        for code in ("mcp_fx.t(a=1)", "await mcp_fx.t()\nmcp_fx.t(a=1)", "c = mcp_fx.t(a=1)\nc"):
            with self.subTest(code=code):
                outcome = self.sandbox.run(code)
                self.assertIn("{'got': {'a': 1}}", outcome.result)
                self.assertEqual(
                    outcome.stderr, "fx.t: awaited, as the last value; write `await` before the call\n"
                )
                self.assertEqual(self.value("_.data"), {"got": {"a": 1}})
        error = self.error("mcp_fx.fail()")
        self.assertEqual((error["ename"], error["evalue"]), ("MCPError", "fx.fail: no such repo"))

    def test_never_touches_a_variable_of_the_users(self) -> None:
        self.value("mcp_fx = 'mine'; runtime = 5")
        self.assertEqual(self.value("mcp_fx, runtime"), ("mine", 5))
        self.value("del mcp_fx, runtime")
        self.assertEqual(self.value("repr(mcp_fx), runtime.__name__"), ("<MCP server 'fx'>", "mcp.runtime"))

    def test_follows_the_list_of_servers(self) -> None:
        new = {"name": "new", "alias": "new", "description": "", "status": "idle"}
        self.assertEqual(
            self.value("'mcp_fx' in globals(), repr(mcp_new)", servers=[new]), (False, "<MCP server 'new'>")
        )
        self.assertEqual(self.value("'mcp_new' in globals(), repr(mcp_fx)"), (False, "<MCP server 'fx'>"))

    def test_calls_from_background_tasks_between_cells(self) -> None:
        self.value(
            "import asyncio\nasync def later():\n    await asyncio.sleep(0.01)\n    print('got', (await mcp_fx.t(a=3)).data)\n"
            "task = asyncio.get_running_loop().create_task(later())\nawait asyncio.sleep(0)"
        )
        self.assertIn("got {'got': {'a': 3}}", self.sandbox.output_until("got"))


class Concurrency(unittest.TestCase):
    def test_has_all_gathered_calls_under_way_at_once(self) -> None:
        with Sandbox(answer=answer_listings) as sandbox:  # answers nothing by itself
            number = sandbox.start(
                "import asyncio\nr = await asyncio.gather(*[mcp_fx.t(i=i) for i in range(2000)])\n"
                "sum(x['i'] for x in r), [x['i'] for x in r] == list(range(2000))"
            )
            frames = [sandbox.until("rpc", method="call_tool") for _ in range(2000)]
            for frame in reversed(frames):
                sandbox.send("k", {"type": "reply", "id": frame["id"], "value": frame["params"]["arguments"]})
            self.assertEqual(sandbox.finish(number).result, str((sum(range(2000)), True)))

    def test_times_out_a_result_locally(self) -> None:
        with Sandbox(answer=answer_listings) as sandbox:
            error = sandbox.run("mcp_fx.t().result(timeout=0.01)").error
            self.assertEqual(
                (error["ename"], error["evalue"]), ("MCPTimeoutError", "fx.t did not answer within 0.01 s")
            )
            code = "import asyncio\ntry:\n    await asyncio.wait_for(mcp_fx.t(), 0.01)\nexcept asyncio.TimeoutError:\n    r = 'timed out'\nr"
            self.assertEqual(sandbox.run(code).result, "'timed out'")

    def test_survives_a_cancelled_wait(self) -> None:
        with Sandbox(answer=answer_listings) as sandbox:
            number = sandbox.start(
                "import asyncio\nc = asyncio.create_task(mcp_fx.t(a=1))\nawait asyncio.sleep(0)\nc.cancel()\n"
                "try:\n    await c\nexcept asyncio.CancelledError:\n    r = (await mcp_fx.t(a=2)).data\nr"
            )
            late, asked = (sandbox.until("rpc", method="call_tool") for _ in range(2))
            for frame in (late, asked):
                value = {"structuredContent": frame["params"]["arguments"]}
                sandbox.send("k", {"type": "reply", "id": frame["id"], "value": value})
            self.assertEqual(sandbox.finish(number).result, "{'a': 2}")

    def test_ignores_answers_that_nobody_waits_for(self) -> None:
        with Sandbox(answer=answer_listings) as sandbox:
            for frame in (
                {"type": "reply", "id": 77, "value": {}},
                {
                    "type": "reply_error",
                    "id": 78,
                    "error": {"kind": "tool", "message": "m", "server": None, "tool": None},
                },
                {"type": "nonsense", "id": 1},
                {"no": "type"},
                [],
                "text",
            ):
                sandbox.send("k", frame)
            sandbox.write(b'["k",not json]\n["k",{"type":"reply"}]\n')
            self.assertEqual(sandbox.run("'fine'").result, "'fine'")

    def test_interrupts_a_call_that_waits(self) -> None:
        with Sandbox(answer=answer_listings) as sandbox:
            for code in ("mcp_fx.t().result()", "await mcp_fx.t()"):
                number = sandbox.start(code)
                sandbox.until("rpc", method="call_tool")
                sandbox.interrupt(number)
                self.assertEqual(sandbox.finish(number, 5).status, "interrupted")

    def test_delivers_a_deep_reply_or_says_why_not(self) -> None:
        with Sandbox(answer=answer_listings) as sandbox:
            number = sandbox.start("await mcp_fx.t()")
            frame = sandbox.until("rpc", method="call_tool")
            deep = b"[" * 200_000 + b"]" * 200_000
            sandbox.write(b'["k",{"type":"reply","id":%d,"value":%s}]\n' % (frame["id"], deep))
            self.assertEqual(sandbox.finish(number).status, "error")
            self.assertEqual(sandbox.run("1").result, "1")


if __name__ == "__main__":
    unittest.main()
