"""The pure parts, and rules that hold for every source file."""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import os
import re
import sys
import types
import unittest

from harness import KERNEL, ROOT

package = types.ModuleType("_sandpy")
package.__path__ = [str(KERNEL)]
sys.modules.setdefault("_sandpy", package)

codec = importlib.import_module("_sandpy.codec")
docs = importlib.import_module("_sandpy.docs")
relay = importlib.import_module("_sandpy.relay")
watcher = importlib.import_module("_sandpy.watcher")
pretty = importlib.import_module("_sandpy.pretty")
render = importlib.import_module("_sandpy.render")
interrupts = importlib.import_module("_sandpy.interrupts")
rpc = importlib.import_module("_sandpy.rpc")
directory = importlib.import_module("_sandpy.directory")


class Sources(unittest.TestCase):
    def test_keeps_the_rules_of_the_house(self) -> None:
        files = sorted((ROOT / "sandbox").rglob("*.py"))
        self.assertGreater(len(files), 10)
        for path in files:
            with self.subTest(file=path.name):
                text = path.read_text("utf-8")
                tree = ast.parse(text, feature_version=(3, 9))
                if path.parent == KERNEL:
                    self.assertLessEqual(len(text.splitlines()), 300)
                    self.assertTrue(re.match(r'"""[^\n]+"""\n\nfrom __future__ import annotations\n', text))
                else:  # a program by itself, which an older Python may run
                    self.assertLessEqual(len(text.splitlines()), 400)
                    self.assertIsNotNone(ast.get_docstring(tree))
                if not hasattr(sys, "stdlib_module_names"):
                    continue  # Python 3.9 can not tell
                for node in ast.walk(tree):
                    names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
                    if isinstance(node, ast.ImportFrom) and not node.level:
                        names.append(node.module)
                    for name in names:
                        self.assertIn(name.partition(".")[0], sys.stdlib_module_names)


class Codec(unittest.TestCase):
    def test_goes_there_and_back(self) -> None:
        for value in (None, True, 0, -(2**80), 1.5, "", '\u2028\ud83d\ude00"\\\0', [], {}, [[{"a": [1, {"b": ()}]}]]):
            text = codec.encode(value)
            self.assertTrue(text.isascii() and "\n" not in text)
            self.assertEqual(codec.decode(text), json.loads(json.dumps(value)))

    def test_refuses_what_is_not_json(self) -> None:
        for value, error in (
            (float("nan"), ValueError),
            (float("inf"), ValueError),
            ({1}, TypeError),
            (b"x", TypeError),
        ):
            with self.assertRaises(error):
                codec.encode(value)
        for text in ("", " ", "{", "1 2", "nul", "[1,]", "x"):
            with self.assertRaises(ValueError, msg=text):
                codec.decode(text)

    def test_cleans_lone_surrogates_alone(self) -> None:
        self.assertEqual(codec.clean("a\ud800b\u00e9\U0001f600"), "a\ufffdb\u00e9\U0001f600")


class Relay(unittest.TestCase):
    def test_cuts_lines_at_lf_alone(self) -> None:
        lines = relay.Lines(100)
        self.assertEqual(lines.feed(b"a\r\0"), [])
        self.assertEqual(lines.feed(b"b\n\n\nc\nd"), [b"a\r\0b", b"c"])
        self.assertEqual(lines.feed(b"\n"), [b"d"])

    def test_refuses_a_line_over_the_limit(self) -> None:
        lines = relay.Lines(5)
        self.assertEqual(lines.feed(b"12345\n"), [b"12345"])
        self.assertEqual(lines.feed(b"123"), [])
        with self.assertRaisesRegex(relay.LineTooLongError, "more than 5 bytes"):
            lines.feed(b"456")

    def test_joins_characters_that_were_cut(self) -> None:
        text = relay.Text("stdout", 1)
        self.assertEqual([text.decode(bytes([b])) for b in "\u20ac".encode()], ["", "", "\u20ac"])
        self.assertEqual(text.decode(b"\xe2", final=True), "\ufffd")


class Pipes(unittest.TestCase):
    def setUp(self) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.addCleanup(os.close, self.reader)

    def test_queues_short_pieces_as_one_and_long_ones_as_they_are(self) -> None:
        queue = relay.Queue(self.writer)
        long = b"x" * (3 * relay.SHORT)
        queue.put(b"\n", b"short", b"\n")
        self.assertEqual(list(map(len, queue.parts)), [7])
        queue.put(b"<", long, b">")
        self.assertEqual(list(map(len, queue.parts)), [7, 1, len(long), 1])
        received = b""
        while queue.size:
            queue.flush()  # the pipe takes a part of it each time
            received += os.read(self.reader, len(long))
        os.close(self.writer)
        self.assertEqual(received + os.read(self.reader, len(long)), b"\nshort\n<" + long + b">")
        self.assertFalse(queue.parts)

    def test_sees_at_a_glance_what_can_be_read_or_has_ended(self) -> None:
        has_news = watcher.glance(self.reader)
        self.assertFalse(has_news())
        os.write(self.writer, b"x")
        self.assertTrue(has_news())
        os.read(self.reader, 1)
        self.assertFalse(has_news())
        os.close(self.writer)
        self.assertTrue(has_news())

    def test_takes_for_news_what_is_other_than_the_last_time(self) -> None:
        self.addCleanup(os.close, self.writer)
        watch = watcher.Watcher(lambda: None)
        kernel = object()
        told = [watch.is_news(*each) for each in ((kernel, True), (kernel, True), (kernel, False), (object(), False))]
        self.assertEqual(told, [True, False, True, True])


