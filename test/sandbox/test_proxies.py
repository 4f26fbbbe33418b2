"""Tools as functions: names, arguments and documentation, made of schemas that are as odd as servers write them."""

from __future__ import annotations

import unittest
from typing import Any

from harness import SERVERS, RpcFailure, Sandbox

CYCLE = {"$ref": "#/$defs/node"}
ODD: dict[str, Any] = {
    "boolean": True,
    "nothing": {},
    "remote": {"$ref": "https://example.com/schema.json"},
    "dangling": {"$ref": "#/$defs/none"},
    "loop": {"$ref": "#/$defs/loop"},
    "cycle": CYCLE,
    "types": {"type": ["string", "integer", "null"]},
    "badtype": {"type": 5},
    "huge": {"enum": list(range(5000))},
    "mixed": {"enum": ["a", 1, None, {"x": []}]},
    "deep": {},
    "closed": False,
}
for _ in range(60):
    ODD["deep"] = {"type": "array", "items": ODD["deep"]}
SCHEMAS: dict[str, Any] = {
    "q": {"properties": {name: {} for name in ("from", "class", "cik-A", "self")}},
    "nulls": {
        "properties": {
            "q": {"type": "string"},
            "after": {"type": "string"},
            "tag": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "opt": {"type": "object"},
            "old": {"type": "string", "nullable": True},
        },
        "required": ["q"],
    },
    "issue": {
        "properties": {
            "title": {"type": "string", "description": "What it is\n about."},
            "body": {"type": "string", "default": "-"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "kind": {"enum": ["bug", "idea"]},
            "createdBy": {"$ref": "#/$defs/user"},
        },
        "required": ["title"],
        "$defs": {"user": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    },
    "mixed": {"properties": {"limit": {"type": "integer"}, "q": {"type": "string"}}, "required": ["q"]},
    "first_object": {"properties": {"data": {"type": "object"}, "name": {"type": "string"}}, "required": ["data", "name"]},
    "any_first": {"properties": {"value": {}, "name": {}}, "required": ["value"]},
    "open": {"properties": {"a": {"type": "integer"}}, "additionalProperties": True},
    "pattern": {"properties": {"a": {}}, "patternProperties": {"(a+)+$": {}}},
    "nothing": {"properties": {}, "additionalProperties": False},
    "timed": {"properties": {"timeout": {"type": "integer"}}},
    "collide": {"properties": {"a-b": {}, "a_b": {}, "a.b": {}, "A b": {}}},
    "weird": {"properties": {name: {} for name in ("__class__", "args", "positional", "", "2x", "na\u00efve", "\ufb01", "\U0001f600")}},
    "odd": {"properties": ODD, "$defs": {"node": {"properties": {"next": CYCLE}}, "loop": {"$ref": "#/$defs/loop"}}},
    "bomb": {
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "$defs": {
            f"d{n}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "abcdefgh"}}
            for n in range(40)
        },
    },
    "wide": {"properties": {f"p{n}": {"type": "string"} for n in range(10_000)}},
    "either": {
        "oneOf": [
            {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"properties": {"id": {"type": "null"}, "name": {"type": "string"}}, "required": ["id", "name"]},
        ]
    },
    "conditions": {"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "strange": {"properties": [], "required": "x", "type": 7},
    "missing": None,
}
NAMES = [("send-email", "send_email"), ("auth.who-am-i", "auth_who_am_i"), ("2fa check", "_2fa_check"), ("import", "import_"), ("na\u00efve/put", "na\u00efve_put"), ("print", "print"), ("createThing", "createThing")]
TOOLS = [
    *({"name": name, "alias": name, "description": "", "inputSchema": schema} for name, schema in SCHEMAS.items()),
    *({"name": name, "alias": alias, "description": "", "inputSchema": {"type": "object"}} for name, alias in NAMES),
]
ISSUE = next(tool for tool in TOOLS if tool["name"] == "issue")
ISSUE.update(description="Opens an issue.", outputSchema={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]})
OTHER = [{"name": "read_file", "alias": "read_file", "description": "", "inputSchema": {"properties": {"path": {"type": "string"}}, "required": ["path"]}}]


def answer(method: str, params: dict) -> object:
    """Plays a host with two servers, of which the second does not list its tools at first."""
    if method in ("tools", "tool_docs"):
        return TOOLS if params["server"] == "fx" else OTHER
    if method == "check_tool":
        if params["tool"] == "drop":
            raise RpcFailure("denied", "tool 'drop' may not be used", "fx", "drop")
        return {}
    if method == "find_servers":
        return {"servers": [{**server, "tools": 1} for server in SERVERS], "total": 2, "searched": 2}
    if method == "call_tool":
        return {"content": [], "structuredContent": {"got": params["arguments"], "tool": params["tool"], "timeout": params["timeout"]}}
    return SERVERS


answer.lists_tools = answer.checks_tools = True


class Case(unittest.TestCase):
    sandbox: Sandbox

    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox(answer=answer)
        cls.sandbox.run("import inspect, typing, asyncio")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def value(self, code: str) -> Any:
        """Runs a cell that must succeed; returns its result, evaluated."""
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return None if outcome.result is None else eval(outcome.result)

    def error(self, code: str) -> str:
        """Runs a cell that must fail before it calls anything; returns the class and message of its error."""
        before = len(self.sandbox.rpcs)
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "error", outcome)
        self.assertNotIn("call_tool", [frame["method"] for frame in self.sandbox.rpcs[before:]])
        return f"{outcome.error['ename']}: {outcome.error['evalue']}"


class Arguments(Case):
    def test_sends_what_was_meant(self) -> None:
        rows: list[tuple[str, dict]] = [
            ("q(**{'from': 'a', 'cik-A': 1})", {"from": "a", "cik-A": 1}),
            ("q(from_='b', class_='c', cik_A=2, self=3)", {"from": "b", "class": "c", "cik-A": 2, "self": 3}),
            ("nulls(q='x', after=None, tag=None, opt={'k': None})", {"q": "x", "tag": None, "opt": {"k": None}}),
            ("nulls(q='x', after=..., old=None)", {"q": "x", "old": None}),
            ("issue('t', 'b', ['l'])", {"title": "t", "body": "b", "labels": ["l"]}),
            ("issue('t', kind='bug')", {"title": "t", "kind": "bug"}),
            ("issue({'title': 't', 'kind': 'bug'})", {"title": "t", "kind": "bug"}),
            ("issue({'title': 't'}, body='b')", {"title": "t", "body": "b"}),
            ("issue(title='t', created_by={'name': 'n'})", {"title": "t", "createdBy": {"name": "n"}}),
            ("issue(Title='t')", {"title": "t"}),
            ("issue(title='t', labels='[\"a\", 12345678901234567890]')", {"title": "t", "labels": ["a", 12345678901234567890]}),
            ("issue(title='[1]', createdBy=' {\"name\": \"n\"}')", {"title": "[1]", "createdBy": {"name": "n"}}),
            ("issue(title='t', labels='[not json')", {"title": "t", "labels": "[not json"}),
            ("mixed(5, q='x')", {"limit": 5, "q": "x"}),
            ("first_object({'a': 1}, 'n')", {"data": {"a": 1}, "name": "n"}),
            ("first_object({'data': {}, 'name': 'n'})", {"data": {}, "name": "n"}),
            ("any_first({'value': 1})", {"value": {"value": 1}}),
            ("open(a=1, b=None, class_=2)", {"a": 1, "b": None, "class": 2}),
            ("pattern(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1)", {"a" * 38: 1}),
            ("nothing()", {}),
            ("nothing({})", {}),
            ("timed(timeout=7)", {"timeout": 7}),
            ("collide(**{'a-b': 1}, a_b=2, a_b_3=3, A_b=4)", {"a-b": 1, "a_b": 2, "a.b": 3, "A b": 4}),
            ("weird(__class__=1, args=2, positional=3, unnamed=4, _2x=5, na\u00efve=6, \ufb01=7, unnamed_2=8)",
             {"__class__": 1, "args": 2, "positional": 3, "": 4, "2x": 5, "na\u00efve": 6, "\ufb01": 7, "\U0001f600": 8}),
            ("odd(boolean=None, remote=None, types=None, closed=None)", {"boolean": None, "types": None}),
            ("bomb(x=None)", {}),
            ("wide(p9999='x')", {"p9999": "x"}),
            ("either(id=None, name='n')", {"id": None, "name": "n"}),
            ("conditions(b=1)", {"b": 1}),
            ("strange(x=1)", {"x": 1}),
            ("missing(x=1.5, y=2**70)", {"x": 1.5, "y": 2**70}),
        ]  # fmt: skip
        for code, got in rows:
            with self.subTest(code=code):
                self.assertEqual(self.value(f"(await mcp_fx.{code}).data['got']"), got)
                self.assertEqual(self.value(f"mcp_fx.{code}.result().data['got']"), got)

    def test_refuses_what_can_not_be_meant(self) -> None:
        issue = "issue(title: str, body: str = '-', labels: list[str] = ..., kind: Literal['bug', 'idea'] = ..., createdBy: {name: str} = ...) -> {id: int}"
        rows = [
            ("issue()", f"TypeError: fx.issue() is missing 'title'. The tool is: {issue}"),
            ("issue(titel='t')", f"TypeError: fx.issue() got an unexpected argument 'titel'; did you mean 'title'? The tool is: {issue}"),
            ("issue('t', title='t')", "TypeError: fx.issue() got 'title' twice."),
            ("issue({'title': 't'}, title='t')", "TypeError: fx.issue() got 'title' twice."),
            ("issue(*range(6))", "TypeError: fx.issue() takes at most 5 positional arguments, and got 6."),
            ("issue(title=None)", "TypeError: fx.issue() needs a value for 'title', not None."),
            ("issue('t', zzz=1)", "TypeError: fx.issue() got an unexpected argument 'zzz'. The tool is"),
            ("q(form='x')", "TypeError: fx.q() got an unexpected argument 'form'; did you mean 'from_'?"),
            ("mixed(5)", "TypeError: fx.mixed() is missing 'q'. The tool is: mixed(*, q: str, limit: int = ...)"),
            ("nothing(a=1)", "TypeError: fx.nothing() got an unexpected argument 'a'. The tool is: nothing()"),
            ("nothing(1)", "TypeError: fx.nothing() takes no positional arguments, and got 1."),
            ("issue('t', timeout=0)", "ValueError: fx.issue() the timeout of a call is a positive number of seconds, not 0."),
            ("issue('t', timeout='1')", "TypeError: fx.issue() takes its timeout as a number of seconds, not str."),
            ("either(name='n')", "TypeError: fx.either() is missing 'id'."),
            ("wide(p10000=1)", "TypeError: fx.wide() got an unexpected argument 'p10000'; did you mean 'p1"),
        ]  # fmt: skip
        for code, start in rows:
            with self.subTest(code=code):
                error = self.error(f"await mcp_fx.{code}")
                self.assertTrue(error.startswith(start), error)
                self.assertLess(len(error), 5000)

    def test_honours_the_timeout_of_a_call(self) -> None:
        self.assertEqual(self.value("(await mcp_fx.issue('t', timeout=1.5)).data"), {"got": {"title": "t"}, "tool": "issue", "timeout": 1.5})
        self.assertEqual(self.value("(await mcp_fx['send-email'](timeout=2)).data['timeout']"), 2)
        self.assertEqual(self.value("(await runtime.call_tool('fx', 'issue', timeout=3)).data['timeout']"), 3)
        self.assertIsNone(self.value("(await mcp_fx.timed(timeout=4)).data['timeout']"))

    def test_takes_the_text_of_a_result_where_text_is_wanted(self) -> None:
        code = "r = runtime.ToolResult(content=[{'type': 'text', 'text': 'read'}])\n(await mcp_fx.issue(title=r, createdBy=r)).data['got']"
        self.assertEqual(self.value(code), {"title": "read", "createdBy": {"content": [{"type": "text", "text": "read"}]}})

    def test_calls_by_alias_and_by_the_original_name(self) -> None:
        for name, alias in NAMES:
            for path in (f"mcp_fx.{alias}", f"mcp_fx[{name!r}]", f"mcp_servers['fx'][{name!r}]", f"mcp_servers['fx'].{alias}"):
                self.assertEqual(self.value(f"(await {path}(a=1)).data['tool']"), name)
            self.assertEqual(self.value(f"(await runtime.call_tool('fx', {name!r})).data['tool']"), name)

    def test_leaves_a_raw_name_that_is_not_listed_to_the_host(self) -> None:
        self.assertEqual(self.value("(await mcp_fx['hidden'](a=None, from_=1)).data['got']"), {"a": None, "from": 1})


class Documentation(Case):
    def test_gives_signatures_hints_and_help(self) -> None:
        self.assertEqual(
            self.value("str(inspect.signature(mcp_fx.issue)).replace('typing.', '')"),
            "(title: str, body: str = '-', labels: list[str] = ..., kind: Literal['bug', 'idea'] = ..., "
            "createdBy: {name: str} = ...) -> {id: int}",
        )
        self.assertEqual(self.value("typing.get_type_hints(mcp_fx.issue)['labels'] == list[str]"), True)
        self.assertEqual(self.value("typing.get_type_hints(mcp_fx.nulls)['tag'] == typing.Optional[str]"), True)
        self.assertEqual(self.value("typing.get_type_hints(mcp_fx.issue)['return'].__required_keys__ == {'id'}"), True)
        self.assertEqual(self.value("typing.get_type_hints(mcp_fx.nulls)['return'] is runtime.ToolResult"), True)
        bound = "b = inspect.signature(mcp_fx.issue).bind('t')\nb.apply_defaults()\n(await mcp_fx.issue(*b.args, **b.kwargs)).data['got']"
        self.assertEqual(self.value(bound), {"title": "t", "body": "-"})
        doc = self.value("mcp_fx.issue.__doc__")
        self.assertTrue(doc.startswith("await mcp_fx.issue(title: str, body"), doc)
        self.assertTrue(doc.endswith("-> {id: int}\n\nOpens an issue.\n\n  title: What it is about."), doc)
        shown = self.sandbox.run("help(mcp_fx.issue)").stdout
        self.assertIn("Opens an issue.", shown)
        self.assertIn("    await mcp_fx.send_email()\n", self.sandbox.run("help(mcp_fx)").stdout)
        self.assertIn("cik_A (sent as 'cik-A')", self.value("mcp_fx.q.__doc__"))

    def test_shows_every_alias_that_it_takes(self) -> None:
        for tool in TOOLS:
            with self.subTest(tool=tool["name"]):
                path = f"mcp_fx[{tool['name']!r}]"
                text = self.value(f"{path}.__doc__")
                self.assertLess(len(text), 4000 if tool["name"] != "wide" else 400_000)
                code = f"s = inspect.signature({path})\nns, text = list(s.parameters), str(s)\nall(n.isidentifier() and n in text for n in ns), len(ns)"
                good, count = self.value(code)
                self.assertTrue(good)
                self.assertGreaterEqual(count, len((tool["inputSchema"] or {}).get("properties", ())))

    def test_completes_names(self) -> None:
        code = "import rlcompleter\nc = rlcompleter.Completer(globals())\n[c.complete('mcp_fx.sen', 0), c.complete('mcp_servers.my', 0)]"
        found = self.value(code)
        self.assertTrue(found[0].startswith("mcp_fx.send_email("), found)
        self.assertEqual(found[1], "mcp_servers.my_server")
        self.assertEqual(self.value("'issue' in dir(mcp_fx), 'my_server' in dir(mcp.servers)"), (True, True))
        self.assertEqual(self.value("hasattr(mcp_fx, 'issue'), hasattr(mcp_fx, 'nope'), getattr(mcp_fx, 'nope', 5)"), (True, False, 5))


class Access(Case):
    def test_imports_in_every_form(self) -> None:
        rows = [
            "import mcp.servers.fx as it",
            "from mcp.servers import fx as it",
            "from mcp import fx as it",
            "import mcp\nit = mcp.fx",
            "import mcp.fx as it",
            "import mcp_fx as it",
            "it = mcp.servers.fx",
            "it = mcp.mcp_fx",
            "it = mcp_servers['mcp_fx']",
        ]
        for code in rows:
            with self.subTest(code=code), Sandbox(answer=answer) as sandbox:
                outcome = sandbox.run(f"{code}\nit is mcp_fx and (await it.issue('t')).data['got']")
                self.assertEqual(outcome.result, "{'title': 't'}", outcome)
        for code in (
            "from mcp.servers.fx import *",
            "from mcp.servers.fx import issue, send_email",
            "from mcp_fx import issue, send_email",
            "from mcp.fx import issue, send_email",
        ):
            with self.subTest(code=code), Sandbox(answer=answer) as sandbox:
                outcome = sandbox.run(f"{code}\nprint((await issue('t')).data['got'], send_email)")
                self.assertEqual(outcome.stdout, "{'title': 't'} <MCP tool fx.send_email>\n", outcome)

    def test_finds_names_in_another_case(self) -> None:
        for path in ("mcp_fx.create_thing", "mcp_fx.createThing"):
            self.assertEqual(self.value(f"(await {path}()).data['tool']"), "createThing")
        self.assertEqual(self.value("(await mcp_fx.sendEmail()).data['tool']"), "send-email")
        self.assertEqual(self.value("mcp_servers['myServer'] is mcp_my_server"), True)

    def test_says_what_to_type(self) -> None:
        rows = [
            ("mcp_fx.isue", "UnknownToolError: server 'fx' has no tool 'isue': no tool is called 'isue'. Did you mean 'issue'?"),
            ("mcp_fx.read_file", "UnknownToolError: server 'fx' has no tool 'read_file': it is a tool of another server: await mcp_my_server.read_file(path: str)"),
            ("mcp_fx.drop(x=1)", "UnknownToolError: tool 'drop' may not be used"),
            ("mcp_fx.call_tool", "UnknownToolError: server 'fx' has no tool 'call_tool': write: await runtime.call_tool('fx', 'tool', {'argument': value})"),
            ("mcp_fx.list_tools()", "UnknownToolError: server 'fx' has no tool 'list_tools': write: await runtime.list_tools('fx')"),
            ("mcp.servers.fxx", "AttributeError: no server is called 'fxx'. Did you mean 'fx'?"),
        ]  # fmt: skip
        for code, start in rows:
            with self.subTest(code=code):
                error = self.error(code)
                self.assertTrue(error.startswith(start), error)
        self.assertIn(". The nearest is: issue(title: str", self.error("mcp_fx.isue"))
        self.assertLess(len(self.error("mcp_fx.wid")), 2000)  # a tool of 10,000 arguments
        hints = [
            ("from mcp_fx import isue", "Did you mean 'issue'?"),
            ("import mcp.servers.my_servr", "did you mean `mcp_my_server`?"),
            ("mcp_fx('x')", "call one of its tools"),
            ("await issue(title='t')", "it is a tool: `await mcp_fx.issue(title: str"),
            ("await call_tool('fx', 'issue')", "it is `runtime.call_tool`"),
            ("await mcp_fx.issue(title=mcp_fx.nothing())", "write `await` before the call"),
            ("await mcp_fx.nothing().result()", "leave out `await`"),
        ]
        self.value("dir(mcp_fx)\n1")
        for code, hint in hints:
            with self.subTest(code=code):
                text = self.sandbox.run(code).error["traceback"]
                self.assertIn(hint, text.partition("[hint] ")[2], text)

    def test_imports_nothing_that_hides_what_python_has(self) -> None:
        with Sandbox(answer=answer) as sandbox:
            self.assertEqual(sandbox.run("from mcp.servers.fx import *\nprint is __builtins__.print").result, "True")


if __name__ == "__main__":
    unittest.main()
