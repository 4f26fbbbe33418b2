"""What a cell is: one live namespace, results, awaits, errors, exits."""

from __future__ import annotations

import re
import unittest

from harness import Sandbox


class Shared(unittest.TestCase):
    """Tests that share one sandbox, since cells do."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    def run_cell(self, code: str, **fields: object):
        return self.sandbox.run(code, **fields)

    def value(self, code: str):
        """Runs a cell that must succeed; returns its result."""
        outcome = self.run_cell(code)
        self.assertEqual(outcome.status, "ok", outcome)
        return outcome.result


class Namespace(Shared):
    def test_sees_top_level_names_inside_functions(self) -> None:
        outcome = self.run_cell(
            "def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\n"
            "base = 3\nprint(fact(5), [base * i for i in (1, 2)])"
        )
        self.assertEqual(outcome.stdout, "120 [3, 6]\n")
        self.assertEqual(self.value("base = 4\nfact(3), [base * i for i in (1,)]"), "(6, [4])")

    def test_keeps_the_last_value_in_underscore_but_not_none(self) -> None:
        self.assertEqual(self.value("6 * 7"), "42")
        self.assertIsNone(self.value("None"))
        self.assertEqual(self.value("_ + 1"), "43")

    def test_shows_strings_in_repr_form(self) -> None:
        self.assertEqual(self.value("'a\\n'"), "'a\\\\n'".replace("\\\\", "\\"))

    def test_returns_no_result_without_a_last_expression(self) -> None:
        self.assertIsNone(self.value("x = 1"))
        self.assertIsNone(self.value(""))
        self.assertIsNone(self.value("# only a comment"))

    def test_is_a_real_main_module(self) -> None:
        self.value("import pickle, sys\nclass Thing: pass")
        self.assertEqual(self.value("type(pickle.loads(pickle.dumps(Thing()))) is Thing"), "True")
        self.assertEqual(self.value("sys.modules['__main__'].__dict__ is globals(), __name__"), "(True, '__main__')")

    def test_imports_modules_of_the_working_directory(self) -> None:
        self.value("import os, tempfile\nos.chdir(tempfile.mkdtemp())\nopen('neighbour.py', 'w').write('v = 5')")
        self.assertEqual(self.value("import neighbour; neighbour.v"), "5")

    def test_offers_the_source_of_cells(self) -> None:
        self.value("def shown():\n    return 'this line'")
        self.assertIn("this line", self.value("import inspect; inspect.getsource(shown)"))

    def test_does_not_inherit_our_future_imports(self) -> None:
        self.assertEqual(self.value("def f(a: int): pass\nf.__annotations__['a'] is int"), "True")

    def test_sets_argv_and_file_for_a_script(self) -> None:
        outcome = self.run_cell("import sys\n(sys.argv, __file__, __name__)", argv=["job.py", "-x"], filename="job.py")
        self.assertEqual(outcome.result, "(['job.py', '-x'], 'job.py', '__main__')")
        failed = self.run_cell("x = 1\nboom", argv=["job.py"], filename="job.py")
        self.assertIn('File "job.py", line 2', failed.error["traceback"])
        self.assertIn("    boom", failed.error["traceback"])

    def test_a_program_without_a_file_has_no_name_of_one(self) -> None:
        outcome = self.run_cell("'__file__' in globals()", argv=["-c"], filename="<string>")
        self.assertEqual(outcome.result, "False")

    def test_sets_the_variables_of_a_program_for_its_children_too(self) -> None:
        code = "import os, subprocess\n(os.environ['TOKEN'], subprocess.getoutput('echo $TOKEN'), __import__('time').tzname[0])"
        outcome = self.run_cell(code, argv=["-c"], filename="<string>", env={"TOKEN": "a=\u00fc", "TZ": "XYZ-3"})
        self.assertEqual(outcome.result, "('a=\u00fc', 'a=\u00fc', 'XYZ')")

    def test_ends_a_program_as_python_does(self) -> None:
        late = (
            "import atexit, sys, threading, time\ngate = threading.Event()\n"
            "def late():\n    gate.wait()\n    time.sleep(0.1)\n    print('late')\n"
        )
        start = (
            f"{late}threading.Thread(target=late).start()\natexit.register(print, 'exit')\nprint('main')\ngate.set()\n"
        )
        for code, status in (("1", "ok"), ("sys.exit(3)", "exit"), ("boom", "error")):
            with self.subTest(code=code), Sandbox() as sandbox:
                outcome = sandbox.run(start + code, argv=["-c"], filename="<string>")
                self.assertEqual((outcome.status, outcome.stdout), (status, "main\nlate\nexit\n"), outcome)
                self.assertEqual(outcome.exit_code, 3 if status == "exit" else None)
        pool = "gate.set()\nfrom concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(late)\n"
        with Sandbox() as sandbox:
            self.assertEqual(sandbox.run(late + pool, argv=["-c"], filename="<string>").stdout, "late\n")
        with Sandbox() as sandbox:
            exits = "import atexit, sys\natexit.register(sys.exit, 5)\n"
            self.assertEqual(sandbox.run(exits, argv=["-c"], filename="<string>").status, "ok")
        with Sandbox() as sandbox:
            endless = start.replace("gate.set()\n", "")
            self.assertEqual(sandbox.run(endless).stdout, "main\n")  # a session goes on

    def test_interrupts_a_program_that_does_not_end(self) -> None:
        for end in ("threading.Thread(target=wait).start()", "atexit.register(wait)"):
            with self.subTest(end=end), Sandbox() as sandbox:
                code = f"import atexit, threading, time\ndef wait():\n    print('waits', flush=True)\n    time.sleep(30)\n{end}\n"
                number = sandbox.start(code, argv=["-c"], filename="<string>")
                sandbox.output_until("waits")
                sandbox.interrupt(number)
                self.assertEqual(sandbox.finish(number).status, "interrupted")

    def test_ends_a_program_that_is_interrupted_by_its_own_word(self) -> None:
        wait = "try:\n    print('waits', flush=True)\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    print('handled')\n"
        late = "atexit.register(lambda: (time.sleep(0.3), print('exit')))\n"
        start = f"import atexit, sys, threading, time\n{late}{wait}"
        for code, status in (("1", "ok"), ("    sys.exit(3)", "exit"), ("boom", "error"), ("    raise", "interrupted")):
            with self.subTest(code=code), Sandbox() as sandbox:
                number = sandbox.start(start + code, argv=["-c"], filename="<string>")
                sandbox.output_until("waits")
                sandbox.interrupt(number)
                outcome = sandbox.finish(number)
                self.assertEqual((outcome.status, outcome.stdout), (status, "handled\nexit\n"), outcome)
                self.assertEqual(outcome.exit_code, 3 if status == "exit" else None)

    def test_does_not_wait_for_threads_of_a_program_that_is_interrupted(self) -> None:
        code = "import threading\nthreading.Thread(target=threading.Event().wait).start()\nprint('waits', flush=True)\nwhile True: pass"
        with Sandbox() as sandbox:
            number = sandbox.start(code, argv=["-c"], filename="<string>")
            sandbox.output_until("waits")
            sandbox.interrupt(number)
            self.assertEqual(sandbox.finish(number).status, "interrupted")

    def test_interrupts_a_program_between_its_code_and_its_end(self) -> None:
        code = (
            "import sys, threading, time\ngate = threading.Event()\n"
            "def hook(event, args):\n"
            "    if event == 'exec' and 'program' in str(args[0]):\n"
            "        print('between', flush=True)\n        time.sleep(0.5)\n"
            "sys.addaudithook(hook)\nthreading.Thread(target=gate.wait).start()\n"
        )
        with Sandbox() as sandbox:
            number = sandbox.start(code, argv=["-c"], filename="<string>")
            sandbox.output_until("between")
            sandbox.interrupt(number)
            self.assertEqual(sandbox.finish(number).status, "interrupted")

    def test_keeps_all_the_text_of_the_code(self) -> None:
        code = 's = \'\u2028\u00e9\U0001f600 \\n """ \\0\'\nlen(s), ord(s[0])'
        self.assertEqual(self.value(code), "(11, 8232)")


