"""What a model reads when it makes a natural mistake, and which ones are none."""

from __future__ import annotations

import subprocess
import unittest

from harness import PYTHON, Sandbox
from test_printed import SIGNATURE, answer

SANDBOX = eval(subprocess.check_output([PYTHON, "-c", "import sys; print(sys.version_info[:2])"]))


class Advice(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox(answer=answer)
        cls.sandbox.run("dir(mcp_fx)")
        cls.sandbox.run("import asyncio, json, subprocess, socket, sys\nfrom urllib.error import URLError")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def hint(self, code: str) -> str:
        """Runs a cell that must fail; returns its hint, "" without one."""
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "error", outcome)
        _, found, hint = outcome.error["traceback"].partition("\n[hint] ")
        self.assertEqual(hint.count("\n"), 1 if found else 0, outcome)
        return hint.strip()

    def test_says_what_to_do(self) -> None:
        rows = [
            ("mcp_fx.bare().text", "write `await` before the call"),
            ("mcp_fx.bare()['content']", "write `await` before the call"),
            ("for t in runtime.list_tools('fx'): pass", "write `await` before the call"),
            ("len(runtime.list_tools('fx'))", "write `await` before the call"),
            ("'x' + mcp_fx.bare()", "write `await` before the call"),
            ("json.loads(mcp_fx.bare())", "write `await` before the call"),
            ("async for t in runtime.list_tools('fx'): pass", "write `await` before the call"),
            ("for r in asyncio.gather(mcp_fx.bare()): r.text", "write `await` before the call"),
            ("async def f(): pass\nf().x", "write `await` before the call"),
            ("r = await mcp_fx.bare()\njson.loads(r)", "`.text`, `.data`"),
            ("(await mcp_fx.bare()).json()", "`.text`, `.data`"),
            ("'x' + (await mcp_fx.bare())", "`.text`, `.data`"),
            ("def size(): return len(mcp_fx.bare().text)\nsize()", "`async def` and `await` before the call"),
            ("r = await mcp_fx.bare()\nr.data['x']", "`.data` is None: take `.text`"),
            ("r = await mcp_fx.bare()\nfor x in r.data: pass", "`.data` is None: take `.text`"),
            ("r = await mcp_fx.bare()\njson.loads(r.text)", "`.data` is None: take `.text`"),
            ("r = await mcp_fx.bare()\nr.text()", "`.text` of a result is a value"),
            ("async with mcp_fx as s: pass", "without `with`" if SANDBOX >= (3, 11) else ""),
            ("runtime.help()", "did you mean `runtime.capability_summary()`?"),
            ("open('projects/x.txt', 'w')", "did you mean '/projects/x.txt'?"),
            ("open('/tmp/no-such-folder/x', 'w')", "os.makedirs('/tmp/no-such-folder') makes it"),
            ("import pandas.core", "pandas is not in the sandbox and cannot be installed"),
            ("import nest_asyncio", "write `await` at top level"),
            ("import sys; sys.modules['IPython'] = None\nfrom IPython.display import Image", "`display(value)` is there without import"),
            ("import mcp_fy", "did you mean `mcp_fx`? The servers are mcp_fx, mcp_my_server"),
            ("await mcp_my_servr.x()", "did you mean `mcp_my_server`?"),
            ("await mcp_server.x()", "did you mean `mcp_my_server`?"),
            ("await mcp_other.x()", "The servers are mcp_fx, mcp_my_server"),
            ("await my_server.x()", "this server is `mcp_my_server`"),
            ("statistics.mean([1])", "add `import statistics`" if SANDBOX < (3, 12) else ""),
            ("[true]", "JSON's true is True in Python"),
            ("await runtime.list_tools()", "name a server, one of 'fx', 'my-server'"),
            ("await runtime.query_tool_docs()", "name a server, one of 'fx', 'my-server'"),
            ("runtime.other('fx')", "call_tool, capability_summary, delete_memory, delete_saved_tool"),
            ("runtime.get_tools('fx')", "did you mean `runtime.list_tools(server)`?"),
            ("runtime.search('x')", "did you mean `runtime.search_tool_docs(query, limit=5"),
            ("await search_tools('x')", "did you mean `runtime.search_tool_docs(query, limit=5"),
            ("runtime.get_tool_schema('x')", "did you mean `runtime.query_tool_docs(server, tool=None"),
            ("from mcp import ClientSession", "connected when used"),
            ("await mcp_switched_off.x()", "the server 'switched-off' is switched off"),
            ("await runtime.read_resource('a:b')", "it is runtime.read_resource(server, uri)"),
            ("await runtime.search_tool_docs('x', 3)", "it is runtime.search_tool_docs(query, limit=5"),
            ("await runtime.call_tool('fx', 't', a=1)", "it is runtime.call_tool(server, tool, arguments=None"),
            ("await runtime.call_tool('t', {'a': 1})", "it is runtime.call_tool(server, tool, arguments)"),
            ("'fx'['name']", "`runtime.discovered_servers(detailed=True)` has dicts"),
            ("mcp.call_tool('fx', 'send-it')", "it is `runtime.call_tool`"),
            ("from mcp import my_servr", "did you mean `mcp_my_server`?"),
            ("runtime.discovered_servers().items()", "discovered_servers(detailed=True)"),
            ("async def f(): pass\nasyncio.create_task(f())", "add `await asyncio.sleep(0)`"),
            ("async def f(): pass\nawait f()\nasyncio.run(f())", "write `await` at top level"),
            ("raise URLError(socket.gaierror(-3, 'Temporary failure'))", "no network"),
            ("raise OSError(101, 'Network is unreachable')", "no network"),
            (
                "try:\n    raise socket.gaierror(-3, '')\nexcept OSError as e:\n    raise ConnectionError from e",
                "no network",
            ),
            ("raise ConnectionRefusedError(111, 'Connection refused')", "localhost is the sandbox itself"),
            ("raise URLError(ConnectionRefusedError(111, ''))", "localhost is the sandbox itself"),
            ("raise OSError(30, 'Read-only file system', '/etc/x')", "only /workspace, /tmp and /projects"),
            ("open('/home/me/notes.md')", "the user's files are not in the sandbox"),
            ("raise FileNotFoundError(2, 'No such file', 'pip')", "has no pip, and no network"),
            (
                "raise subprocess.CalledProcessError(1, ['python', '-m', 'pip', 'install', 'x'])",
                "nothing can be installed",
            ),
            ("def f():\n    await mcp_fx.bare()", "make the function `async def`"),
            ("return 5", "put the value itself on the last line"),
            ("%pip install pandas", "nothing can be installed"),
            ("%matplotlib inline", "leave out lines that start with %"),
            ("!ls -la", "subprocess.run('ls -la', shell=True)"),
            ("```python\n1\n```\n```python\n2\n```", "without Markdown fences"),
            ("~~~\n1\n~~~", "without Markdown fences"),
            ("Here it is:\n```python\n1\n```\nDone.", "send what is in the Markdown fence alone"),
            (">>> print(1)\n1", "leave out the prompts"),
            ("print(\u201chello\u201d)", 'write " in place of \u201c'),
            ("print(\u2018hello\u2019)", "write ' in place of \u2018"),
            ("5 \u2013 3", "write - in place of \u2013"),
            ("print\uff081)", "write ( in place of \uff08"),
            ("x =\u00a05", "U+00A0 only looks like a space"),
            ("x = int\u200b", "leave out U+200B"),
            ("if 1 &lt; 2: print('&')", "the code is escaped for HTML"),
            ("x = 1\\nprint(x)", "the code is escaped once too often"),
            ('print(\\"x\\")', "the code is escaped once too often"),
            ("await mcp_fx.bare(from='me')", "write `from_`, also for tools and their arguments"),
            ("await mcp_fx.bare(to='x', class='a')", "write `class_`"),
            ("await mcp_fx.bare(\n    from='me',\n)", "write `from_`"),
            ("await mcp_fx.class()", "write `class_`"),
            ("const x = 5;", "this is Python: leave out `const`"),
            ("await mcp__fx__send_it(to='me')", f"`await mcp_fx.{SIGNATURE}`"),
            ("await mcp__fx__other()", "a tool is an attribute of `mcp_fx`: server 'fx' has no tool 'other'"),
            ("await mcp_my_server_bare()", "`await mcp_my_server.bare(...)`"),
            ("await mcp__my_server__bare()", "`await mcp_my_server.bare(...)`"),
            ("mcp__My_Server__bare()", "`await mcp_my_server.bare(...)`"),
            ("await fx_send_it()", f"`await mcp_fx.{SIGNATURE}`"),
            (
                "await bare_thing()",
                "if a tool is meant: it is called as `await mcp_server.tool(...)`, and "
                "`await runtime.search_tool_docs('bare thing')` finds it",
            ),
            ("await fx_other()", "if a tool is meant"),
            ("await gather(mcp_fx.bare())", "add `from asyncio import gather`"),
            ("from mcp.shared.exceptions import McpError", "a tool that fails raises `MCPError`"),
            ("import mcp.client.stdio", "this is no SDK"),
            ("try: 1 / 0\nexcept ToolError: pass", "a tool that fails raises `MCPError`"),
            ("print = 5\nprint('x')", "`del print` brings Python's own back"),
            ("del print\nlist = [1]\nlist((1, 2))", "`del list` brings Python's own back"),
            ("del list\nruntime = 3\nawait runtime.list_tools('fx')", "`del runtime` brings ours back"),
            ("del runtime\nmcp_fx = 4\nawait mcp_fx.bare()", "`del mcp_fx` brings ours back"),
            ("del mcp_fx\nsave_memory = 4\nsave_memory('x', 1)", "`del save_memory` brings ours back"),
            ("del save_memory\nraise RuntimeError(\"can't start new thread\")", "use fewer at once"),
            (
                "def _execute_child(): raise BlockingIOError(11, 'Resource temporarily unavailable')\n_execute_child()",
                "os.kill(-1, 9) ends processes that are left behind",
            ),
        ]
        for code, part in rows:
            with self.subTest(code=code):
                self.assertIn(part, self.hint(code))

    def test_shows_how_a_tool_is_called_whose_server_refuses_the_arguments(self) -> None:
        for code in ("await mcp_fx.send_it(items=[], to='wrong')", "await runtime.call_tool('fx', 'send-it', {'to': 'wrong'})"):
            self.assertEqual(self.hint(code), f"it is {SIGNATURE}")
        with Sandbox(answer=answer) as sandbox:
            text = sandbox.run("await runtime.call_tool('fx', 'send-it', {'to': 'wrong'})").error["traceback"]
            self.assertIn("[hint] see `await runtime.query_tool_docs('fx', 'send-it')`\n", text)

    def test_says_which_files_a_program_has(self) -> None:
        for path in ("data.csv", "/home/me/data.csv", "/tmp/no-such-folder/data.csv"):
            with self.subTest(path=path), Sandbox() as sandbox:
                outcome = sandbox.run(f"open({path!r})", argv=["job.py"], filename="/workspace/job.py")
                self.assertIn("a program has no files of yours but those that `sandpy run --in`", outcome.error["traceback"])
        with Sandbox() as sandbox:
            code = "import subprocess\nsubprocess.run(['no-such-program'])"
            outcome = sandbox.run(code, argv=["job.py"], filename="/workspace/job.py")
            self.assertEqual(outcome.error["ename"], "FileNotFoundError")
            self.assertNotIn("[hint]", outcome.error["traceback"])

    def test_says_why_the_data_of_a_text_show_nothing(self) -> None:
        note = "`.data` is None, since the text of this result is no JSON; `.text` has it\n"
        self.sandbox.run("r = await mcp_fx.bare()\nclass Other: data = None")
        for code, expected in [
            ("r.data", note),
            ("r = await mcp_fx.bare()\nr.data;\n", note),
            ("(await mcp_fx.bare()).data", note),
            ("r.text", ""),
            ("Other.data", ""),
            ("x = r.data", ""),
            ("None", ""),
        ]:
            with self.subTest(code=code):
                self.assertEqual(self.sandbox.run(code).stderr, expected)

    def test_keeps_silent_where_the_cause_is_not_certain(self) -> None:
        rows = [
            "undefined_name",
            "my_servers",
            "import json.nothing",
            "raise ModuleNotFoundError('x')",
            "class PendingCall: pass\n[].PendingCall",
            "class Task: pass\nTask().text",
            "class ToolResult_: pass\nToolResult_().x",
            "open('/workspace/nothing')",
            "open('nothing')",
            "json.loads('x')",
            "None['x']",
            "'x'()",
            "raise BlockingIOError(11, 'Resource temporarily unavailable')",
            "var = 1\nvar.x",
            "unknown_function()",
            "await no_tool",
            "text = '&lt;' +",
            "text = '(from=' +",
            "x = 5 \\ 3\nx",
            "try:\n    raise socket.gaierror(-3, '')\nexcept OSError:\n    raise ValueError",
            "raise subprocess.CalledProcessError(1, 'ls')",
            "await asyncio.sleep(print)",
            "x = 'a %s'\n% 5",
            "x = '''\n```python\n''' +",
            "x = (1\ny = '''\n```python\n1\n```\n'''",
            'def f(x)\n    return x\ny = """\n~~~\n"""',
            "sys.argv = ['job.py', '-x']\nopen('nothing')",
            "raise ToolboxError",
            "runtime = list = f = 5\nf(runtime.real, list)",
            "f.nothing(runtime.real)",
            "f.nothing(runtime, list (1))",
            "del runtime, list\n1 / 0",
            "raise RuntimeError('x')",
            "1 / 0",
            "def f(a): pass\nf()",
        ]
        for code in rows:
            with self.subTest(code=code):
                self.assertEqual(self.hint(code), "")

    def test_survives_hostile_exceptions(self) -> None:
        code = (
            "class E(Exception):\n    def __getattribute__(self, name): raise SystemExit\n"
            "    def __str__(self): raise ValueError\nraise E"
        )
        self.assertEqual(self.sandbox.run(code).status, "error")
        self.assertEqual(self.hint("e = OSError()\ne.reason = e\nraise e"), "")
        self.assertEqual(self.sandbox.run("1").result, "1")


