"""How tools and results look when code shows them: short, and still plain data."""

from __future__ import annotations

import json
import unittest

from harness import RpcFailure, Sandbox

LONG = "long " * 50
SCHEMA = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "description": "Whom."},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "note": {"type": "string"}},
                "required": ["name"],
            },
        },
    },
    "required": ["items"],
}
TOOLS = [
    {
        "name": "send-it",
        "alias": "send_it",
        "description": "Sends things.\nAll of them. At once.",
        "inputSchema": SCHEMA,
    },
    {"name": "bare", "alias": "bare", "description": "", "inputSchema": {"type": "object"}},
]
SWITCHED_OFF = {"switched_off": {"reason": "is switched off", "description": "", "status": "idle"}}
SIGNATURE = "send_it(*, items: list[{name: str, note?: str}], to: str = ...)"


def answer(method: str, params: dict) -> object:
    """Plays a host with two servers."""
    if method == "servers":
        return []
    if method in ("tools", "tool_docs"):
        return TOOLS
    if method == "describe_server":
        return {"name": params["server"].replace("_", "-"), "alias": params["server"], **SWITCHED_OFF.get(params["server"], {})}
    if method == "check_tool":
        return {}
    if method == "find_servers":
        return {"servers": []}
    if params["arguments"].get("to") == "wrong":
        raise RpcFailure("tool", "MCP error -32602: Invalid arguments for tool", params["server"], params["tool"])
    return params["arguments"].get("raw") or {"content": [{"type": "text", "text": "ok"}]}


answer.lists_tools = True


