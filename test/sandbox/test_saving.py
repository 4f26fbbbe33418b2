"""Saved tools: what is found of the session, how the file is edited, and how the next sessions have them."""

from __future__ import annotations

import ast
import importlib
import sys
import types
import unittest
from typing import Any

from harness import KERNEL, Outcome
from keeper import Keeper

package = types.ModuleType("_sandpy")
package.__path__ = [str(KERNEL)]
sys.modules.setdefault("_sandpy", package)
toolfile = importlib.import_module("_sandpy.toolfile")

ADD = "def add(a, b=1):\n    return a + b"

# Cells that define and save `f`; then what the next session sees of it.
SAVED = {
    "a function": ("def f(a, b=1):\n    return a + b", "f(2), f(2, 3)", (3, 5)),
    "an async one": ("async def f(x):\n    return x", "await f(4)", 4),
    "imports": (
        "import math, os.path as p\nfrom collections import Counter as C, deque\nimport xml.dom.minidom\n"
        "def f(): return math.floor(2.5), p.basename('/a/b'), C('aa')['a'], xml.dom.minidom.parseString('<q/>').documentElement.tagName",
        "f()",
        (2, "b", 2, "q"),
    ),
    "an import in a branch": (
        "try:\n  import json\nexcept ImportError:\n  json = None\ndef f(): return json.dumps([1])",
        "f()",
        "[1]",
    ),
    "helpers of helpers": (
        "LIMIT = 10  # at most\ndef _low(x):\n    return min(x, LIMIT)\nclass Box:\n    def __init__(self, x): self.x = _low(x)\n"
        "def f(x): return Box(x).x",
        "f(99), f(1)",
        (10, 1),
    ),
    "each other": (
        "def even(n): return n == 0 or odd(n - 1)\ndef odd(n): return n != 0 and even(n - 1)\ndef f(n): return even(n)",
        "f(4), f(5)",
        (True, False),
    ),
    "a decorator of the session": (
        "import functools\ndef twice(g):\n  @functools.wraps(g)\n  def inner(*a):\n    return 2 * g(*a)\n  return inner\n"
        "@twice\ndef f(x):\n  '''Doubles.'''\n  return x",
        "f(4), f.__doc__",
        (8, "Doubles."),
    ),
    "a decorator that hides": (
        "def twice(g):\n  def inner(*a): return 2 * g(*a)\n  return inner\n@twice\ndef f(x): return x",
        "f(4)",
        8,
    ),
    "a cache": ("from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(x): return x * 2", "f(4)", 8),
    "a default from the session": ("SIZE = 3\ndef f(n=SIZE): return n", "f()", 3),
    "a constant that changed": ("table = {'a': 1}\ntable['b'] = [2]\ndef f(): return table", "f()", {"a": 1, "b": [2]}),
    "something made by a library": (
        "import re\nWORD = re.compile(r'\\w+')\ndef f(t): return WORD.findall(t)",
        "f('a b')",
        ["a", "b"],
    ),
    "a name for a helper": ("def _g(): return 1\nh = _g\ndef f(): return h() + _g()", "f()", 2),
    "what a star imported": ("from math import *\ndef f(): return floor(pi)", "f()", 3),
    "a base class": ("class A:\n    x = 5\nclass B(A): pass\ndef f(): return B.x", "f()", 5),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\ndef f(): return P().x",
        "f()",
        1,
    ),
    "a counter": ("n = 0\ndef f():\n    global n\n    n += 1\n    return n > 0", "f()", True),
    "texts of several lines in a branch": ("if True:\n    def f():\n        return '''a\n  b'''", "f()", "a\n  b"),
    "names of the session": (
        "def f():\n    save_memory('k', 1)\n    return load_memory('k'), runtime is mcp.runtime, callable(display)",
        "f()",
        (1, True, True),
    ),
    "an imported helper of ours": (
        "from mcp.runtime import save_memory as keep\ndef f(): return str(keep('k', 1))[:6]",
        "f()",
        "memory",
    ),
    "strange text": ("def f(): return 'ü\u2028\\x00 \x0c'", "f()", "ü\u2028\x00 \x0c"),
    "a semicolon": ("x = 1; y = 2\ndef f(): return x + y", "f()", 3),
    "a method's names": ("class T:\n    def m(self): return HERE\nHERE = 7\ndef f(): return T().m()", "f()", 7),
    "CRLF": ("def f():\r\n    return 1\r\n", "f()", 1),
}

