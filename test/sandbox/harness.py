"""A stand-in for the host: starts the real supervisor as the host does and speaks frames with it."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "sandbox" / "kernel"
PYTHON = os.environ.get("SANDPY_TEST_PYTHON", sys.executable)
PATIENCE = 60.0  # other versions are tested at the same time
FX = {"name": "fx", "alias": "fx", "description": "fixture", "status": "idle"}
MY_SERVER = {"name": "my-server", "alias": "my_server", "description": "second", "status": "connected"}
SERVERS = [FX, MY_SERVER]

OPEN_TOOL = {"name": "t", "alias": "t", "description": "", "inputSchema": {"type": "object"}}
NO_ANSWER = object()  # what an answer function returns to leave a request open

Answer = Callable[[str, dict], Any]


def patient(seconds: float) -> float:
    """How long what takes `seconds` on a machine at rest may take now: `patient` of test/helpers/patient.ts says why."""
    return seconds * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))


def sources() -> dict[str, str]:
    """Returns the files that travel, as the host reads them."""
    return {path.name: path.read_text("utf-8") for path in KERNEL.glob("*.py") if path.name != "bootstrap.py"}


def payload(settings: dict | None = None) -> bytes:
    """Renders what the host writes before the first frame."""
    default = {"protocol": 1, "max_frame_bytes": 32 * 1024 * 1024, "rlimits": None, "whole_output": True}
    body = json.dumps({"files": sources(), "settings": {**default, **(settings or {})}}).encode()
    return b"%010d" % len(body) + body


class RpcFailure(Exception):
    """Raised by an answer function to send a `reply_error`."""

    def __init__(self, kind: str, message: str, server: str | None = None, tool: str | None = None) -> None:
        super().__init__(message)
        self.record = {"kind": kind, "message": message, "server": server, "tool": tool}


def written(frame: dict) -> bytes:
    """Returns what a `stream` frame says was written."""
    if "bytes" in frame:
        return base64.b64decode(frame["bytes"], validate=True)
    return frame["data"].encode()


class Outcome:
    """What one cell did: its `done` frame, and the output before it."""

    def __init__(self, frame: dict, streams: dict[str, bytes], images: list[tuple[str, bytes]]) -> None:
        self.frame = frame
        self.streams = streams
        self.stdout = streams["stdout"].decode("utf-8", "replace")
        self.stderr = streams["stderr"].decode("utf-8", "replace")
        self.images = images
        self.status = frame["status"]
        self.result = frame["result"]
        self.exit_code = frame["exit_code"]
        self.error = frame["error"] or {}

    def __repr__(self) -> str:
        return f"Outcome({self.frame}, stdout={self.stdout[:2000]!r}, stderr={self.stderr[:4000]!r})"


class Sandbox:
    """One supervisor process."""

    def __init__(
        self,
        settings: dict | None = None,
        answer: Answer | None = None,
        prefix: tuple[str, ...] = (),
        start: bool = True,
    ) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="sandpy-test-")  # the sandbox's /tmp
        bootstrap = (KERNEL / "bootstrap.py").read_text("utf-8")
        self.process = subprocess.Popen(
            [*prefix, PYTHON, "-I", "-u", "-c", bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": self.folder.name},
        )
        self.answer = answer
        self.parts: list[bytes] = []
        self.lines: deque[bytes] = deque()
        self.frames: list[tuple[str, Any]] = []
        self.invalid: list[bytes] = []
        self.rpcs: list[dict] = []
        self.ids = 0
        self.write(payload(settings))
        if start:
            self.hello = self.until("hello")
            self.until("ready")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Raw

    def write(self, data: bytes) -> None:
        """Writes raw bytes to the supervisor."""
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, who: str, frame: dict) -> None:
        """Sends a frame as the host renders it."""
        self.write(json.dumps([who, frame], separators=(",", ":")).encode() + b"\n")

    def read_line(self, deadline: float) -> bytes | None:
        """Returns the next raw line; None at the end of stdout. Fails at the deadline."""
        while not self.lines:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"no frame in time; the last ones: {self.frames[-5:]}")
            chunk = os.read(self.process.stdout.fileno(), 1 << 20)
            if not chunk:
                return None
            self.parts.append(chunk)
            if b"\n" in chunk:
                *lines, rest = b"".join(self.parts).split(b"\n")
                self.lines.extend(lines)
                self.parts = [rest]
        return self.lines.popleft()

    def next(self, deadline: float) -> tuple[str, Any] | None:
        """Returns the next valid frame, answering requests on the way; None at the end of stdout."""
        while True:
            line = self.read_line(deadline)
            if line is None:
                return None
            try:
                who, frame = json.loads(line.decode())
                kind = frame["type"]
            except (ValueError, TypeError, KeyError, RecursionError):
                self.invalid.append(line)
                continue
            self.frames.append((who, frame))
            if who == "k" and kind == "rpc":
                self.rpcs.append(frame)
                self.reply(frame)
            return who, frame

    def reply(self, frame: dict) -> None:
        """Answers one request by the answer function. One that has no `lists_tools`, or no
        `checks_tools`, is not asked for that."""
        lists_tools = frame.get("method") == "tool_docs" and not hasattr(self.answer, "lists_tools")
        refuses_no_tool = frame.get("method") == "check_tool" and not hasattr(self.answer, "checks_tools")
        if self.answer is None and not lists_tools and not refuses_no_tool:
            return
        try:
            if refuses_no_tool:
                value = {}
            else:
                value = [OPEN_TOOL] if lists_tools else self.answer(frame["method"], frame["params"])
        except RpcFailure as failure:
            self.send("k", {"type": "reply_error", "id": frame["id"], "error": failure.record})
        else:
            if value is not NO_ANSWER:
                self.send("k", {"type": "reply", "id": frame["id"], "value": value})

    # Conversation

    def until(self, kind: str, patience: float = PATIENCE, **fields: Any) -> dict:
        """Returns the next frame of a type with these fields, passing over others."""
        deadline = time.monotonic() + patience
        while True:
            found = self.next(deadline)
            if found is None:
                raise AssertionError(f"the supervisor ended: {self.process.stderr.read().decode()}")
            if found[1]["type"] == kind and all(found[1].get(name) == value for name, value in fields.items()):
                return found[1]

    def output_until(self, text: str, patience: float = PATIENCE) -> str:
        """Waits until output contains a text; returns all the output since the call."""
        seen = b""
        while text.encode() not in seen:
            seen += written(self.until("stream", patience))
        return seen.decode("utf-8", "replace")

    def start(self, code: str, **fields: Any) -> int:
        """Sends an `execute` frame; returns its id."""
        self.ids += 1
        frame = {"type": "execute", "id": self.ids, "code": code, "servers": SERVERS, "loaded": []}
        self.send("k", {**frame, "argv": None, "filename": None, "projects": "", **fields})
        return self.ids

    def finish(self, number: int, patience: float = PATIENCE) -> Outcome:
        """Waits for the `done` of a cell and gathers the output on the way."""
        first = len(self.frames)
        done = self.until("done", patience, id=number)
        streams = [frame for who, frame in self.frames[first:] if frame["type"] == "stream" and who == "s"]
        joined = {
            name: b"".join(written(frame) for frame in streams if frame["name"] == name) for name in ("stdout", "stderr")
        }
        shown = [frame for who, frame in self.frames[first:] if frame["type"] == "display" and frame["id"] == number]
        images = [(frame["mime"], base64.b64decode(frame["data"], validate=True)) for frame in shown]
        return Outcome(done, joined, images)

    def run(self, code: str, patience: float = PATIENCE, **fields: Any) -> Outcome:
        """Runs one cell to its end."""
        return self.finish(self.start(code, **fields), patience)

    def interrupt(self, number: int) -> None:
        """Asks for an interrupt."""
        self.send("s", {"type": "interrupt", "id": number})

    def reset(self) -> dict:
        """Asks for a fresh kernel; returns the `died` frame."""
        self.send("s", {"type": "reset"})
        died = self.until("died")
        self.until("ready")
        return died

    def close(self) -> int:
        """Ends stdin and waits."""
        self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self.process.stderr.close()
            self.folder.cleanup()