class Printed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox(answer=answer)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def shown(self, code: str) -> str:
        """Runs a cell that must succeed; returns its result."""
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.result

    def test_prints_tools_one_on_a_line(self) -> None:
        expected = f"await mcp_my_server.<tool>(...):\n{SIGNATURE}  # Sends things\nbare()"
        self.assertEqual(self.shown("await runtime.list_tools('my-server')"), expected)
        self.assertEqual(self.shown("await runtime.query_tool_docs('my-server')"), expected)

    def test_prints_how_to_call_a_tool(self) -> None:
        expected = f"await mcp_my_server.{SIGNATURE}\nSends things.\nAll of them. At once.\n  to: Whom."
        self.assertEqual(self.shown("await runtime.query_tool_docs('my-server', 'send_it')"), expected)
        full = self.shown("await runtime.query_tool_docs('fx', 'bare', detail='full')")
        self.assertEqual(full, 'await mcp_fx.bare()\ninputSchema: {"type":"object"}')

    def test_stays_plain_data_for_code(self) -> None:
        code = (
            "import copy, json, pickle\n"
            "tools = await runtime.list_tools('fx')\ndoc = await runtime.query_tool_docs('fx', 'bare')\n"
            "copies = [lambda x: json.loads(json.dumps(x)), lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy]\n"
            "same = [all(f(x) == x for f in copies) for x in (tools, doc)]\n"
            "same, tools[0].name, doc.signature, isinstance(tools, list), isinstance(doc[0], dict)"
        )
        self.assertEqual(self.shown(code), "([True, True], 'send-it', 'bare()', True, True)")
        self.assertEqual(self.shown("tools.append(5); doc.clear(); doc, tools[2:]"), "([], [5])")
        self.assertTrue(self.shown("tools").startswith("[{'name': 'send-it'"))

    def test_prints_results_raw_but_for_what_says_nothing(self) -> None:
        text = {"type": "text", "text": LONG}
        again = "… the same again …"
        image = {"type": "image", "data": "QUJD" * 100, "mimeType": "image/png"}
        blob = {"type": "resource", "resource": {"uri": "x:y", "blob": "QUJD" * 100}}
        tree = {"content": [{"type": "text", "text": json.dumps({"a": LONG})}], "structuredContent": {"a": LONG}}
        rows = [
            ({"content": [{"type": "text", "text": "a"}], "structuredContent": {"c": "a"}}, None),
            ({"content": [text]}, None),
            ({"structuredContent": {"a": 1}}, None),
            (
                {"content": [text], "structuredContent": {"c": LONG, "n": 1}},
                {"content": [text], "structuredContent": {"c": again, "n": 1}},
            ),
            (tree, {**tree, "content": [{"type": "text", "text": again}]}),
            ({"content": [image]}, {"content": [{**image, "data": "… 400 characters of base64 …"}]}),
            (
                {"content": [blob]},
                {"content": [{**blob, "resource": {"uri": "x:y", "blob": "… 400 characters of base64 …"}}]},
            ),
        ]
        for raw, expected in rows:
            with self.subTest(raw=raw):
                self.shown(f"raw = {raw!r}\nr = await mcp_fx.bare(raw=raw)\nassert r == raw")
                self.assertEqual(eval(self.shown("repr(r)")), repr(expected or raw))
        content = "r = await mcp_fx.bare(raw={'content': [{'type': 'image', 'data': 'QUJD' * 100}]})\nr.content"
        self.assertEqual(self.shown(content), "[{'type': 'image', 'data': '… 400 characters of base64 …'}]")
        image_code = f"(await mcp_fx.bare(raw={{'content': [{image!r}]}})).images"
        self.assertEqual(self.shown(image_code), "[<image/png, 300 bytes>]")

    def test_shows_a_result_as_what_it_says(self) -> None:
        one, two = {"type": "text", "text": "1"}, {"type": "text", "text": "two"}
        tree = {"type": "text", "text": '{"a": [1, 2]}'}
        rows = [
            ([one], None, "1"),
            ([two, one], None, "two\n1"),
            ([tree], None, ".data: {'a': [1, 2]}"),
            ([tree], {"a": [1, 2]}, ".data: {'a': [1, 2]}"),
            ([tree, two], None, '{"a": [1, 2]}\ntwo'),
            ([tree], {"result": {"a": [1, 2]}}, ".data: {'result': {'a': [1, 2]}}"),
            ([one, two], {"result": [1, "two"]}, ".data: {'result': [1, 'two']}"),
            ([one], {"result": 1}, "1"),
            ([two], {"result": "two"}, "two"),
            ([one], {"result": "1"}, "1"),
            ([two], {"n": 2}, "two\n.data: {'n': 2}"),
            ([two], {"content": "two", "n": 2}, "two\n.data: {'content': 'two', 'n': 2}"),
            ([{"type": "text", "text": LONG}], {"c": LONG, "n": 1}, LONG + "\n.data: {'c': '… the same again …', 'n': 1}"),
            ([], {"n": 2}, ".data: {'n': 2}"),
            ([], None, "{'content': []}"),
            ([tree], {"a": "x" * 90, "b": 5}, '{"a": [1, 2]}\n.data:\n{\'a\': \'' + "x" * 90 + "',\n 'b': 5}"),
        ]
        for content, data, expected in rows:
            with self.subTest(content=content, data=data):
                raw = {"content": content, **({} if data is None else {"structuredContent": data})}
                self.assertEqual(self.shown(f"await mcp_fx.bare(raw={raw!r})"), expected)
                self.assertEqual(eval(self.shown("display(_)\n{'raw': dict(_)}")), {"raw": raw})
                self.assertEqual(self.shown(f"[_1 := await mcp_fx.bare(raw={raw!r}), _1]"), f"[0] {expected}\n[1] {expected}")

    def test_shows_results_of_several_calls_each_for_itself(self) -> None:
        self.shown("import asyncio\nr = await mcp_fx.bare()\ne = MCPError('gone', 'fx', 't')")
        rows = [
            ("await asyncio.gather(mcp_fx.bare(), mcp_fx.bare())", "[0] ok\n[1] ok"),
            ("(r, e)", "[0] ok\n[1] MCPError('gone')"),
            ("[e]", "[MCPError('gone')]"),
            ("[r, 1]", "[{'content': [{'type': 'text', 'text': 'ok'}]}, 1]"),
            ("[]", "[]"),
        ]
        for code, expected in rows:
            with self.subTest(code=code):
                self.assertEqual(self.shown(code), expected)
        self.assertLess(len(self.shown("[r] * 10**6")), 10**5)

    def test_hides_no_key_of_the_data_behind_what_shows_it(self) -> None:
        raw = {"content": [], "structuredContent": {"shown": 1}}
        self.assertEqual(self.shown(f"(await mcp_fx.bare(raw={raw!r})).shown"), "1")

    def test_shows_content_once_that_is_the_data_too(self) -> None:
        block = {"type": "resource", "resource": {"uri": "a:b", "blob": "QUJD" * 100}}
        raw = {"content": [block], "structuredContent": {"content": [block]}}
        self.assertEqual(self.shown(f"await mcp_fx.bare(raw={raw!r})"), "[resource: a:b]")

    def test_reads_results_as_the_sdk_does(self) -> None:
        code = "r = await mcp_fx.bare()\nr.content[0].text, r.content[0].type, r.isError, r.structuredContent"
        self.assertEqual(self.shown(code), "('ok', 'text', False, None)")


if __name__ == "__main__":
    unittest.main()
