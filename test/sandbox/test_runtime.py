"""The helpers of `mcp.runtime`: what they ask the host, give, and show."""

from __future__ import annotations

import ast
import unittest
from typing import Any

from harness import RpcFailure, Sandbox

FX = {"name": "fx", "alias": "fx", "description": "fixture", "status": "connected", "tools": 2}
DASHED = {"name": "web-search", "alias": "web_search", "description": "", "status": "idle", "tools": None}
NEW = {"name": "late-one", "alias": "late_one", "description": "came later", "status": "idle", "tools": 1}
OFF = {
    "name": "off",
    "alias": "off",
    "description": "switched off",
    "status": "disabled",
    "tools": 3,
    "reason": "is switched off. The user can switch it on in ~/x.json.",
}
NAMES = [{key: each[key] for key in ("name", "alias", "description")} for each in (FX, DASHED)]
SCHEMA = {"type": "object", "properties": {"q": {"type": "string", "description": "What."}}, "required": ["q"]}
TOOLS = [
    {
        "name": "find-it",
        "alias": "find_it",
        "description": "Finds things. Slowly.",
        "inputSchema": SCHEMA,
        "outputSchema": {"type": "object"},
    },
    {"name": "_repr_html_", "alias": "x_repr_html_", "description": "", "inputSchema": {"type": "object"}},
]
RESOURCES = {
    "resources": [{"uri": "demo://a", "name": "a", "mimeType": "text/plain", "description": "The\nfirst."}],
    "templates": [{"uriTemplate": "demo://{id}", "name": "any"}],
    "complete": True,
}
CONTENTS = {
    "contents": [
        {"uri": "demo://a", "text": '{"n": 1}'},
        {"uri": "demo://b", "mimeType": "image/png", "blob": "QUJD" * 100},
    ]
}
PROMPTS = {
    "prompts": [{"name": "ask", "arguments": [{"name": "city", "required": True}, {"name": "how"}]}, {"name": "plain"}],
    "complete": False,
}
PROMPT = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}, {"role": "assistant", "content": {}}]
}


def answer(method: str, params: dict) -> Any:
    """Plays the host."""
    server = params.get("server")
    if server == "nope":
        raise RpcFailure("unknown", "no server is called 'nope'", server)
    if method == "add_server" and server == "off":
        raise RpcFailure("denied", 'server "off" is switched off', server)
    details = {**(NEW if server == "late-one" else FX), "reason": None, "instructions": None, "tools": TOOLS}
    answers: dict[str, Any] = {
        "servers": [FX, DASHED, NEW],
        "tools": TOOLS,
        "tool_docs": TOOLS,
        "call_tool": {"content": []},
        "describe_server": {**OFF, "instructions": "Use it.", "tools": None} if server == "off" else details,
        "add_server": details,
        "find_servers": {"servers": [{**FX, "reason": None}, OFF], "total": 9, "searched": 12},
        "search_tools": {
            "matches": [{"server": "web-search", "serverAlias": "web_search", "tool": tool} for tool in TOOLS],
            "total": 37,
            "searched": 527,
            "unknown": 0,
            "unknownServers": [],
            "learning": 0,
            "suggestions": [],
        },
        "list_resources": RESOURCES,
        "read_resource": CONTENTS,
        "list_prompts": PROMPTS,
        "get_prompt": PROMPT,
    }
    if method == "search_tools" and params["query"] == "zzz":
        none = {"matches": [], "total": 0, "searched": 527, "unknown": 3, "unknownServers": ["a", "b"], "suggestions": ["find-it", "page"]}
        return {**none, "learning": params["limit"] - 1}
    if method == "find_servers" and params["query"] == "zzz":
        return {"servers": [], "total": 0, "searched": 12}
    return answers[method]


answer.lists_tools = True


