"""A real supervisor and kernel under forged lines: of a host that lies, and of user code that writes into the pipes."""

from __future__ import annotations

import base64
import contextlib
import json
import sys
import threading
import time
from typing import Any, NoReturn

from mutations import ROOT, Mutator, corpus

sys.path.insert(0, str(ROOT / "test/sandbox"))
from harness import RpcFailure, Sandbox  # noqa: E402 its folder had to be named first

AT_ONCE = 400
PATIENCE = 60.0
MAX_SHOWN = 400
MAX_FORGED = 60_000  # what a pipe takes at once: nobody reads while the code writes into the wrong one
# What code can find, and write into: everything it has open but the standard streams.
FORGE = """import base64 as _b, os as _o
for _n in _o.listdir('/proc/self/fd'):
    try:
        if int(_n) > 2 and 'pipe' in _o.readlink('/proc/self/fd/' + _n): _o.write(int(_n), _b.b64decode(%r))
    except (OSError, ValueError): pass
"""


def refuse(method: str, _: object) -> NoReturn:
    """Answers a request."""
    raise RpcFailure("unknown", f"no {method} here")


class Attacked(Sandbox):
    """A sandbox whose stderr is read away, and which is asked for an honest result."""

    def __init__(self) -> None:
        self.said = b""
        super().__init__({"max_frame_bytes": 1024 * 1024}, answer=refuse)
        threading.Thread(target=self._drain, daemon=True).start()
        self.ids = 1_000_000

    def _drain(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                chunk = self.process.stderr.read1(65536)
                if not chunk:
                    break
                self.said = (self.said + chunk)[-MAX_SHOWN:]

    def reply(self, frame: dict[str, Any]) -> None:
        """Refuses every request that can be answered."""
        if type(frame.get("id")) is int and isinstance(frame.get("method"), str):
            super().reply({"params": {}, **frame})

    def is_honest(self, number: int) -> bool:
        """Tells whether a cell still has its own result; one that resets swept away runs again."""
        for _ in range(AT_ONCE):
            cell = self.start(f"'honest {number}'")
            while True:
                who, frame = self.next_any()
                if frame["type"] == "done" and frame.get("id") == cell:
                    return frame.get("result") == f"'honest {number}'"
                if who == "s" and frame["type"] == "died" and frame.get("execution") in (None, cell):
                    break
        return False

    def next_any(self) -> tuple[str, dict[str, Any]]:
        """Returns who speaks, and the next frame that has the shape of one."""
        while True:
            who, frame = self.next(time.monotonic() + PATIENCE) or ("", {})
            if not who:
                message = "the supervisor ended"
                raise AssertionError(message)
            if isinstance(frame, dict) and isinstance(frame.get("type"), str):
                return who, frame


def is_harmless(line: bytes) -> bool:
    """Tells whether the code of a mutated `execute` is still a few characters: it runs on this machine, unconfined."""
    try:
        frame = json.loads(line)[1]
        code = frame.get("code", "")
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError):
        return b'"execute"' not in line
    return not isinstance(code, str) or len(code) <= 12


def fuzz(frames: int, seed: int) -> dict[str, Any]:
    """Half of the frames come from the host, half from user code. Each batch is followed by an honest cell."""
    mutator = Mutator(seed)
    from_host, from_code = corpus("in"), [line[len('["k",') : -1] for line in corpus("out")]
    faults: list[str] = []
    written = batches = 0
    sandbox = Attacked()
    while written < frames and len(faults) < 10:
        batches += 1
        lies = from_host if batches % 2 else from_code
        lines = [mutator.mutate(mutator.random.choice(lies), lies) for _ in range(AT_ONCE)]
        lines = [line for line in lines if is_harmless(line)]
        written += len(lines)
        blob = b"\n".join(lines) + b"\n"
        try:
            if lies is from_host:
                sandbox.write(blob)
            else:
                sandbox.start(FORGE % base64.b64encode(blob[:MAX_FORGED]))
            if not sandbox.is_honest(batches):
                faults.append(f"batch {batches}: no honest result {str(sandbox.frames[-12:])[-MAX_SHOWN:]}")
        except (AssertionError, OSError) as error:
            faults.append(f"batch {batches}: {error} {sandbox.said!r}: {blob[:MAX_SHOWN]!r}")
            sandbox.process.kill()
            sandbox = Attacked()
    sandbox.close()
    return {"frames": written, "batches": batches, "faults": faults}