# What can not be saved, and a part of what is said.
REFUSED = (
    ("f = lambda x: x", "save_tool(f)", "a lambda has no name"),
    ("def make(n):\n  def f(): return n\n  return f\nf = make(1)", "save_tool(f)", "remembers 'n'"),
    ("def f(): return rows\nrows = {}\nrows[1] = object()", "save_tool(f)", "'rows' is a dict of this session"),
    ("def f(): return nothing_here", "save_tool(f)", "'nothing_here' is not defined"),
    ("def f(): return big\nbig = list(range(5000))", "save_tool(f)", "'big' is a list of this session: it is too long"),
    (
        "def f(): return 5",
        "save_tool(f())",
        "save_tool takes a function made with `def`, as in save_tool(f), not an int",
    ),
    ("def f(): pass", "save_tool(f())", "without calling it, not None"),
    ("", "save_tool('f', 'def f(): pass')", "save_tool takes a function alone"),
    ("", "save_tool(print)", "'print' comes from builtins"),
    ("import os", "save_tool(os.path.join)", "comes from posixpath"),
    ("def print(x): pass", "save_tool(print)", "Python has something of that name"),
    ("def display(x): pass", "save_tool(display)", "the session has something of that name"),
    ("def mcp_x(): pass", "save_tool(mcp_x)", "rename it"),
    ("def _f(): pass", "save_tool(_f)", "begin with _"),
    ("exec('def f(): pass')", "save_tool(f)", "exec()"),
    ("", "save_tool", None),
    ("data = open('/etc/hostname')\ndef f(): return data.read()", "save_tool(f)", "'data' is a TextIOWrapper"),
    ("r = runtime.list_servers\ndef f(n=r()): return n\nr = None", "save_tool(f)", "would fail with it"),
)

# A file, an item or two, and the outcome.
EDITS = {
    "an empty file": ("", [("f", "def f(): pass")], "def f(): pass\n"),
    "no end of the last line": ("x = 1", [("f", "def f(): pass")], "x = 1\n\n\ndef f(): pass\n"),
    "CRLF": ("x = 1\r\n", [("f", "def f():\n    pass")], "x = 1\r\n\r\n\r\ndef f():\r\n    pass\r\n"),
    "a byte order mark": (
        "\ufeff# hi\nx = 1\n\n\n\n",
        [("f", "def f(): pass")],
        "\ufeff# hi\nx = 1\n\n\n\ndef f(): pass\n",
    ),
    "in its place": (
        "# a\n@d\ndef f():\n\treturn 1  # one\n\t# end\nx = 1\n",
        [("f", "def f(): return 2")],
        "# a\ndef f(): return 2\n\t# end\nx = 1\n",
    ),
    "the same again": ("def f(): return 2\n\n# c\n", [("f", "def f(): return 2")], "def f(): return 2\n\n# c\n"),
    "a helper before it": (
        "def f(): pass\nx = 1\n",
        [("_h", "_h = 1"), ("f", "def f(): return _h")],
        "_h = 1\n\n\ndef f(): return _h\nx = 1\n",
    ),
    "imports behind imports": (
        '"""Doc."""\nimport os; import sys\n\nx = 1\n',
        [("re", "import re", True), ("os", "import os", True), ("x", "x = 2")],
        '"""Doc."""\nimport os; import sys\nimport re\n\nx = 2\n',
    ),
    "imports in a file of comments": (
        "#!/bin/x\n# c\ny = 1\n",
        [("re", "import re", True), ("y", "y = 2")],
        "#!/bin/x\nimport re\n\n\n# c\ny = 2\n",
    ),
    "imports behind a docstring alone": (
        '"""Doc."""',
        [("re", "import re", True), ("f", "def f(): pass")],
        '"""Doc."""\nimport re\n\n\ndef f(): pass\n',
    ),
    "what is in a branch stays": (
        "if 1:\n    def f(): pass\n",
        [("f", "def f(): return 2")],
        "if 1:\n    def f(): pass\n\n\ndef f(): return 2\n",
    ),
    "one of two targets stays": ("a = b = 1\n", [("a", "a = 2")], "a = b = 1\n\n\na = 2\n"),
}