class Awaits(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox(answer=answer)
        cls.sandbox.run("import asyncio, threading\nasync def f(): pass")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def test_reports_what_nobody_awaited(self) -> None:
        rows = [
            ("mcp_fx.bare()\nprint()", "fx.bare: called without `await`, so the result or error is not known"),
            ("for _ in range(3): mcp_fx.bare()", "fx.bare (3 times): called without"),
            ("r = mcp_fx['bare'](), mcp_my_server.bare()", "fx.bare, my-server.bare: called without"),
            ("r = asyncio.gather(mcp_fx.bare(), mcp_fx.bare())", "fx.bare (2 times)"),
            ("async def g(): mcp_fx.bare()\nawait asyncio.gather(g(), g())", "fx.bare (2 times)"),
            ("mcp_fx.bare()\nraise ValueError", "fx.bare: called without"),
            ("mcp_fx.bare()\nraise SystemExit", "fx.bare: called without"),
            ("import sys\nmcp_fx.bare()\nsys.stderr.close()", "fx.bare: called without"),
            ("f()\n1", "f: called without `await`, so it did not run"),
            ("f()", "f: called without `await`, so it did not run"),
        ]
        for code, start in rows:
            with self.subTest(code=code):
                stderr = self.sandbox.run(code).stderr
                self.assertTrue(stderr.startswith(start), stderr)
                self.assertEqual(stderr.count("\n"), 1)
                self.assertEqual(self.sandbox.run("1").stderr, "")

    def test_reports_nothing_else(self) -> None:
        rows = [
            "await mcp_fx.bare()",
            "mcp_fx.bare().result()",
            "r = await asyncio.gather(*[mcp_fx.bare() for _ in range(3)])",
            "r = asyncio.run(mcp_fx.bare())",
            "print(mcp_fx.bare())",
            "c = mcp_fx.bare()\nwhile not c.done(): await asyncio.sleep(0)",
            "t = asyncio.ensure_future(mcp_fx.bare())\nawait asyncio.wait([t])",
            "t = threading.Thread(target=lambda: mcp_fx.bare().result())\nt.start()\nt.join()",
            "async def later():\n    await asyncio.sleep(0)\n    await mcp_fx.bare()\n"
            "t = asyncio.ensure_future(later())\nawait asyncio.sleep(0)",
            "runtime.discovered_servers()",
            "c = f()\nawait c",
        ]
        for code in rows:
            with self.subTest(code=code):
                self.assertEqual(self.sandbox.run(code).stderr, "")
                self.assertEqual(self.sandbox.run("1").stderr, "")

    def test_says_it_once(self) -> None:
        for code in ("mcp_fx.bare().text", "f().text", "await f()\nasyncio.run(f())"):
            with self.subTest(code=code):
                outcome = self.sandbox.run(code)
                self.assertIn("[hint] ", outcome.error["traceback"])
                self.assertEqual(outcome.stderr, "")
                self.assertEqual(self.sandbox.run("import gc; gc.collect(); 1").stderr, "")

    def test_leaves_a_generator_alone_that_an_error_came_through(self) -> None:
        self.sandbox.run(
            "def gen():\n    try:\n        1 / 0\n    except ZeroDivisionError as e:\n        yield e\n    yield 'on'\n"
            "g = gen()"
        )
        self.assertEqual(self.sandbox.run("raise next(g)").error["ename"], "ZeroDivisionError")
        self.assertEqual(self.sandbox.run("next(g)").result, "'on'")

    def test_lets_a_call_be_awaited_later(self) -> None:
        self.sandbox.run("c = mcp_fx.bare()")
        self.assertEqual(self.sandbox.run("(await c).text").result, "'ok'")


class Source(unittest.TestCase):
    def test_takes_off_what_code_is_wrapped_in(self) -> None:
        rows = [
            ("    import math\n    if True:\n        x = 5\n\n    x", "5"),
            ("\n\t\tx = 6\r\n\t\tx", "6"),
            ("  # why\n  7", "7"),
            ("  '''\n  a'''", "'\\na'"),
            ("\ufeff8", "8"),
            ("```python\n9\n```", "9"),
            ("\n```\r\n    10\r\n```\n", "10"),
            ("```py\n# ```\n11\n```", "11"),
            # and nothing where it is Python already
            ("    # why\n'''\n  \n   a'''", "'\\n  \\n   a'"),
            ("'''\n```\n'''", "'\\n```\\n'"),
        ]
        with Sandbox() as sandbox:
            for code, result in rows:
                with self.subTest(code=code):
                    outcome = sandbox.run(code)
                    self.assertEqual(outcome.result, result, outcome)
            self.assertIn("line 3, in <module>\n    1 / 0\n", sandbox.run("\n```\n  1 / 0\n```").error["traceback"])
            self.assertEqual(sandbox.run("  x = 1\n y = 2").error["ename"], "IndentationError")

    def test_lets_servers_be_imported(self) -> None:
        with Sandbox(answer=answer) as sandbox:
            code = "import mcp_fx, mcp_servers, runtime as rt\nfrom mcp_my_server import bare\n"
            outcome = sandbox.run(code + "(await bare()).text, mcp_fx, mcp_servers, rt is runtime")
            self.assertEqual(outcome.result, "('ok', <MCP server 'fx'>, <MCP servers: fx, my-server>, True)")


if __name__ == "__main__":
    unittest.main()