class Awaits(Shared):
    def test_awaits_at_top_level_and_returns_the_value(self) -> None:
        self.assertEqual(self.value("import asyncio\nawait asyncio.sleep(0, 'slept')"), "'slept'")
        self.assertEqual(self.value("kept = await asyncio.sleep(0, 7)\nkept"), "7")

    def test_runs_async_for_and_async_with(self) -> None:
        code = (
            "async def numbers():\n    for i in range(3): yield i\n"
            "found = [i async for i in numbers()]\nasync for j in numbers(): last = j\n(found, last)"
        )
        self.assertEqual(self.value(code), "([0, 1, 2], 2)")

    def test_runs_plain_cells_outside_the_loop(self) -> None:
        self.assertEqual(self.value("import asyncio\nasyncio.run(asyncio.sleep(0, 'own loop'))"), "'own loop'")
        self.assertEqual(self.value("await asyncio.sleep(0, 'ours')"), "'ours'")
        self.assertEqual(
            self.value("asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 'again'))"), "'again'"
        )

    def test_runs_background_tasks_between_cells(self) -> None:
        self.value(
            "import asyncio\nasync def tick():\n    await asyncio.sleep(0)\n    print('ticked')\n"
            "task = asyncio.get_event_loop().create_task(tick())\nawait asyncio.sleep(0)"
        )
        if not any(f["type"] == "stream" and "ticked" in f["data"] for _, f in self.sandbox.frames):
            self.sandbox.output_until("ticked")
        self.assertEqual(self.value("task.done()"), "True")

    def test_survives_loop_stop_and_loop_close(self) -> None:
        self.assertEqual(
            self.value("import asyncio\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(0.01, 'on')"), "'on'"
        )
        self.value("asyncio.get_event_loop().close()")
        self.assertEqual(self.value("await asyncio.sleep(0, 'new loop')"), "'new loop'")

    def test_shows_tracebacks_without_our_frames(self) -> None:
        outcome = self.run_cell("import asyncio\nasync def bad():\n    raise ValueError('no')\nawait bad()")
        self.assertEqual(outcome.status, "error")
        self.assertNotIn("<sandpy>", outcome.error["traceback"])
        self.assertIn("in bad", outcome.error["traceback"])

    def test_survives_an_exit_in_a_background_task(self) -> None:
        self.value(
            "import asyncio\nasync def leave():\n    raise SystemExit(9)\n"
            "t = asyncio.get_event_loop().create_task(leave())\nawait asyncio.sleep(0)"
        )
        self.assertEqual(self.value("await asyncio.sleep(0, 'alive')"), "'alive'")


