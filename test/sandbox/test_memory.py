"""Memories as code uses them: what comes back, what is refused, who waits for whom."""

from __future__ import annotations

import ast
import unittest
from typing import Any

from harness import Outcome
from keeper import Keeper

# Each is kept and comes back equal, types included.
VALUES = (
    "{'v': [1, 2.0, None, True, 'ü'], '3': {}}",
    "'x'",
    "None",
    "[]",
    "{'': [[[{}]]], 'a b': -0.5, '\\u2028': '\\x00', '__proto__': 1}",
    "10 ** 25",
    "[-(2 ** 64), 1e-300, 1.7976931348623157e308, 0.1]",
    "'😀' * 1000",
)

# What is refused, and a part of what is said.
REFUSED = (
    ("{'a': [0, {'x': {1, 2}}]}", "TypeError", 'value["a"][1]["x"] is a set', "use sorted(x) or list(x)"),
    ("b'ab'", "TypeError", "value is a bytes", "base64"),
    ("[float('nan')]", "ValueError", "value[0] is nan", "use None"),
    ("{'x': float('-inf')}", "ValueError", 'value["x"] is -inf', ""),
    ("{'a': {3: 1}}", "TypeError", 'value["a"] has the int 3 as a key', "{str(k): v for k, v in"),
    ("{None: 1}", "TypeError", "value has the NoneType None as a key", ""),
    ("(lambda a: a.append(a) or a)([1])", "ValueError", "value contains itself", "at value[1]"),
    ("(lambda d: d.update(k={'d': d}) or d)({})", "ValueError", "contains itself", 'at value["k"]["d"]'),
    ("[['a\\ud800']]", "ValueError", "value[0][0] has a lone surrogate", ""),
    ("{'\\udc00': 1}", "ValueError", "lone surrogate", ""),
    ("[object()]", "TypeError", "value[0] is an object", "use a dict"),
    ("__import__('datetime').date(2020, 1, 2)", "TypeError", "value is a date", "isoformat"),
    ("__import__('decimal').Decimal('1.5')", "TypeError", "is a Decimal", "str(x)"),
    ("__import__('pathlib').Path('/a')", "TypeError", "Path", "str(x)"),
    ("__import__('uuid').UUID(int=1)", "TypeError", "is an UUID", "str(x)"),
    ("1j", "TypeError", "is a complex", "x.real"),
    ("print", "TypeError", "builtin_function_or_method", "save_tool"),
    ("{'a': 1}.keys()", "TypeError", "dict_keys", "list(x)"),
    ("(n for n in 'ab')", "TypeError", "is a generator", "list(x)"),
    ("__import__('array').array('i')", "TypeError", "is an array", "tolist"),
    ("__import__('dataclasses').make_dataclass('P', ['x'])(1)", "TypeError", "is a P", "asdict"),
    ("__import__('enum').Enum('Color', 'RED').RED", "TypeError", "is a Color", "x.value"),
    ("__import__('functools').reduce(lambda a, _: [a], range(300), 0)", "ValueError", "deeper than 200 levels", ""),
    ("__import__('functools').reduce(lambda a, _: [a, a], range(60), 0)", "ValueError", "8,388,608 items", "parts"),
    ("'x' * (17 * 1024 * 1024)", "ValueError", "17.0 MiB of JSON", "16 MiB"),
)

KEYS = (
    ("5", "TypeError", "the key of a memory is a str, not int 5"),
    ("None", "TypeError", "not NoneType"),
    ("b'a'", "TypeError", "not bytes"),
    ("''", "ValueError", "must not be empty"),
    ("'\\ud800'", "ValueError", "lone surrogate"),
    ("'x' * 1025", "ValueError", "1,025 bytes"),
)

MISTAKES = (
    ("save_memory({'a': 1}, 'prefs')", "save_memory('prefs', value)"),
    ("save_memory(value={'a': 1})", "[hint] it is save_memory(key, value, metadata=None)"),
    ("save_memory('a', 1, metadata=[1])", "metadata is a dict, such as"),
    ("update_memory('n', 5)", "save_memory('n', value)"),
    ("update_memory('n', lambda v: [].append(1))", "the function returned None, so memory 'n' is as it was"),
    ("async def f(v): return 1\nupdate_memory('n', f)", "write `await update_memory('n', ...)`"),
    ("update_memory('n', lambda v: {1})", "the new value is a set"),
    ("update_memory('n', lambda v: update_memory('n', lambda w: 1))", "memory 'n' can not be updated"),
    ("update_memory('n', lambda v: save_memory('n', 1) and 2)", "return the new value from there"),
    ("update_memory('n', lambda v: delete_memory('n'))", "memory 'n' can not be deleted now"),
    ("memory.save('a', 1)", "save_memory(key, value)"),
    ("save_memry('a', 1)", "did you mean `save_memory(key, value, metadata=None)`"),
)


