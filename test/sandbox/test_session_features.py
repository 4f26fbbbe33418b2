"""What libraries and people expect of code in `__main__`: its source, its classes, its names; and long code."""

from __future__ import annotations

import time
import unittest

from harness import Sandbox, patient


class Features(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def value(self, code: str) -> str:
        """Runs a cell that must succeed; returns its result."""
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.result

    def test_pickles_what_cells_define(self) -> None:
        self.value(
            "import copy, dataclasses, enum, pickle\nfrom collections import namedtuple\n"
            "class Plain:\n    def __init__(self): self.a = 1\n"
            "@dataclasses.dataclass\nclass Data:\n    b: int\n"
            "class Colour(enum.Enum):\n    RED = 1\n"
            "Pair = namedtuple('Pair', 'x y')\ndef double(n): return 2 * n"
        )
        self.assertEqual(
            self.value(
                "again = [pickle.loads(pickle.dumps(x, p)) for p in range(6) for x in (Data(2), Colour.RED, Pair(1, 2), double)]\n"
                "again == [Data(2), Colour.RED, Pair(1, 2), double] * 6, vars(pickle.loads(pickle.dumps(Plain()))), copy.deepcopy(Data(5))"
            ),
            "(True, {'a': 1}, Data(b=5))",
        )
        self.assertEqual(
            self.value(
                "import shelve, tempfile, os\nwith shelve.open(os.path.join(tempfile.mkdtemp(), 's')) as s:\n    s['d'] = Data(7)\n    d = s['d']\nd"
            ),
            "Data(b=7)",
        )

    def test_finds_the_source_of_functions_and_classes(self) -> None:
        self.value(
            "import dataclasses, enum, inspect\n"
            "def decorate(x): return x\n"
            "@decorate\ndef function(a,\n             b=2):\n    return a\n\n"
            "class Outer:\n    class Inner:\n        def method(self):\n            pass\n\n    @property\n    def p(self): return 1\n\n"
            "@dataclasses.dataclass\nclass Data:\n    field: int = 5  # here\n\n"
            "class Colour(enum.Enum):\n    RED = 1\n\n"
            "async def later(): pass\nshort = lambda n: n + 1"
        )
        rows = [
            ("function", "@decorate\ndef function(a,\n             b=2):\n    return a\n"),
            ("Outer.Inner", "    class Inner:\n        def method(self):\n            pass\n"),
            ("Outer.Inner.method", "        def method(self):\n            pass\n"),
            ("Data", "@dataclasses.dataclass\nclass Data:\n    field: int = 5  # here\n"),
            ("Colour", "class Colour(enum.Enum):\n    RED = 1\n"),
            ("later", "async def later(): pass\n"),
            ("short", "short = lambda n: n + 1\n"),
        ]
        self.value("'another cell'")
        for name, source in rows:
            with self.subTest(name):
                self.assertEqual(eval(self.value(f"inspect.getsource({name})")), source)
        self.assertEqual(self.value("inspect.getsourcelines(Data)[1]"), "16")

    def test_finds_the_newest_of_two_classes(self) -> None:
        self.value("import inspect\nclass Twice:\n    'old'")
        self.value("\nclass Twice:\n    'new'")
        self.assertEqual(eval(self.value("inspect.getsource(Twice)")), "class Twice:\n    'new'\n")
        self.assertEqual(
            self.sandbox.run("inspect.getsource(type('Made', (), {}))").error["ename"] in ("OSError", "TypeError"), True
        )
        self.assertIn("class UserDict", self.value("import collections\ninspect.getsource(collections.UserDict)"))

    def test_resolves_annotations_across_cells(self) -> None:
        self.value(
            "from __future__ import annotations\nimport typing\nclass Node:\n    next: Node | None\n    def link(self, to: 'Late') -> Node: ..."
        )
        self.value("class Late: pass")
        self.assertEqual(
            self.value("typing.get_type_hints(Node.link)"),
            "{'to': <class '__main__.Late'>, 'return': <class '__main__.Node'>}",
        )

    def test_dispatches_and_checks_as_in_a_module(self) -> None:
        self.value(
            "import functools\n@functools.singledispatch\ndef show(x): return 'any'\n@show.register\ndef _(x: int): return 'int'"
        )
        self.value("class Shape: pass\n@show.register(Shape)\ndef _(x): return 'shape'")
        self.assertEqual(
            self.value("show(1), show('a'), show(Shape()), Shape.__module__, __name__"),
            "('int', 'any', 'shape', '__main__', '__main__')",
        )

    def test_runs_doctests_and_unittests(self) -> None:
        code = "import doctest\ndef half(n):\n    '''\n    >>> half(4)\n    2.0\n    >>> half(3)\n    2.0\n    '''\n    return n / 2\ndoctest.testmod()"
        outcome = self.sandbox.run(code)
        self.assertEqual(outcome.result, "TestResults(failed=1, attempted=2)")
        self.assertIn("Got:\n    1.5", outcome.stdout)
        outcome = self.sandbox.run(
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(half(2), 1)\nunittest.main(argv=['x'], exit=False).result.wasSuccessful()"
        )
        self.assertEqual(outcome.result, "True")
        self.value("del T, half")

    def test_shows_the_line_of_any_code(self) -> None:
        rows = [
            ("a = 1\r\nb = '\u2028 \x0c \x85'\r\n\r\nboom", 4),
            ("a = 1\rb = 2\rboom", 3),
            ("# \u00e9\x1c\x1d\x0c\nboom", 2),
            ("\ufeffa = 1\nboom", 2),
            ("    a = '\u2028'\n    boom", 2),
            ("if True:\n\tboom", 2),
            ("def f():\n  return boom\nf()", 2),
        ]
        for code, line in rows:
            with self.subTest(code):
                trace = self.sandbox.run(code).error["traceback"]
                self.assertRegex(trace, rf"line {line}, in [^\n]+\n    (return )?boom\n")

    def test_runs_functions_of_cells_that_were_forgotten(self) -> None:
        with Sandbox() as sandbox:
            sandbox.run("def old(n):\n    return 1 / n\nimport linecache")
            for _ in range(520):
                sandbox.run("1")
            self.assertEqual(sandbox.run("len([n for n in linecache.cache if n.startswith('<cell')])").result, "500")
            self.assertEqual(sandbox.run("old(2)").result, "0.5")
            self.assertIn('File "<cell 1>", line 2, in old\n', sandbox.run("old(0)").error["traceback"])
            for _ in range(5):
                sandbox.run("#" + "x" * 9_000_000)
            self.assertLess(int(sandbox.run("len([n for n in linecache.cache if n.startswith('<cell')])").result), 5)

    def test_takes_long_code(self) -> None:
        count = 100_000
        rows = [
            ("a string", "s = '" + "x" * 10_000_000 + "'\nlen(s)", "10000000"),
            ("lines without end", "\n" * 10_000_000 + "5", "5"),
            ("many statements", "n = 1\n" * 200_000 + "\n# the end\nn", "1"),
            ("a value on many lines", "n = 1\n" * 200_000 + "[\n n,\n]", "[1]"),
            ("one long value", "x = [" + "1234567, " * 200_000 + "]\nlen(x)", "200000"),
            ("text that looks like the end", "s = '''\n" + "n\n" * 600_000 + "'''; len(s)", "1200001"),
            ("no value", "n = 1\n" * 200_000 + "n = 2", None),
            ("an await", "n = 1\n" * 200_000 + "await __import__('asyncio').sleep(0, n)", "1"),
            ("functions", "".join(f"def f{n}(): return {n}\n" for n in range(count // 2)) + "f9()", "9"),
        ]
        for title, code, result in rows:
            with self.subTest(title):
                started = time.monotonic()
                self.assertEqual(self.value(code), result)
                self.assertLess(time.monotonic() - started, patient(15))
        self.assertEqual(self.sandbox.run("n = 1\n" * 200_000 + "n = = 2").error["ename"], "SyntaxError")
        trace = self.sandbox.run("n = 1\n" * 200_000 + "boom").error["traceback"]
        self.assertRegex(trace, r"line 200001, in <module>\n    boom\n")


if __name__ == "__main__":
    unittest.main()
