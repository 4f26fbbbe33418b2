"""How the last value looks: readable, bounded, quick, whatever it is."""

from __future__ import annotations

import array
import dataclasses
import enum
import gc
import importlib
import sys
import time
import types
import unittest
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from harness import KERNEL, Sandbox

package = types.ModuleType("_sandpy")
package.__path__ = [str(KERNEL)]
sys.modules.setdefault("_sandpy", package)

render_result = importlib.import_module("_sandpy.pretty").render_result

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Thing:
    name: str
    size: int = 0
    hidden: int = dataclasses.field(default=1, repr=False)
    parts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Own:
    name: str

    def __repr__(self) -> str:
        return "own repr"


class Colour(enum.Enum):
    RED = 1


class Listing(list):
    pass


class Shouting(list):
    def __repr__(self) -> str:
        return "LOUD"


class Pretty(unittest.TestCase):
    maxDiff = None

    def test_shows_what_is_short_as_repr_does(self) -> None:
        values: list[Any] = [
            None, True, 5, -1.5, 2j, ..., range(5), "a\n'\"", b"\x00a", bytearray(b"a"), 10**100,
            [], (), {}, set(), frozenset(), (1,), [1, "a", None], {1: [2], "b": (3, {4})}, frozenset({1}), [[]] * 3,
            Listing([1, 2]), Shouting([1]), [Shouting()], deque([1]), deque([1], 5), deque(), defaultdict(int, a=1),
            defaultdict(list), OrderedDict(), Counter("aab"), Counter(), {1: 2}.keys(), {1: 2}.values(), {1: 2}.items(),
            Point(1, [2]), Thing("a", parts=[1]), Own("a"), Colour.RED, {Colour.RED: Point}, Decimal("1.5"), Fraction(1, 3),
            PurePosixPath("a"), array.array("i", [1, 2]), ChainMap({1: 2}), UserDict({1: 2}), int, len, ValueError("x"),
            types.SimpleNamespace(a=1), memoryview(b"a").tolist(), slice(1), {(1, 2): {3}},
        ]  # fmt: skip
        for value in values:
            with self.subTest(value=repr(value)):
                self.assertEqual(render_result(value), repr(value))

    def test_wraps_what_is_long(self) -> None:
        row = {"name": "a" * 15, "roles": ["reader", "writer"], "address": {"city": "b" * 15}}
        rows = [
            (
                [row, row],
                f"[{{'name': '{'a' * 15}', 'roles': ['reader', 'writer'], 'address': {{'city': '{'b' * 15}'}}}},\n"
                f" {{'name': '{'a' * 15}', 'roles': ['reader', 'writer'], 'address': {{'city': '{'b' * 15}'}}}}]",
            ),
            (
                {"first": {**row, "more": ["c" * 30]}, "second": list(range(40))},
                f"{{'first': {{'name': '{'a' * 15}',\n           'roles': ['reader', 'writer'],\n"
                f"           'address': {{'city': '{'b' * 15}'}},\n           'more': ['{'c' * 30}']}},\n"
                f" 'second': [{', '.join(map(str, range(24)))},\n            {', '.join(map(str, range(24, 40)))}]}}",
            ),
            (
                {"k" * 60: [{**row, "roles": []}]},
                f"{{'{'k' * 60}': [\n   {{'name': '{'a' * 15}', 'roles': [], 'address': {{'city': '{'b' * 15}'}}}}]}}",
            ),
            (Thing("n" * 99), f"Thing(name='{'n' * 99}',\n      size=0,\n      parts=[])"),
            ([Point("x" * 99, 1)], f"[Point(x='{'x' * 99}',\n       y=1)]"),
            (("t" * 101,), f"('{'t' * 101}',)"),
        ]
        for value, expected in rows:
            with self.subTest(expected=expected):
                self.assertEqual(render_result(value), expected)

    def test_is_python_again_where_the_parts_are(self) -> None:
        for value in (list(range(999)), {str(n): [n] * 9 for n in range(99)}, [{"a": (n, {n})} for n in range(200)]):
            text = render_result(value)
            self.assertEqual(eval(text), value)
            self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_says_how_much_is_left_out(self) -> None:
        rows = [
            (list(range(1003)), "999, … 3 more]"),
            (set(range(1003)), "999, … 3 more}"),
            (dict.fromkeys(range(1003)), " 999: None,\n … 3 more}"),
            (deque(range(1003)), "999, … 3 more])"),
            (array.array("i", range(1003)), " 998, 999])… 3 more"),
            (["x" * 70_000], "… [cut after 65536 characters]"),
            ("x" * 70_000, "… [cut after 65536 characters]"),
        ]
        for value, end in rows:
            with self.subTest(end=end):
                text = render_result(value)
                self.assertTrue(text.replace("\n", "").endswith(end.replace("\n", "")), text[-60:])
                self.assertLess(len(text), 66_000)

    def test_bounds_depth_and_cycles(self) -> None:
        deep: list = []
        for _ in range(10_000):
            deep = [deep]
        self.assertEqual(render_result(deep), "[" * 20 + "[… 1 item]" + "]" * 20)
        cycle: list = [1]
        cycle.append(cycle)
        self.assertEqual(render_result(cycle), "[1, [...]]")
        loop: dict = {}
        loop["me"] = {"again": loop}
        self.assertEqual(render_result(loop), "{'me': {'again': {...}}}")
        thing = Thing("a")
        thing.parts.append(thing)
        self.assertEqual(render_result(thing), "Thing(name='a', size=0, parts=[Thing(...)])")
        shared = [1]
        self.assertEqual(render_result([shared, shared]), "[[1], [1]]")

    def test_says_what_a_huge_number_is(self) -> None:
        if hasattr(sys, "get_int_max_str_digits"):
            self.assertEqual(render_result([10**5000]), "[<int of about 5001 digits>]")
        self.assertEqual(render_result(1 << 50_000_000), "<int of about 15051501 digits>")

    def test_confines_a_repr_that_fails_to_its_place(self) -> None:
        class Bad:
            def __repr__(self) -> str:
                raise ValueError("no")

        class Worse(list):
            __len__ = __iter__ = __getitem__ = None  # type: ignore[assignment]

        self.assertEqual(
            render_result([1, Bad(), {2: Bad()}]).count("<Bad object; its repr failed with ValueError: no>"), 2
        )
        self.assertEqual(render_result(Worse([1, 2])), "[1, 2]")

        class Text(str):
            def __add__(self, other: object) -> Any:
                raise ValueError

            __radd__ = __getitem__ = __len__ = __add__

        class Sneaky:
            def __repr__(self) -> str:
                return Text("plain")

        self.assertEqual(render_result([Sneaky()]), "[plain]")

    def test_indents_the_lines_of_a_value_in_a_container(self) -> None:
        class Grid:
            def __repr__(self) -> str:
                return "1 2\n3 4"

        self.assertEqual(render_result({"grid": Grid()}), "{'grid': 1 2\n         3 4}")
        self.assertEqual(render_result(Grid()), "1 2\n3 4")

    def test_shows_tables_and_arrays_compactly(self) -> None:
        def to_string(self: Any, **options: Any) -> str:
            return f"a table {options}"

        frame = type("DataFrame", (), {"__module__": "pandas.core.frame", "to_string": to_string})
        mine = type("Mine", (frame,), {"__module__": "__main__"})
        series = type("Series", (), {"__module__": "pandas.core.series", "to_string": to_string})
        shape = {"__module__": "numpy", "shape": (1000, 2), "dtype": "int64"}
        vector = type("ndarray", (), {**shape, "__repr__": lambda self: "array([1, ..., 2])"})
        expected = "a table {'max_rows': 20, 'max_cols': 20, 'max_colwidth': 80, 'show_dimensions': True}"
        self.assertEqual(render_result(frame()), expected)
        self.assertEqual(render_result(mine()), expected)
        self.assertEqual(
            render_result(series()), "a table {'max_rows': 20, 'dtype': True, 'name': True, 'length': True}"
        )
        self.assertEqual(render_result(vector()), "array([1, ..., 2])\nshape (1000, 2), int64")

    def test_takes_milliseconds_for_what_can_not_be_seen(self) -> None:
        many = list(range(10_000_000))
        rows = [
            many,
            tuple(many),
            deque(many),
            dict.fromkeys(many[:1_000_000]),
            set(many[:1_000_000]),
            Thing("a", parts=many),
        ]
        rows += [[many] * 1000, {"a": {"b": many}}, dict.fromkeys(many[:1_000_000]).values(), Counter(many[:1_000_000])]
        gc.freeze()  # looking through what the test made would take longer
        self.addCleanup(gc.unfreeze)
        for value in rows:
            started = time.process_time()
            text = render_result(value)
            self.assertLess(time.process_time() - started, 0.2, text[:50])
            self.assertIn(" more", text[-66_000:])


class Session(unittest.TestCase):
    def test_shows_the_last_value_of_a_cell(self) -> None:
        with Sandbox() as sandbox:
            outcome = sandbox.run("rows = [{'n': n, 'text': 'x' * 40} for n in range(3)]\nrows")
            row = "{{'n': {}, 'text': '" + "x" * 40 + "'}}"
            self.assertEqual(outcome.result, "[" + ",\n ".join(row.format(n) for n in range(3)) + "]")
            self.assertEqual(sandbox.run("len = 5\n[1, (2,)]").result, "[1, (2,)]")


if __name__ == "__main__":
    unittest.main()