class Runtime(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox(answer=answer)

    def tearDown(self) -> None:
        self.sandbox.close()

    def shown(self, code: str, **fields: Any) -> str:
        """Runs a cell that must succeed; returns its result."""
        outcome = self.sandbox.run(code, **{"servers": NAMES, **fields})
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.result

    def value(self, code: str, **fields: Any) -> Any:
        """The same, read as Python."""
        return ast.literal_eval(self.shown(code, **fields))

    def test_has_every_name_of_the_original_system(self) -> None:
        names = (
            "discovered_servers list_servers list_servers_sync describe_server list_loaded_server_metadata list_tools "
            "list_tools_sync query_tool_docs query_tool_docs_sync call_tool capability_summary MCPError find_servers "
            "search_tool_docs search_tool_docs_sync add_server list_resources read_resource list_prompts get_prompt"
        ).split()
        code = f"[n for n in {names} if not (callable(getattr(runtime, n)) and n in runtime.__all__)]"
        self.assertEqual(self.value(code), [])
        self.assertEqual(self.value("[n for n in runtime.__all__ if not getattr(runtime, n).__doc__]"), [])

    def test_shows_servers_on_a_line_each(self) -> None:
        self.assertEqual(self.shown("runtime.discovered_servers()"), "['fx', 'web-search', 'late-one']")
        self.assertEqual(
            self.shown("await runtime.discovered_servers(detailed=True)"),
            "mcp_fx  # 2 tools, connected: fixture\n"
            "mcp_web_search  # 'web-search'\n"
            "mcp_late_one  # 'late-one', 1 tool: came later",
        )

    def test_uses_at_once_what_it_found(self) -> None:
        code = "runtime.list_servers()\nmcp_servers['late-one'], mcp_late_one, mcp.servers.late_one"
        self.assertEqual(self.shown(code), "(" + ", ".join(["<MCP server 'late-one'>"] * 3) + ")")
        self.assertEqual(self.shown("mcp_late_one", servers=None), "<MCP server 'late-one'>")

    def test_keeps_the_servers_of_the_last_frame(self) -> None:
        self.assertEqual(self.shown("mcp_web_search"), "<MCP server 'web-search'>")
        asked = len(self.sandbox.rpcs)
        self.assertEqual(
            self.shown("mcp_web_search, LOADED_MCP_SERVERS", servers=None, loaded=["fx"]),
            "(<MCP server 'web-search'>, ('fx',))",
        )
        self.assertEqual(len(self.sandbox.rpcs), asked)

    def test_names_of_the_same_servers_come_back_and_the_users_own_stay(self) -> None:
        self.shown("del mcp_fx, mcp_servers, LOADED_MCP_SERVERS\nruntime = 'mine'", servers=None)
        self.assertEqual(
            self.shown("mcp_fx, len(mcp_servers) > 0, LOADED_MCP_SERVERS, runtime", servers=None, loaded=["fx"]),
            "(<MCP server 'fx'>, True, ('fx',), 'mine')",
        )
        self.shown("LOADED_MCP_SERVERS = 'mine'", servers=None)
        self.assertEqual(self.shown("LOADED_MCP_SERVERS", servers=None, loaded=["fx"]), "'mine'")

    def test_asks_for_servers_that_a_process_before_took_with_it(self) -> None:
        self.assertEqual(self.shown("mcp_late_one", servers=None), "<MCP server 'late-one'>")
        self.sandbox.reset()
        self.assertEqual(self.shown("mcp_fx", servers=None), "<MCP server 'fx'>")
        self.assertEqual([frame["method"] for frame in self.sandbox.rpcs], ["servers", "servers"])

    def test_describes_a_server(self) -> None:
        shown = "mcp_fx  # 2 tools, connected: fixture\nawait mcp_fx.<tool>(...):\nfind_it(q: str)  # Finds things\nx_repr_html_()"
        for code in ("runtime.describe_server('fx')", "await runtime.describe_server(mcp_fx)"):
            self.assertEqual(self.shown(code), shown)
        self.assertEqual(
            self.value("[t['alias'] for t in runtime.describe_server('fx')['tools']]"), ["find_it", "x_repr_html_"]
        )
        self.assertEqual(self.shown("runtime.list_loaded_server_metadata()", loaded=["fx"]), shown.partition("\n")[0])
        self.assertEqual(self.shown("runtime.list_loaded_server_metadata()"), "[]")
        self.assertEqual(
            self.shown("runtime.describe_server('off')"),
            "off: not usable  # switched off ('off' is switched off. The user can switch it on in ~/x.json.)\n"
            "instructions: Use it.",
        )
        self.assertIn("no server is called 'nope'", self.sandbox.run("runtime.describe_server('nope')").error["evalue"])

    def test_finds_servers_and_says_how_many_there_are(self) -> None:
        self.assertEqual(
            self.shown("await runtime.find_servers('thing')"),
            "2 of 9 for 'thing', 12 servers are known\n"
            "mcp_fx  # 2 tools, connected: fixture\n"
            "off: not usable  # switched off ('off' is switched off. The user can switch it on in ~/x.json.)\n"
            "more: runtime.find_servers('thing', limit=9)",
        )
        self.assertEqual(
            self.shown("runtime.find_servers('zzz').result()"),
            "0 of 0 for 'zzz', 12 servers are known\nall of them: runtime.find_servers(limit=100)",
        )
        self.assertEqual(self.value("[s.name for s in await runtime.find_servers()]"), ["fx", "off"])

    def test_adds_a_server(self) -> None:
        shown = self.shown("await runtime.add_server('late-one')")
        self.assertTrue(
            shown.startswith("mcp_late_one  # 'late-one', 2 tools: came later\nawait mcp_late_one.<tool>(...):\n"),
            shown,
        )
        self.assertEqual(self.shown("mcp_late_one", servers=None), "<MCP server 'late-one'>")
        code = "try:\n    await runtime.add_server('off')\nexcept runtime.MCPError as e:\n    print(e.kind, e)"
        self.assertEqual(self.sandbox.run(code).stdout, 'denied off: server "off" is switched off\n')

    def test_documents_without_and_with_schemas(self) -> None:
        summary = {
            "server": "web-search",
            "serverAlias": "web_search",
            "tool": "find-it",
            "toolAlias": "find_it",
            "description": "Finds things.",
            "signature": "find_it(q: str)",
        }
        full = {**summary, "description": "Finds things. Slowly."}
        full.update(inputSchema=SCHEMA, outputSchema={"type": "object"})
        docs = "runtime.query_tool_docs_sync('web-search'"
        self.assertEqual(self.value(f"dict({docs})[0])"), summary)
        self.assertEqual(self.value(f"dict({docs}, detail='full')[0])"), full)
        self.assertEqual(self.value(f"'outputSchema' in {docs}, detail='full')[1]"), False)
        self.assertEqual(self.shown(f"{docs})[0]"), "await mcp_web_search.find_it(q: str)  # Finds things")
        self.assertEqual(self.shown(f"{docs})[1]"), "await mcp_web_search.x_repr_html_()")

    def test_gives_one_doc_as_the_entry_and_as_a_list_of_it(self) -> None:
        self.shown("one = await runtime.query_tool_docs('fx', 'FIND-IT')\n1")
        self.assertEqual(self.shown("one"), "await mcp_fx.find_it(q: str)\nFinds things. Slowly.\n  q: What.")
        code = "[one['tool'], one.tool, one[0]['tool'], dict(one)['tool'], {**one}['tool'], *(d['tool'] for d in one)]"
        self.assertEqual(self.value(code), ["find-it"] * 6)
        self.assertEqual(
            self.value("len(one), 'tool' in one, 'nope' in one, hasattr(one, 'nope')"), (1, True, False, False)
        )

    def test_resolves_every_printed_call(self) -> None:
        code = (
            "entries = [d for s in runtime.discovered_servers() for d in runtime.query_tool_docs_sync(s)]\n"
            "paths = [repr(d)[len('await '):].partition('(')[0] for d in entries]\n"
            "len(paths), [p for p in paths if not callable(eval(p))]"
        )
        self.assertEqual(self.value(code), (6, []))

    def test_searches_and_says_how_many_there_are_and_what_to_do(self) -> None:
        self.assertEqual(
            self.shown("await runtime.search_tool_docs('find', limit=2)"),
            "2 of 37 for 'find', 527 tools searched\n"
            "await mcp_web_search.find_it(q: str)  # Finds things\n"
            "await mcp_web_search.x_repr_html_()\n"
            "more: limit=8, or other words\n"
            "details: await runtime.query_tool_docs(server, tool)",
        )
        self.assertEqual(self.sandbox.rpcs[-1]["params"], {"query": "find", "limit": 2, "server": None})
        code = "found = runtime.search_tool_docs_sync('find', limit=500, detail='full', server=mcp_web_search)\n"
        self.assertEqual(
            self.value(code + "[(d['server'], d['toolAlias'], d.inputSchema['type']) for d in found]"),
            [("web-search", "find_it", "object"), ("web-search", "x_repr_html_", "object")],
        )
        self.assertEqual(self.sandbox.rpcs[-1]["params"], {"query": "find", "limit": 100, "server": "web-search"})
        self.assertTrue(self.shown("found").startswith("2 of 37 for 'find', 527 tools searched\nawait mcp_web_search."))

    def test_never_leaves_a_search_without_a_next_step(self) -> None:
        nothing = (
            "no tool for 'zzz' in 527\nlike these? 'find-it', 'page'\n"
            "all servers: runtime.discovered_servers(detailed=True), await runtime.find_servers()\n"
            "not searched: "
        )
        shown = self.shown("await runtime.search_tool_docs('zzz', limit=1)")
        self.assertEqual(shown, nothing + "'a', 'b' and 1 more; await runtime.list_tools(server) says why")
        shown = self.shown("await runtime.search_tool_docs('zzz', limit=3)")
        nothing = nothing.replace("like these? 'find-it', 'page'\n", "")  # there may be better ones soon
        self.assertEqual(shown, nothing + "3 servers whose tools are not known yet; search again in some seconds")
        self.shown("await runtime.search_tool_docs(['find', 'it'])")
        self.assertEqual(self.sandbox.rpcs[-1]["params"]["query"], "find it")
        for wrong, kind in (("detail='all'", "ValueError"), ("limit='5'", "TypeError")):
            self.assertEqual(self.sandbox.run(f"runtime.search_tool_docs('x', {wrong})").error["ename"], kind)

    def test_lists_and_reads_resources(self) -> None:
        self.assertEqual(
            self.shown("await runtime.list_resources('fx')"),
            "await runtime.read_resource('fx', uri):\n"
            "demo://a  # a, text/plain: The first.\n"
            "templates, to be filled in:\n"
            "demo://{id}  # any",
        )
        code = "found = runtime.list_resources('fx').result()\n[r.uri for r in found], found.resources is found, found.templates[0]['name']"
        self.assertEqual(self.value(code), (["demo://a"], True, "any"))
        code = "r = await runtime.read_resource('fx', found[0])\nr.data, len(r.bytes), r['contents'][0]['text'], len(r.images[0])"
        self.assertEqual(self.value(code), ({"n": 1}, 308, '{"n": 1}', 300))
        self.assertEqual(self.sandbox.rpcs[-1]["params"], {"server": "fx", "uri": "demo://a"})
        self.assertNotIn("QUJDQUJD", self.shown("r"))
        self.assertEqual(self.sandbox.run("print(r)").stdout, '{"n": 1}\n[image/png, 300 bytes]\n')

    def test_lists_and_fills_in_prompts(self) -> None:
        self.assertEqual(
            self.shown("await runtime.list_prompts('fx')"),
            "await runtime.get_prompt('fx', 'ask', {'city': str, 'how': ...})\n"
            "await runtime.get_prompt('fx', 'plain')\n"
            "… there are more than the host passes on",
        )
        self.assertEqual(self.value("(await runtime.get_prompt('fx', 'ask', {'city': 'Lyon', 'n': [1]})).text"), "Hi")
        arguments = {"city": "Lyon", "n": "[1]"}
        self.assertEqual(self.sandbox.rpcs[-1]["params"], {"server": "fx", "prompt": "ask", "arguments": arguments})
        self.assertEqual(
            self.sandbox.run("print(runtime.get_prompt('fx', 'plain').result())").stdout,
            "user: Hi\nassistant: [None]\n",
        )
        self.assertEqual(self.sandbox.run("runtime.get_prompt('fx', 'a', 5)").error["ename"], "TypeError")

    def test_shows_the_manual_as_text(self) -> None:
        for code in ("runtime.capability_summary()", "await runtime.capability_summary()"):
            self.assertTrue(self.shown(code).startswith("# run_python\n\n"))

    def test_names_only_what_exists_in_the_manual(self) -> None:
        code = (
            "import re\nmanual = runtime.capability_summary()\n"
            "sorted({n for n in re.findall(r'runtime\\.(\\w+)', manual) if not hasattr(runtime, n)})"
        )
        self.assertEqual(self.value(code), [])


if __name__ == "__main__":
    unittest.main()