class Editing(unittest.TestCase):
    def test_edits_a_file(self) -> None:
        for name, (text, items, expected) in EDITS.items():
            with self.subTest(name):
                found = toolfile.ToolFile(text).with_items([toolfile.Item(*item) for item in items])
                self.assertEqual(found, expected)
                toolfile.ToolFile(found)

    def test_moves_all_to_the_end(self) -> None:
        file = toolfile.ToolFile("def f(): pass\n\n\nx = 1\n")
        items = [toolfile.Item("d", "def d(g): return g"), toolfile.Item("f", "@d\ndef f(): pass")]
        self.assertEqual(file.with_items(items, True), "x = 1\n\n\ndef d(g): return g\n\n\n@d\ndef f(): pass\n")

    def test_refuses_what_it_would_break(self) -> None:
        for text, item, part in (
            ("from a import x\n", ("x", "def x(): pass"), "has another 'x' in line 1"),
            ("x = 1\n", ("x", "import x", True), "has another 'x' in line 1"),
            ("from a import x\n", ("x", "from b import x", True), "has another 'x' in line 1"),
            ("x = 1; y = 1\n", ("x", "x = 2"), "several statements in line 1"),
        ):
            with self.subTest(text=text, item=item):
                with self.assertRaises(ValueError) as caught:
                    toolfile.ToolFile(text).with_items([toolfile.Item(*item)])
                self.assertIn(part, str(caught.exception))

    def test_says_what_is_wrong_with_a_file(self) -> None:
        for text, part in (
            ("x = 1\ndef broken(:\n", "line 2: SyntaxError"),
            ("return 1\n", "line 1: SyntaxError"),
            ("a\0b\n", "null byte"),
            ("x = 1\n" * 200_000, "characters, and at most"),
            ("(" * 1000, "line 1"),
        ):
            with self.subTest(text=text[:20]):
                with self.assertRaises(toolfile.FaultyFileError) as caught:
                    toolfile.ToolFile(text)
                self.assertIn(part, str(caught.exception))

    def test_takes_a_definition_out(self) -> None:
        text = "# a\ndef f():\n    pass\n\n\n# b\ndef g(): pass\n"
        self.assertEqual(toolfile.ToolFile(text).without("f"), "# a\n# b\ndef g(): pass\n")