class Errors(Shared):
    def test_shows_line_and_caret_of_a_syntax_error(self) -> None:
        # The parser's, and those of later stages.
        for line in ("y = = 2", "y = * 2", "return 5", "nonlocal y", "break"):
            with self.subTest(line=line):
                outcome = self.run_cell(f"x = 1\n{line}")
                self.assertEqual((outcome.status, outcome.error["ename"]), ("error", "SyntaxError"))
                self.assertRegex(outcome.error["traceback"], rf"line 2\n +{re.escape(line)}\n +\^")
                self.assertNotIn("Traceback", outcome.error["traceback"])
                self.assertEqual(outcome.stdout, "")

    def test_shows_the_line_of_the_user_and_none_of_ours(self) -> None:
        outcome = self.run_cell("def inner():\n    return 1 / 0\ninner()")
        trace = outcome.error["traceback"]
        self.assertRegex(trace, r'File "<cell \d+>", line 3, in <module>\n    inner\(\)')
        self.assertIn("return 1 / 0", trace)
        self.assertNotIn("sandpy", trace)
        self.assertEqual((outcome.error["ename"], outcome.error["evalue"]), ("ZeroDivisionError", "division by zero"))

    def test_trims_chained_exceptions_too(self) -> None:
        trace = self.run_cell("try:\n    input()\nexcept EOFError as e:\n    raise ValueError('second') from e").error[
            "traceback"
        ]
        self.assertIn("direct cause", trace)
        self.assertNotIn("<sandpy>", trace)

    def test_reports_every_way_to_fail(self) -> None:
        rows = [
            ("def f(): f()\nf()", "RecursionError"),
            ("class E(Exception):\n    def __str__(self): raise ValueError('in str')\nraise E", "E"),
            ("class E(Exception):\n    def __str__(self): return 5\nraise E", "E"),
            ("class E(Exception):\n    def __str__(self): f()\ndef f(): f()\nraise E", "E"),
            ("raise GeneratorExit", "GeneratorExit"),
            ("import asyncio; raise asyncio.CancelledError", "CancelledError"),
            ("import asyncio\nawait asyncio.sleep(0)\nraise asyncio.CancelledError", "CancelledError"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("class B(BaseException): pass\nraise B", "B"),
            ("raise ValueError('\\ud800')", "ValueError"),
            ("'x' * (1 << 60)", "MemoryError"),
            ("return 5", "SyntaxError"),
            ("if True:\n    x = 1\n  y = 2", "IndentationError"),
            ("(" * 1000, "SyntaxError"),
            ("input('name? ')", "EOFError"),
            ("import sys; sys.stdin.readline()", "EOFError"),
            ("import sys; [l for l in sys.stdin]", "EOFError"),
        ]
        for code, ename in rows:
            with self.subTest(code=code[:60]):
                outcome = self.run_cell(code)
                self.assertEqual((outcome.status, outcome.error.get("ename")), ("error", ename), outcome)
                self.assertEqual(self.value("len([1])"), "1")

    def test_refuses_null_bytes_and_lone_surrogates_in_source(self) -> None:
        for code in ("x = 1\0", "x = '\ud800'"):
            self.assertEqual(self.run_cell(code).status, "error")

    def test_bounds_a_long_message_and_a_long_traceback(self) -> None:
        outcome = self.run_cell("raise ValueError('x' * 1000000)")
        self.assertLess(len(outcome.error["evalue"]), 10_000)
        self.assertLess(len(outcome.error["traceback"]), 70_000)

    def test_explains_input(self) -> None:
        outcome = self.run_cell("input('name? ')")
        self.assertIn("input() is not available", outcome.error["evalue"])
        self.assertIn("in the code", outcome.error["evalue"])


class Exits(Shared):
    def test_reports_each_way_to_exit_and_keeps_state(self) -> None:
        self.value("kept = 'still here'")
        rows = [
            ("exit()", 0, ""),
            ("quit()", 0, ""),
            ("import sys; sys.exit()", 0, ""),
            ("import sys; sys.exit(3)", 3, ""),
            ("import sys; sys.exit(True)", 1, ""),
            ("import sys; sys.exit(-1)", -1, ""),
            ("import sys; sys.exit(10 ** 30)", 1, ""),
            ("import sys; sys.exit('text')", 1, "text\n"),
            ("exit('bye')", 1, "bye\n"),
            ("raise SystemExit(4)", 4, ""),
            ("import asyncio\nawait asyncio.sleep(0)\nraise SystemExit(5)", 5, ""),
            ("import asyncio\nasyncio.run(asyncio.sleep(0))\nexit(6)", 6, ""),
        ]
        for code, exit_code, stderr in rows:
            with self.subTest(code=code):
                outcome = self.run_cell(code)
                self.assertEqual((outcome.status, outcome.exit_code), ("exit", exit_code), outcome)
                self.assertEqual(outcome.stderr, stderr)
                self.assertEqual(self.value("kept"), "'still here'")

    def test_is_not_kept_alive_by_threads(self) -> None:
        self.value("import threading\nthreading.Thread(target=threading.Event().wait).start()")
        self.assertEqual(self.value("1"), "1")


class Results(Shared):
    def test_bounds_the_repr(self) -> None:
        for code in (
            "'x' * 10_000_000",
            "['x' * 100_000] * 1_000_000",
            "dict.fromkeys(range(1_000_000), 'x' * 100)",
            "b'x' * 9_000_000",
        ):
            with self.subTest(code=code):
                result = self.value(code)
                self.assertLess(len(result), 70_000)
                self.assertIn("cut after 65536 characters", result)

    def test_describes_a_repr_that_fails(self) -> None:
        rows = [
            ("def __repr__(self): raise ValueError('bad')", "repr failed with ValueError: bad"),
            ("def __repr__(self): return 7", "repr failed with TypeError"),
            ("def __repr__(self): return repr(self)", "repr failed with RecursionError"),
        ]
        for method, expected in rows:
            with self.subTest(method=method):
                self.assertIn(expected, self.value(f"class H:\n    {method}\nH()"))

    def test_takes_output_of_a_repr_before_done(self) -> None:
        outcome = self.run_cell("class P:\n    def __repr__(self):\n        print('inside')\n        return 'P!'\nP()")
        self.assertEqual((outcome.stdout, outcome.result), ("inside\n", "P!"))

    def test_never_sends_surrogates(self) -> None:
        outcome = self.run_cell("class S:\n    def __repr__(self): return 'a\\ud800b'\nS()")
        self.assertEqual(outcome.result, "a\ufffdb")


if __name__ == "__main__":
    unittest.main()
