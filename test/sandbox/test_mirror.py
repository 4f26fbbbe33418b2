"""The kernel's half of /projects, with a stand-in for the host: files of both sides that change at any moment."""

from __future__ import annotations

import base64
import importlib
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable

import test_units  # noqa: F401  makes the package importable

mirror = importlib.import_module("_sandpy.mirror")
courier = importlib.import_module("_sandpy.courier")
notebook = importlib.import_module("_sandpy.notebook")

SECONDS = 30.0


class Call:
    """An answer that is there at once, or not before it is asked for."""

    def __init__(self, host: Host, answer: Callable[[], Any]) -> None:
        self.host = host
        self.answer = answer
        host.under_way += 1
        host.most = max(host.most, host.under_way)

    def result(self, timeout: float) -> Any:
        self.host.under_way -= 1
        return self.answer()

    def close(self) -> None:
        self.host.under_way -= 1


class Host:
    """Keeps files in memory, as the host does on its disk."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.count = 0
        self.under_way = 0
        self.most = 0
        self.meanwhile: Callable[[str, dict[str, Any]], None] = lambda method, params: None

    def put(self, path: str, content: bytes) -> None:
        self.count += 1
        self.files[path] = str(self.count), content

    def request(self, method: str, params: dict[str, Any], label: str) -> Call:
        return Call(self, lambda: self.serve(method, params))

    def serve(self, method: str, params: dict[str, Any]) -> Any:
        self.meanwhile(method, params)
        if method == "project_list":
            return {"files": [self.describe(path) for path in sorted(self.files)]}
        path = params["path"]
        version, content = self.files.get(path, ("", b""))
        if method == "project_read":
            data = base64.b64encode(content[params["offset"] :][: courier.PIECE_BYTES]).decode()
            return {"data": data, "version": version, "bytes": len(content)}
        new = base64.b64decode(params.get("data", ""))
        if version not in ("", params["base"]) and content != new:
            return {"file": None, "changed": True}
        if method == "project_remove":
            self.files.pop(path, None)
            return {"changed": False}
        self.put(path, new)
        return {"file": self.describe(path), "changed": False}

    def describe(self, path: str) -> dict[str, Any]:
        version, content = self.files[path]
        return {"path": path, "bytes": len(content), "version": version, "modified_at": 1.0}


class Mirrors(unittest.TestCase):
    def setUp(self) -> None:
        self.outer = tempfile.TemporaryDirectory(prefix="sandpy-test-")
        self.folder = Path(self.outer.name, "projects")
        self.folder.mkdir()
        self.places = notebook.PLACE, notebook.NEW_PLACE
        notebook.PLACE = f"{self.outer.name}/notebook"
        notebook.NEW_PLACE = f"{notebook.PLACE}.new"
        self.host = Host()
        self.mirror = self.new_mirror()

    def tearDown(self) -> None:
        notebook.PLACE, notebook.NEW_PLACE = self.places
        self.outer.cleanup()

    def new_mirror(self) -> Any:
        return mirror.Mirror(self.host, str(self.folder))

    def here(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.folder.iterdir()}

    def there(self) -> dict[str, str]:
        return {path: content.decode() for path, (_, content) in self.host.files.items()}

    def test_keeps_both_where_both_changed_and_says_so_once(self) -> None:
        (self.folder / "a.b.txt").write_text("1")
        self.assertEqual(self.mirror.send(SECONDS), "")
        self.host.put("a.b.txt", b"theirs")
        (self.folder / "a.b.txt").write_text("mine")
        notes = self.mirror.send(SECONDS)
        self.assertEqual(notes.count("\n"), 1)
        self.assertIn(f"kept as {self.folder}/a.b.conflict-1.txt: {self.folder}/a.b.txt: somebody else changed it", notes)
        both = {"a.b.txt": "theirs", "a.b.conflict-1.txt": "mine"}
        self.assertEqual(self.there(), both)
        self.assertEqual(self.mirror.fetch(SECONDS) + self.mirror.send(SECONDS), "")
        self.assertEqual((self.here(), self.there()), (both, both))

    def test_tells_each_time_that_both_changed_and_when_there_are_too_many_copies(self) -> None:
        """KEP-11"""
        name = "é" * 97 + ".txt"  # 198 bytes, and the host keeps 200 of a copy's too
        for number in range(1, mirror.MAX_COPIES + 1):
            copy = courier.copy_name(name, number)
            self.assertLessEqual(len(copy.encode()), 200)
            self.assertTrue(copy.endswith(f".conflict-{number}.txt"))
            (self.folder / name).write_text("before")
            self.mirror.known.pop(name, None)
            self.host.files.pop(name, None)
            self.assertEqual(self.mirror.send(SECONDS), "")
            self.host.put(name, f"theirs {number}".encode())
            (self.folder / name).write_text(f"mine {number}")
            notes = self.mirror.send(SECONDS)
            if number == mirror.MAX_COPIES:
                self.assertIn("there are 99 copies already: remove some", notes)
            else:
                self.assertIn(f"kept as {self.folder}/{copy}: ", notes)
                self.assertEqual(self.there()[copy], f"mine {number}")
        self.assertEqual(self.here()[name], f"mine {mirror.MAX_COPIES}")

    def test_tells_again_of_a_copy_with_the_name_of_one_that_was_removed(self) -> None:
        for _ in range(2):
            (self.folder / "a").write_text("1")
            self.assertEqual(self.mirror.send(SECONDS), "")
            self.host.put("a", b"theirs")
            (self.folder / "a").write_text("mine")
            self.assertIn(f"kept as {self.folder}/a.conflict-1: ", self.mirror.send(SECONDS))
            self.mirror.fetch(SECONDS)
            (self.folder / "a.conflict-1").unlink()
            self.assertEqual(self.mirror.send(SECONDS), "")

    def test_counts_on_where_somebody_else_has_a_copy_of_that_name(self) -> None:
        for name in ("a.txt", "b"):
            with self.subTest(name):
                (self.folder / name).write_text("1")
                self.mirror.send(SECONDS)
                first, second, third = (courier.copy_name(name, number) for number in (1, 2, 3))
                for path in (name, first, second):  # the copies are news to this side
                    self.host.put(path, f"their {path}".encode())
                (self.folder / name).write_text("mine")
                notes = self.mirror.send(SECONDS)
                self.assertEqual(notes.count("\n"), 1)
                self.assertIn(f"kept as {self.folder}/{third}: {self.folder}/{name}: somebody else changed it", notes)
                self.mirror.fetch(SECONDS)
                both = {path: f"their {path}" for path in (name, first, second)}
                self.assertEqual({path: self.here()[path] for path in (*both, third)}, {**both, third: "mine"})
                self.assertEqual({path: self.there()[path] for path in (*both, third)}, {**both, third: "mine"})

    def test_counts_on_where_a_copy_is_changed_by_both(self) -> None:
        for name, copy in (
            ("a.conflict-1.txt", "a.conflict-2.txt"),
            ("b.conflict-9", "b.conflict-10"),
            ("c.conflict-1.conflict-2", "c.conflict-3"),
            (".conflict-1", ".conflict-1.conflict-1"),
            ("d.conflict-2026.txt", "d.conflict-2026.conflict-1.txt"),
        ):
            with self.subTest(name):
                (self.folder / name).write_text("1")
                self.mirror.send(SECONDS)
                self.host.put(name, b"theirs")
                (self.folder / name).write_text("mine")
                self.assertIn(f"kept as {self.folder}/{copy}: {self.folder}/{name}: ", self.mirror.send(SECONDS))
                self.assertEqual((self.there()[name], self.there()[copy]), ("theirs", "mine"))
        last = f"e.conflict-{mirror.MAX_COPIES - 1}"
        (self.folder / last).write_text("1")
        self.mirror.send(SECONDS)
        self.host.put(last, b"theirs")
        (self.folder / last).write_text("mine")
        self.assertIn("there are 99 copies already", self.mirror.send(SECONDS))
        self.assertEqual((self.here()[last], self.there()[last]), ("mine", "theirs"))

    def test_does_not_remove_what_somebody_else_changed(self) -> None:
        (self.folder / "a").write_text("1")
        self.mirror.send(SECONDS)
        self.host.put("a", b"theirs")
        (self.folder / "a").unlink()
        self.assertIn(f"not removed: {self.folder}/a: somebody else changed it", self.mirror.send(SECONDS))
        self.assertEqual(self.mirror.fetch(SECONDS), "")
        self.assertEqual((self.here(), self.there()), ({"a": "theirs"}, {"a": "theirs"}))

    def test_takes_what_is_the_same_for_no_conflict_when_it_has_forgotten_all(self) -> None:
        self.host.put("a", b"same")
        self.mirror.fetch(SECONDS)
        os.unlink(notebook.PLACE)
        self.mirror = self.new_mirror()
        self.assertEqual(self.mirror.fetch(SECONDS) + self.mirror.send(SECONDS), "")
        self.assertEqual(self.there(), {"a": "same"})

    def test_removes_what_a_killed_process_had_not_loaded_and_nothing_else(self) -> None:
        self.host.put("a", b"1")
        self.mirror.fetch(SECONDS)
        staged = self.mirror.notebook.staged
        for name in (staged, ".sandpy-0123456789abcdef01234567", "x.sandpy-part"):
            (self.folder / name).write_text("x")
        self.mirror = self.new_mirror()
        self.mirror.send(SECONDS)
        self.assertEqual(sorted(self.there()), [".sandpy-0123456789abcdef01234567", "a", "x.sandpy-part"])
        self.assertNotIn(staged, self.here())

    def test_puts_no_file_together_of_two_versions(self) -> None:
        size = courier.PIECE_BYTES + 10
        self.host.put("a", b"1" * size)

        def replace(method: str, params: dict[str, Any]) -> None:
            if params.get("offset") and self.host.count == 1:
                self.host.put("a", b"2" * (size + 5))

        self.host.meanwhile = replace
        self.assertEqual(self.mirror.fetch(SECONDS), "")
        self.assertEqual((self.folder / "a").read_text(), "2" * (size + 5))

    def test_gives_up_on_a_file_that_changes_all_the_time(self) -> None:
        size = courier.PIECE_BYTES + 10
        self.host.put("a", b"1" * size)
        self.host.meanwhile = lambda method, params: self.host.put("a", b"2" * size) if params.get("offset") else None
        self.assertIn("it changes all the time", self.mirror.fetch(SECONDS))
        self.assertEqual(self.here(), {})

    def test_overwrites_nothing_that_background_code_writes_meanwhile(self) -> None:
        self.host.put("a", b"1")
        self.mirror.fetch(SECONDS)
        self.host.put("a", b"theirs")

        def write(method: str, params: dict[str, Any]) -> None:
            if method == "project_read":
                (self.folder / "a").write_text("mine")

        self.host.meanwhile = write
        self.mirror.fetch(SECONDS)
        self.assertEqual(self.here(), {"a": "mine"})
        self.assertIn("kept as", self.mirror.send(SECONDS))
        self.assertEqual(self.there(), {"a": "theirs", "a.conflict-1": "mine"})

    def test_sends_small_files_together_and_large_ones_in_pieces(self) -> None:
        for number in range(40):
            (self.folder / f"f{number}").write_text(f"{number}")
        (self.folder / "empty").touch()
        self.assertEqual(self.mirror.send(SECONDS), "")
        self.assertEqual((len(self.host.files), self.host.most, self.host.under_way), (41, mirror.MAX_UNDER_WAY, 0))
        self.mirror.send(SECONDS)
        self.assertEqual(self.host.count, 41)

    def test_sends_little_of_what_there_is_no_room_for(self) -> None:
        sent = []

        def refuse(method: str, params: dict[str, Any]) -> None:
            if method == "project_write":
                sent.append(len(base64.b64decode(params["data"])))
                message = "there is no room"
                raise mirror.MemoryStoreError(message)

        self.host.meanwhile = refuse
        (self.folder / "first").write_bytes(bytes(200_000))
        for number in range(50):
            os.link(self.folder / "first", self.folder / f"f{number}")
        self.assertIn("there is no room", self.mirror.send(SECONDS))
        self.assertEqual(sent, [200_000, *[courier.PROBE_BYTES] * 50])
        self.host.meanwhile = lambda method, params: None
        (self.folder / "first").touch()  # they are one file: all have changed
        self.assertEqual(self.mirror.send(SECONDS), "")
        self.assertEqual(len(self.host.files), 51)

    def test_waits_for_nobody_beyond_its_time(self) -> None:
        for number in range(40):
            (self.folder / f"f{number}").write_text(f"{number}")
        self.assertIn("took too long to be kept", self.mirror.send(0.0))
        self.assertEqual(self.host.under_way, 0)
        self.assertEqual(self.mirror.send(SECONDS), "")
        self.assertEqual(len(self.host.files), 40)
