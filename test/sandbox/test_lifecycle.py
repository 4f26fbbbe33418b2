"""The life of kernels: how they die, what is said of it, and that the next one is ready."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import unittest

from harness import PYTHON, Sandbox, patient, payload, sources


def alive(pid: int) -> bool:
    """Tells whether a process runs (a zombie does not)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_gone(pids: list[int], patience: float) -> bool:
    """Waits until processes are gone."""
    deadline = time.monotonic() + patience
    while any(alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


class Start(unittest.TestCase):
    def test_says_hello_then_ready(self) -> None:
        import hashlib

        digest = hashlib.sha256()
        for name, text in sorted(sources().items()):
            digest.update(f"{name}\0{text}\0".encode())
        with Sandbox() as sandbox:
            version = subprocess.run(
                [PYTHON, "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            self.assertEqual(
                sandbox.frames,
                [
                    ("s", {"type": "hello", "protocol": 1, "bundle": digest.hexdigest(), "python": version}),
                    ("s", {"type": "ready", "generation": 1}),
                ],
            )

    def test_reads_no_byte_beyond_the_payload(self) -> None:
        with Sandbox(start=False) as sandbox:
            number = sandbox.start("'sent with the payload'")
            self.assertEqual(sandbox.finish(number).result, "'sent with the payload'")

    def test_refuses_another_protocol(self) -> None:
        with Sandbox({"protocol": 2}, start=False) as sandbox:
            self.assertIsNone(sandbox.next(time.monotonic() + 10))
            self.assertEqual(sandbox.process.wait(10), 70)
            self.assertIn(b"the host speaks protocol 2, this program 1", sandbox.process.stderr.read())

    def test_ends_when_the_payload_is_cut(self) -> None:
        with Sandbox(start=False) as sandbox:
            pass
        bootstrap = sandbox.process.args[-1]
        cut = subprocess.run(
            [PYTHON, "-I", "-u", "-c", bootstrap], input=payload()[:5000], capture_output=True, check=False
        )
        self.assertEqual(cut.returncode, 1)
        self.assertIn(b"ended before the program was complete", cut.stderr)


class Death(unittest.TestCase):
    def setUp(self) -> None:
        self.sandbox = Sandbox()
        self.addCleanup(self.sandbox.close)

    def die(self, code: str) -> dict:
        """Runs code that ends the kernel; returns the `died` frame."""
        begun = time.monotonic()
        self.sandbox.start(code)
        died = self.sandbox.until("died", 5)
        self.assertLess(time.monotonic() - begun, patient(3))
        self.sandbox.until("ready", 5, generation=died["generation"] + 1)
        self.assertEqual(self.sandbox.run("2").result, "2")
        return died

    def test_tells_how_a_kernel_died(self) -> None:
        rows = [
            ("import os; os._exit(0)", "exit", 0, None),
            ("import os; os._exit(7)", "exit", 7, None),
            ("import os; os.abort()", "signal", None, "SIGABRT"),
            ("import ctypes; ctypes.string_at(0)", "signal", None, "SIGSEGV"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "signal", None, "SIGTERM"),
            ("import os; os.execvp('true', ['true'])", "exit", 0, None),
        ]
        for generation, (code, reason, exit_code, name) in enumerate(rows, 1):
            with self.subTest(code=code):
                died = self.die(code)
                self.assertEqual(
                    died,
                    {
                        "type": "died",
                        "generation": generation,
                        "execution": self.sandbox.ids - 1,  # a harmless cell ran since
                        "reason": reason,
                        "code": exit_code,
                        "signal": name,
                        "detail": None,
                    },
                )

    def test_tells_a_kill_from_outside(self) -> None:
        died = self.die("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        self.assertIn(died["reason"], ("signal", "out_of_memory"))  # the latter where no counter can be read
        if died["reason"] == "out_of_memory":
            self.assertEqual(died["detail"], "killed, most likely out of memory")

    def test_relays_the_last_output_before_died(self) -> None:
        self.sandbox.start("import os\nos.write(1, b'last words \\xe2')\nos._exit(1)")
        self.sandbox.output_until("last words")
        self.assertEqual(self.sandbox.until("stream")["bytes"], "4g==")
        self.assertNotIn("died", [f["type"] for _, f in self.sandbox.frames])
        self.sandbox.until("died")

    def test_never_splices_half_a_frame_to_the_next_kernel(self) -> None:
        frame_fd = "[int(f) for f in os.listdir('/proc/self/fd') if os.path.islink('/proc/self/fd/' + f) and 'pipe' in os.readlink('/proc/self/fd/' + f)]"
        self.die(
            "import os\n"
            f"for fd in {frame_fd}:\n    try: os.write(fd, b'[half a frame')\n    except OSError: pass\nos._exit(1)"
        )
        self.assertEqual(self.sandbox.invalid, [])

    def test_kills_what_a_dead_kernel_left(self) -> None:
        self.sandbox.start(
            "import os, subprocess, sys\nchild = subprocess.Popen(['sleep', '600'])\nprint(child.pid, flush=True)\nos._exit(0)"
        )
        child = int(self.sandbox.output_until("\n"))
        self.sandbox.until("ready")
        self.assertTrue(until_gone([child], 5))

    def test_replaces_a_kernel_that_closed_its_channel(self) -> None:
        self.sandbox.start("import os, time\nos.closerange(0, 256)\ntime.sleep(60)")
        died = self.sandbox.until("died", 5)
        self.assertEqual(
            (died["reason"], died["detail"]), ("protocol", "the kernel closed its channel to the supervisor")
        )
        self.sandbox.until("ready")

    def test_resets_a_kernel_that_spins_in_c(self) -> None:
        self.sandbox.run("kept = 1")
        self.sandbox.start("print('go')\nimport ctypes\nctypes.PyDLL(None).pause()")
        self.sandbox.output_until("go")
        died = self.sandbox.reset()
        self.assertEqual((died["reason"], died["generation"]), ("reset", 1))
        self.assertEqual(self.sandbox.run("'kept' in globals()").result, "False")

    def test_resets_idle_kernels_as_often_as_asked(self) -> None:
        for generation in range(1, 8):
            self.assertEqual(self.sandbox.reset()["generation"], generation)
        self.assertEqual(self.sandbox.run("1").result, "1")

    def test_measures_while_a_kernel_is_busy(self) -> None:
        self.sandbox.start("print('go')\nblock = bytearray(64 * 1024 * 1024)\nprint('held')\nwhile True: pass")
        self.sandbox.output_until("held")
        self.sandbox.send("s", {"type": "measure"})
        measured = self.sandbox.until("measured", 5)
        self.assertGreater(measured["memory_bytes"], 64 * 1024 * 1024)

    def test_kills_children_on_reset(self) -> None:
        child = int(self.sandbox.run("import subprocess\nsubprocess.Popen(['sleep', '600']).pid").result)
        self.sandbox.reset()
        self.assertTrue(until_gone([child], 5))

    def test_leaves_no_zombies_and_no_descriptors(self) -> None:
        def count() -> int:
            return len(os.listdir(f"/proc/{self.sandbox.process.pid}/fd"))

        self.sandbox.reset()
        before = count()
        for _ in range(5):
            self.sandbox.reset()
            self.die("import os; os._exit(0)")
        self.assertEqual(count(), before)
        children = subprocess.run(
            ["ps", "-o", "stat=", "--ppid", str(self.sandbox.process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        self.assertEqual(len(children), 1)

    def test_gives_up_after_three_kernels_that_did_nothing(self) -> None:
        for _ in range(3):
            pid = self._kernel()
            os.kill(pid, signal.SIGSEGV)
            self.sandbox.until("died")
        self.assertEqual(self.sandbox.process.wait(10), 70)
        self.assertIn(b"3 kernels in a row died", self.sandbox.process.stderr.read())

    def _kernel(self) -> int:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with open(f"/proc/{self.sandbox.process.pid}/task/{self.sandbox.process.pid}/children") as file:
                pids = [int(pid) for pid in file.read().split() if alive(int(pid))]
            if pids:
                return pids[0]
        raise AssertionError("no kernel")


class HangUp(unittest.TestCase):
    def test_ends_within_two_seconds_whatever_the_kernel_does(self) -> None:
        rows = [
            "",
            "while True: pass",
            "import time; time.sleep(600)",
            "import ctypes; ctypes.PyDLL(None).pause()",
            "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
            "import threading; threading.Event().wait()",
        ]
        for code in rows:
            with self.subTest(code=code):
                sandbox = Sandbox()
                kernel = int(sandbox.run("import os; os.getpid()").result)
                sandbox.start("print('go')\n" + code)
                sandbox.output_until("go")
                begun = time.monotonic()
                self.assertEqual(sandbox.close(), 0)
                self.assertTrue(until_gone([kernel], 2))
                self.assertLess(time.monotonic() - begun, patient(2))

    def test_ends_when_the_host_stops_reading(self) -> None:
        sandbox = Sandbox()
        sandbox.process.stdout.close()
        sandbox.start("print('into the void')")
        self.assertEqual(sandbox.process.wait(5), 0)
        sandbox.process.stdin.close()
        sandbox.process.stderr.close()

    def test_leaves_no_kernel_when_the_supervisor_is_killed(self) -> None:
        sandbox = Sandbox()
        kernel = int(sandbox.run("import os; os.getpid()").result)
        sandbox.start("while True: pass")
        sandbox.process.kill()
        sandbox.process.wait()
        self.assertTrue(until_gone([kernel], 5))
        sandbox.close()


class Limits(unittest.TestCase):
    def test_sets_resource_limits_in_the_engines_place(self) -> None:
        with Sandbox({"rlimits": {"memory_bytes": 512 << 20, "processes": 200}}) as sandbox:
            code = "import resource as r\n[r.getrlimit(x) for x in (r.RLIMIT_AS, r.RLIMIT_NPROC, r.RLIMIT_CORE)]"
            self.assertEqual(sandbox.run(code).result, str([(512 << 20,) * 2, (200, 200), (0, 0)]))
            self.assertEqual(sandbox.run("x = 'x' * (600 << 20)").error["ename"], "MemoryError")
            self.assertEqual(sandbox.run("1").result, "1")

    def test_never_dumps_core(self) -> None:
        with Sandbox() as sandbox:
            self.assertEqual(sandbox.run("import resource; resource.getrlimit(resource.RLIMIT_CORE)").result, "(0, 0)")

    def test_kills_a_kernel_that_writes_an_endless_line(self) -> None:
        with Sandbox({"max_frame_bytes": 100_000}) as sandbox:
            sandbox.start(
                "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'x' * 200_000)\n    except OSError: pass"
            )
            died = sandbox.until("died", 5)
            self.assertEqual(
                (died["reason"], died["detail"]), ("protocol", "the kernel wrote a line of more than 99994 bytes")
            )
            sandbox.until("ready")
            trace = sandbox.run("1 / 0").error["traceback"]
            self.assertTrue(trace.startswith("Traceback"), trace)  # and not with how the last kernel ended

    def test_refuses_to_send_a_frame_over_the_limit(self) -> None:
        with Sandbox({"max_frame_bytes": 100_000}) as sandbox:
            for value in ("'x' * 200_000", "'\\0' * 50_000", "['x' * 9_000] * 12", "list(range(50_000))"):
                outcome = sandbox.run(f"mcp_fx.t(data={value})")
                self.assertEqual(outcome.error["ename"], "MCPError", value)
            self.assertIn("fx.t: the JSON is too long: at most 99994 bytes can be sent at once", outcome.error["evalue"])
            self.assertEqual(sandbox.run("1").result, "1")

    def test_takes_a_frame_of_just_the_limit(self) -> None:
        with Sandbox({"max_frame_bytes": 200_000}) as sandbox:
            frame = {
                "type": "execute",
                "id": 1,
                "code": "",
                "servers": [],
                "loaded": [],
                "argv": None,
                "filename": None,
                "projects": "",
            }
            line = json.dumps(["k", frame], separators=(",", ":"))
            frame["code"] = "#" * (200_000 - len(line))
            sandbox.send("k", frame)
            self.assertEqual(sandbox.finish(1).status, "ok")

    def test_replaces_a_kernel_that_does_not_read(self) -> None:
        with Sandbox() as sandbox:
            sandbox.start("print('go')\nimport ctypes\nctypes.PyDLL(None).pause()")
            sandbox.output_until("go")
            block = b'["k",{"type":"reply","id":1,"value":"' + b"x" * (16 << 20) + b'"}]\n'
            for _ in range(9):
                sandbox.write(block)
            died = sandbox.until("died", 10)
            self.assertEqual(died["reason"], "protocol")
            self.assertIn("unread", died["detail"])
            self.assertEqual(sandbox.run("1").result, "1")


class Namespace(unittest.TestCase):
    def test_kills_the_whole_namespace_as_pid_1(self) -> None:
        as_user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
        prefix = ("unshare", *as_user, "--pid", "--fork", "--kill-child", "--mount-proc")
        with Sandbox(prefix=prefix) as sandbox:
            self.assertEqual(sandbox.run("import os; os.getppid()").result, "1")
            daemon = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        while True: time.sleep(60)\n    os._exit(0)\nos.wait()\nNone"
            count = "len([p for p in os.listdir('/proc') if p.isdigit()])"
            for end in ("reset", "exit"):
                sandbox.run(daemon)
                self.assertEqual(sandbox.run("import os; " + count).result, "3")
                if end == "reset":
                    sandbox.reset()
                else:
                    sandbox.start("import os; os._exit(0)")
                    sandbox.until("ready")
                self.assertEqual(sandbox.run("import os; " + count).result, "2")
            sandbox.run("import os, signal\nfor s in range(1, 65):\n    try: os.kill(1, s)\n    except OSError: pass")
            self.assertEqual(sandbox.run("'PID 1 took no signal'").result, "'PID 1 took no signal'")


if __name__ == "__main__":
    unittest.main()