class Memories(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Keeper()

    def tearDown(self) -> None:
        self.sandbox.close()

    def run_well(self, code: str) -> Outcome:
        """Runs a cell that must succeed."""
        outcome = self.sandbox.run(code)
        self.assertEqual((outcome.status, outcome.stderr), ("ok", ""), outcome)
        return outcome

    def value(self, code: str) -> Any:
        """Runs such a cell and reads its result as Python."""
        result = self.run_well(code).result
        return None if result is None else ast.literal_eval(result)

    def test_keeps_values_with_their_types(self) -> None:
        for text in VALUES:
            with self.subTest(value=text):
                code = f"v = {text}\nsave_memory('k', v)\nw = load_memory('k')\n(v == w, repr(v) == repr(w))"
                self.assertEqual(self.value(code), (True, True))

    def test_keeps_every_digit(self) -> None:
        code = "n = 7 ** 20000\nsave_memory('n', [n, -n])\nload_memory('n') == [n, -n]"
        self.assertEqual(self.value(code), True)
        limit = "import sys\ngetattr(sys, 'get_int_max_str_digits', lambda: 4300)()"
        self.assertEqual(self.value(limit), 4300)

    def test_takes_what_stands_for_json(self) -> None:
        code = (
            "import collections, enum\nclass S(str): pass\nclass E(enum.IntEnum):\n  A = 3\n"
            "P = collections.namedtuple('P', 'x y')\n"
            "v = collections.OrderedDict(b=(1, P(2, S('s'))), a=E.A)\nv[S('k')] = collections.Counter('aa')\n"
            "save_memory('k', v, {'tags': ['t']})\nw = load_memory('k')\n"
            "(w, [type(x) is t for x, t in ((w['a'], int), (w, dict), (w['b'][1][1], str))], list(w))"
        )
        value = {"b": [1, [2, "s"]], "a": 3, "k": {"a": 2}}
        self.assertEqual(self.value(code), (value, [True] * 3, ["b", "a", "k"]))

    def test_refuses_all_else_with_its_place(self) -> None:
        for value, kind, *parts in REFUSED:
            with self.subTest(value=value):
                outcome = self.sandbox.run(f"save_memory('k', {value})")
                self.assertEqual(outcome.error["ename"], kind, outcome)
                for part in parts:
                    self.assertIn(part, outcome.error["evalue"])
        self.assertEqual([each["method"] for each in self.sandbox.rpcs], [])

    def test_refuses_keys(self) -> None:
        functions = ("load_memory({})", "save_memory({}, 1)", "delete_memory({})", "update_memory({}, len)")
        for key, kind, part in KEYS:
            for function in functions:
                with self.subTest(key=key, function=function):
                    outcome = self.sandbox.run(function.format(key))
                    self.assertEqual(outcome.error["ename"], kind, outcome)
                    self.assertIn(part, outcome.error["evalue"])
        self.assertEqual(self.sandbox.rpcs, [])

    def test_gives_what_fits_each_function(self) -> None:
        self.assertEqual(self.run_well("save_memory('a/b', {'x': 1})").result, "memory 'a/b' saved (7 bytes)")
        self.assertEqual(
            self.value("(load_memory('no'), load_memory('no', default=3), load_memory('no', {}))"), (None, 3, {})
        )
        self.assertEqual(
            self.value("[memory_exists('a/b'), memory_exists('a_b'), get_memory_info('no')]"), [True, False, None]
        )
        info = self.value("save_memory('a/b', {'x': 2}, metadata={'t': 1})\ndict(get_memory_info('a/b'))")
        self.assertEqual([info[name] for name in ("key", "value", "metadata", "bytes")], ["a/b", {"x": 2}, {"t": 1}, 7])
        self.assertLess(info["created_at"], info["updated_at"])
        self.assertRegex(
            self.run_well("list_memories()").result, r"^'a/b'  # 7 bytes, updated 20\d\d-.* UTC, \{'t': 1\}$"
        )
        self.assertEqual(
            self.value("[m['key'] for m in list_memories()] + [m.bytes for m in runtime.list_memories()]"), ["a/b", 7]
        )
        self.assertEqual(
            self.value("[delete_memory('a/b'), delete_memory('a/b'), list(list_memories())]"), [True, False, []]
        )

    def test_updates(self) -> None:
        self.assertEqual(self.value("update_memory('n', lambda v: (v or 0) + 1)"), 1)
        self.assertEqual(self.value("update_memory('l', lambda v: v + [1], default=[])"), [1])
        self.assertEqual(self.value("update_memory('n', lambda v: v + 1), load_memory('n')"), (2, 2))

    def test_can_be_awaited_too(self) -> None:
        code = (
            "await save_memory('k', [1], metadata={})\n"
            "async def grow(v):\n  import asyncio\n  await asyncio.sleep(0)\n  return v + [2]\n"
            "args = ('k',)\n"
            "[await load_memory('k'), await update_memory('k', grow), await update_memory(*args, lambda v: v + [3]),"
            " (await list_memories())[0].key, await memory_exists(key='k'), (await get_memory_info('k')).value,"
            " await delete_memory('k'), await delete_memory('k'), await load_memory('k', default=None)]"
        )
        last = [[1], [1, 2], [1, 2, 3], "k", True, [1, 2, 3], True, False, None]
        self.assertEqual(self.value(code), last)

    def test_is_imported_and_found_again(self) -> None:
        self.run_well("from mcp.runtime import save_memory, load_memory\nimport mcp.runtime as r\nr.MemoryStoreError")
        self.run_well("del save_memory, load_memory, update_memory")
        self.assertEqual(self.value("save_memory('k', 1)\nload_memory('k')"), 1)
        self.run_well("load_memory = 5")
        self.assertEqual(self.value("load_memory"), 5)

    def test_leads_out_of_mistakes(self) -> None:
        for code, part in MISTAKES:
            with self.subTest(code=code):
                outcome = self.sandbox.run(code)
                self.assertEqual(outcome.status, "error")
                self.assertIn(part, outcome.error["traceback"])
        self.assertEqual((self.sandbox.kept, self.sandbox.leases), ({}, {}))

    def test_changes_nothing_where_the_function_raises(self) -> None:
        self.run_well("save_memory('n', [1])\ncalls = []")
        outcome = self.sandbox.run("def f(v):\n  calls.append(v)\n  v.append(2)\n  1 / 0\nupdate_memory('n', f)")
        self.assertEqual(outcome.error["ename"], "ZeroDivisionError")
        self.assertNotIn("sandpy", outcome.error["traceback"])
        self.assertEqual(
            self.value("len(calls), load_memory('n'), update_memory('n', lambda v: v + [3])"), (1, [1], [1, 3])
        )
        self.assertEqual(self.sandbox.leases, {})

    def test_raises_what_the_host_refuses(self) -> None:
        self.sandbox.refuse = 'the quota of 64 MiB is used up; delete with "sandpy memory delete"'
        for call in ("save_memory('a', 1)", "load_memory('a')", "update_memory('a', str)", "list_memories()"):
            outcome = self.sandbox.run(f"try: {call}\nexcept RuntimeError as e: print(type(e).__name__, e)")
            self.assertEqual(outcome.stdout, f"MemoryStoreError {self.sandbox.refuse}\n")

    def test_takes_turns_in_threads_of_one_session(self) -> None:
        code = (
            "import threading\n"
            "def add(n): update_memory('log', lambda v: [*(v or []), n])\n"
            "threads = [threading.Thread(target=add, args=(n,)) for n in range(100)]\n"
            "for t in threads: t.start()\nfor t in threads: t.join()\n"
            "sorted(load_memory('log')) == list(range(100))"
        )
        self.assertEqual(self.value(code), True)
        self.assertLessEqual(self.sandbox.most_waiting, 1)

    def test_takes_turns_in_tasks(self) -> None:
        code = (
            "import asyncio\n"
            "async def slow(v):\n  await asyncio.sleep(0.001)\n  return (v or 0) + 1\n"
            "async def one(): return await update_memory('n', slow)\n"
            "sorted(await asyncio.gather(*(one() for _ in range(100)))) == list(range(1, 101))"
        )
        self.assertEqual(self.value(code), True)

    def test_does_not_wait_for_a_task_of_the_loop_that_it_blocks(self) -> None:
        code = (
            "import asyncio\nstarted, go = asyncio.Event(), asyncio.Event()\n"
            "async def slow(v):\n  started.set()\n  await go.wait()\n  return 1\n"
            "async def one(): return await update_memory('n', slow)\n"
            "task = asyncio.create_task(one())\nawait started.wait()\n"
            "said = []\n"
            "for f in (lambda: update_memory('n', lambda v: 2), lambda: save_memory('n', 2), lambda: delete_memory('n')):\n"
            "  try: f()\n  except RuntimeError as e: said.append('write `await` before the call' in str(e))\n"
            "waits = asyncio.create_task(one())\nawait asyncio.sleep(0)\ngo.set()\n"
            "(said, await task, await waits, await update_memory('n', lambda v: v + 1))"
        )
        self.assertEqual(self.value(code), ([True] * 3, 1, 1, 2))

    def test_lets_go_of_what_an_interrupt_ends(self) -> None:
        number = self.sandbox.start(
            "import time\nupdate_memory('n', lambda v: print('in', flush=True) or time.sleep(60))"
        )
        self.sandbox.output_until("in")
        self.sandbox.interrupt(number)
        self.assertEqual(self.sandbox.finish(number).status, "interrupted")
        self.assertEqual(self.value("update_memory('n', lambda v: 1)"), 1)
        self.sandbox.leases["other"] = "n"  # another session holds it
        number = self.sandbox.start("print('in', flush=True)\nupdate_memory('n', lambda v: v + 1)")
        self.sandbox.until("rpc", method="memory_hold")
        self.sandbox.interrupt(number)
        self.assertEqual(self.sandbox.finish(number).status, "interrupted")
        self.sandbox.serve("release", {"lease": "other"})
        self.sandbox.until("rpc", method="release")
        self.assertEqual((self.value("update_memory('n', lambda v: v + 1)"), self.sandbox.leases), (2, {}))


if __name__ == "__main__":
    unittest.main()