class Saving(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Keeper()

    def tearDown(self) -> None:
        self.sandbox.close()

    def run_well(self, code: str, **fields: Any) -> Outcome:
        """Runs a cell that must succeed."""
        outcome = self.sandbox.run(code, **fields)
        self.assertEqual((outcome.status, outcome.stderr), ("ok", ""), outcome)
        return outcome

    def value(self, code: str, **fields: Any) -> Any:
        """Runs such a cell and reads its result as Python."""
        result = self.run_well(code, **fields).result
        return None if result is None else ast.literal_eval(result)

    def next_session(self) -> None:
        """Starts Python anew; the host says that files changed."""
        self.sandbox.reset()
        self.run_well("None", projects="new")

    def test_saves_with_all_that_is_needed(self) -> None:
        for name, (code, use, expected) in SAVED.items():
            with self.subTest(name):
                self.sandbox.source = ""
                self.sandbox.reset()
                for cell in code.split("\n#---\n"):
                    self.run_well(cell)
                self.assertIn("tool 'f' saved", self.run_well("save_tool(f)").result)
                source = self.sandbox.source
                self.run_well("save_tool(f)")
                self.assertEqual(self.sandbox.source, source)  # in place of a second copy
                self.next_session()
                self.assertEqual(self.value(use), expected, source)
                self.assertEqual(self.value(f"import user_tools\nfrom user_tools import f\n{use}"), expected)

    def test_refuses_what_would_not_work(self) -> None:
        for code, call, part in REFUSED:
            with self.subTest(call=call, code=code):
                self.sandbox.reset()
                self.run_well(code)
                outcome = self.sandbox.run(call)
                if part is not None:
                    self.assertEqual(outcome.error.get("ename"), "NotSavableError", outcome)
                    self.assertIn(part, outcome.error["evalue"])
        self.assertEqual((self.sandbox.source, self.sandbox.leases), ("", {}))

    def test_is_a_decorator_too(self) -> None:
        outcome = self.run_well(
            "import re\n@save_tool\ndef f(x):\n    '''Finds.'''\n    return re.findall('a', x)\nf('aa')"
        )
        self.assertEqual(outcome.result, "['a', 'a']")
        self.assertTrue(outcome.stdout.startswith("tool 'f' saved, with re; "), outcome.stdout)
        self.assertNotIn("save_tool", self.sandbox.source)
        self.run_well(
            "def w(g):\n  def inner(): return [g()]\n  return inner\n@runtime.save_tool\n@w\ndef g(): return 1"
        )
        self.run_well("if 1:\n  @save_tool\n  def h(): return 2")
        self.run_well("@save_tool\nasync def f(x): return x")
        self.next_session()
        self.assertEqual(self.value("await f(3), g(), h()"), (3, [1], 2))

    def test_replaces_and_keeps_what_others_wrote(self) -> None:
        self.sandbox.source = "# mine\r\nMINE = 1  \r\n\r\ndef f(): return 'old'\r\n\r\ndef mine():\r\n\treturn MINE"
        self.assertIn("tool 'f' saved again", self.run_well("def f():\n    return 'new'\nsave_tool(f)").result)
        expected = self.sandbox.source.replace("def f():\r\n    return 'new'", "def f(): return 'old'")
        self.assertEqual(
            expected, "# mine\r\nMINE = 1  \r\n\r\ndef f(): return 'old'\r\n\r\ndef mine():\r\n\treturn MINE"
        )
        self.assertEqual(self.value("[f(), mine()]"), ["new", 1])

    def test_lists_shows_and_deletes(self) -> None:
        self.run_well(
            "RATE = 2\ndef _half(x): return x / RATE\ndef f(x: int, *, y=1) -> float:\n    '''Halves it. Always.'''\n    return _half(x)"
        )
        self.run_well("async def g():\n    pass\nsave_tool(f), save_tool(g)")
        self.assertEqual(
            self.run_well("runtime.list_saved_tools()").result, "f(x: int, *, y=1) -> float  # Halves it\nawait g()"
        )
        self.assertIn("return _half(x)", self.run_well("runtime.show_saved_tool('f')").result)
        self.assertIn("return _half(x)", self.run_well("await runtime.show_saved_tool(f)").result)
        outcome = self.sandbox.run("runtime.show_saved_tool('ff')")
        self.assertIn("no saved tool is called 'ff'. Did you mean 'f'? There is 'f', 'g'", outcome.error["evalue"])
        self.assertEqual(
            self.run_well("runtime.delete_saved_tool('f')").result,
            "tool 'f' deleted; _half stays in the file, though nothing there uses it now",
        )
        self.next_session()
        self.assertEqual(
            self.value("[t.tool for t in runtime.list_saved_tools()], 'f' in globals(), 'g' in globals()"),
            (["g"], False, True),
        )

    def test_is_found(self) -> None:
        self.run_well(
            "def exchange_rate(currency):\n    '''Returns the price of a currency in euros.'''\nsave_tool(exchange_rate)"
        )
        self.next_session()
        shown = self.run_well("await runtime.search_tool_docs('prices of currencies')").result
        self.assertIn("exchange_rate(currency)  # Returns the price of a currency in euros", shown)
        for code in (
            "search_tool_docs_sync('exchange_rate')",
            "query_tool_docs_sync('user_tools')",
            "search_tool_docs_sync('rate', server='user_tools')",
        ):
            self.assertEqual(self.value(f"[d['tool'] for d in runtime.{code}]"), ["exchange_rate"], code)
        self.assertEqual(self.value("[d['tool'] for d in runtime.search_tool_docs_sync('play music')]"), [])
        self.assertEqual(
            self.value("d = (await runtime.query_tool_docs('user_tools', 'exchange_rate'))\nd['server'], d.signature"),
            ("user_tools", "exchange_rate(currency)"),
        )
        shown = self.run_well("runtime.discovered_servers(detailed=True)").result
        self.assertTrue(shown.endswith("saved tools: exchange_rate; runtime.list_saved_tools()"), shown)
        outcome = self.sandbox.run("await runtime.query_tool_docs('user_tools', 'rate')")
        self.assertIn("no saved tool is called 'rate'", outcome.error["evalue"])

    def test_reaches_live_sessions_and_hides_nothing(self) -> None:
        self.run_well("mine = 5\ndef keep(): return 'own'\nNone")
        self.sandbox.source = "def tool(): return 1\ndef keep(): return 2\ndef mine(): pass\ndef print(): pass\n"
        outcome = self.sandbox.run("(tool(), keep(), mine)", projects="1")
        self.assertEqual((outcome.result, outcome.status), ("(1, 'own', 5)", "ok"))
        self.assertIn("print would hide other names", outcome.stderr)
        self.run_well("held = tool")
        self.sandbox.source = "def tool(): return 2\n"
        self.assertEqual(self.value("tool(), held(), 'keep' in globals()", projects="2"), (2, 1, True))
        self.sandbox.source = ""
        self.assertEqual(self.value("'tool' in globals()", projects=""), False)
        self.sandbox.source = "def tool(): return 3\n"
        self.sandbox.reset()
        self.assertEqual(self.value("tool()", projects=None), 3)  # a process before this one was told

    def test_survives_a_file_that_fails(self) -> None:
        for source, part in (
            ("x = 1\ndef broken(:\n", "line 2: SyntaxError: invalid syntax: def broken(:"),
            ("def tool(): pass\nimport nothing_of_that_name\n", "line 2: ModuleNotFoundError"),
            ("def tool(): pass\n1 / 0\n", "line 2: ZeroDivisionError: division by zero: 1 / 0"),
            ("import os\nos._exit(7)\n", "it ends Python"),
            ("import os\nos.kill(os.getpid(), 11)\n", "it ends Python"),
            ("raise SystemExit('x')\n", "line 1: SystemExit: x"),
            ("while True: pass\n", "it did not end within 2 s"),
            ("import time\ntime.sleep(60)\n", "it did not end within 2 s"),
            ("a\0b\n", "null byte"),
            ("x = 1\n" * 300_000, "characters, and at most"),
        ):
            with self.subTest(source=source[:40]):
                self.sandbox.source = source
                self.sandbox.reset()
                outcome = self.sandbox.run("print('runs')", projects="new")
                self.assertEqual((outcome.status, outcome.stdout), ("ok", "runs\n"))
                self.assertIn("the saved tools can not be used: /projects/user_tools.py, ", outcome.stderr)
                self.assertIn(part, outcome.stderr)
                self.assertEqual(self.sandbox.run("1").stderr, "")
                outcome = self.sandbox.run("import user_tools")
                self.assertEqual(outcome.error["ename"], "ImportError")
                self.assertIn(part, outcome.error["evalue"])
                self.assertEqual(self.value("[*runtime.search_tool_docs_sync('tool')], 5"), ([], 5))
        self.sandbox.source = "def tool(): return 1\n"
        self.assertEqual(self.value("tool()", projects="newer"), 1)

    def test_does_not_let_the_file_change_the_session(self) -> None:
        self.sandbox.source = "import builtins\nbuiltins.print = lambda *a: None\ndef tool(): return 1\n"
        self.assertEqual(self.sandbox.run("print('here')", projects="new").stdout, "here\n")

    def test_asks_for_nothing_where_nothing_is_saved(self) -> None:
        self.run_well("1")
        self.assertEqual(self.sandbox.rpcs, [])
        outcome = self.sandbox.run("import user_tools")
        self.assertIn("[hint] no tool is saved yet: save_tool(function)", outcome.error["traceback"])

    def test_asks_the_host_where_the_file_does(self) -> None:
        self.sandbox.serve("memory_save", {"key": "k", "value": "5", "metadata": None})
        self.sandbox.source = "K = load_memory('k')\ndef tool(): return K\n"
        self.assertEqual(self.value("tool()", projects="new"), 5)


if __name__ == "__main__":
    unittest.main()