class Render(unittest.TestCase):
    def test_cuts_long_results(self) -> None:
        self.assertEqual(pretty.render_result("abc", 3), "'ab… [cut after 3 characters]")
        self.assertEqual(pretty.render_result([1, 2], 6), "[1, 2]")
        for value in (list(range(50)), set(range(50)), dict.fromkeys(range(50)), "x" * 50, b"x" * 50, (1,) * 50):
            self.assertTrue(pretty.render_result(value, 10).endswith("… [cut after 10 characters]"))

    def test_survives_hostile_types(self) -> None:
        class Meta(type):
            __name__ = property(lambda cls: 1 / 0)

        class Bad(metaclass=Meta):
            def __repr__(self) -> str:
                raise ValueError

        self.assertEqual(pretty.render_result(Bad()), "<Bad object; its repr failed with ValueError: >")

    def test_renders_groups_and_cycles_of_exceptions(self) -> None:
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        self.assertIn("second", render.render_error(first)["traceback"])
        if sys.version_info >= (3, 11):
            group = ExceptionGroup("many", [ValueError("one"), TypeError("two")])  # noqa: F821
            text = render.render_error(group)["traceback"]
            self.assertTrue("one" in text and "two" in text)


class Interrupts(unittest.TestCase):
    def test_raises_only_while_user_code_runs(self) -> None:
        state = interrupts.Interrupts()
        state.handle(2, None)
        state.begin(1)
        with self.assertRaises(KeyboardInterrupt):
            state.handle(2, None)
        state.end()
        state.handle(2, None)
        self.assertEqual(state.fired, 1)

    def test_waits_for_the_end_of_a_shield(self) -> None:
        state = interrupts.Interrupts()
        state.begin(1)
        with self.assertRaises(KeyboardInterrupt), state:
            with state:
                state.handle(2, None)
            reached = True
        self.assertTrue(reached)

    def test_remembers_an_interrupt_that_came_before_the_cell(self) -> None:
        state = interrupts.Interrupts()
        state.request(2, 1)
        state.begin(1)
        with self.assertRaises(KeyboardInterrupt):
            state.begin(2)

    def test_does_not_repeat_an_interrupt_that_a_program_has_handled(self) -> None:
        state = interrupts.Interrupts()
        state.begin(1, fired=1)
        state.request(1, 1)  # would fire again after a while
        self.assertEqual(state.fired, 1)


class Docs(unittest.TestCase):
    def test_renders_any_schema(self) -> None:
        rows = [
            ({}, "f()"),
            ({"properties": None, "required": 5}, "f()"),
            ({"properties": {"a": True}}, "f(a: Any = ...)"),
            ({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, "f(a: str | None = ...)"),
            ({"properties": {"a": {"type": []}}}, "f(a: Any = ...)"),
            ({"properties": {"class": {"type": "object"}}, "required": ["class"]}, "f(class_: dict)"),
            ({"properties": {"a": {"default": None}}}, "f(a: Any = None)"),
            ({"properties": {"a": {"type": "array", "items": {"type": "number"}}}}, "f(a: list[float] = ...)"),
        ]
        for schema, expected in rows:
            with self.subTest(schema=schema):
                self.assertEqual(docs.signature("f", schema), expected)


class Names(unittest.TestCase):
    def test_words_unknown_names(self) -> None:
        self.assertEqual(
            directory.unknown("server", "githb", ["github", "fx"]),
            "no server is called 'githb'. Did you mean 'github'? Known: 'github', 'fx'",
        )
        tools = ["edit_file", "read_file", "list_directory"]
        self.assertIn("Did you mean 'list_directory'?", directory.unknown("tool", "list_files", tools))
        self.assertNotIn("Did you mean", directory.unknown("tool", "list_files", tools[:2]))
        self.assertEqual(directory.unknown("server", "x", []), "no server is called 'x'. Known: none")
        self.assertTrue(directory.unknown("tool", "x", [str(n) for n in range(30)]).endswith(" and 10 more"))


class Bells(unittest.TestCase):
    def setUp(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)
        self.bell = rpc.Bell(self.loop)

    def test_wakes_a_loop_once_for_all_answers_that_came(self) -> None:
        futures = [self.loop.create_future() for _ in range(100)]
        wake, woken = self.loop.call_soon_threadsafe, []
        self.loop.call_soon_threadsafe = lambda *given: (woken.append(given), wake(*given))
        for _ in range(2):
            for future in futures:
                self.bell.ring(future)
            self.loop.run_until_complete(asyncio.gather(*futures))
            futures = [self.loop.create_future() for _ in range(100)]
        self.assertEqual(len(woken), 2)

    def test_resolves_the_rest_after_a_signal_handler_raised(self) -> None:
        class Struck:
            strikes = 1

            def done(self) -> bool:
                self.strikes -= 1
                if self.strikes == 0:
                    raise KeyboardInterrupt
                return True

        last = self.loop.create_future()
        for future in (Struck(), last):
            self.bell.ring(future)
        with self.assertRaises(KeyboardInterrupt):
            self.loop.run_until_complete(last)
        self.assertIsNone(self.loop.run_until_complete(asyncio.wait_for(last, 5)))


if __name__ == "__main__":
    unittest.main()
