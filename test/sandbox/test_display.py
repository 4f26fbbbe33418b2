"""Images: what is one, in which order they come, how many and how large, and that hostile objects break nothing."""

from __future__ import annotations

import importlib.util
import struct
import unittest
import zlib

from harness import Sandbox


def png(width: int = 2, height: int = 2, data: bytes | None = None) -> bytes:
    """Makes a real image, of random pixels where a long one is wanted."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = data or b"".join(b"\0" + bytes(width) for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


PNG = png()
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' width='5' height='5'></svg>"
JPEG = b"\xff\xd8\xff\xe0" + b"x" * 20 + b"\xff\xd9"
GIF = b"GIF89a\x01\0\x01\0" + b"x" * 20
WEBP = b"RIFF" + struct.pack("<I", 24) + b"WEBPVP8L" + b"x" * 16
SETUP = f"""
import base64, struct, zlib
PNG, SVG, JPEG, GIF, WEBP = {PNG!r}, {SVG!r}, {JPEG!r}, {GIF!r}, {WEBP!r}

def padded(size):
    more = size - len(PNG) - 12
    return PNG[:-12] + struct.pack(">I", more) + b"teXt" + bytes(more + 4) + PNG[-12:]

def having(**methods):
    return type("Shown", (), {{name: (lambda self, value=value, **_: value) for name, value in methods.items()}})()
"""
MIB = 1024 * 1024


class Display(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sandbox = Sandbox(answer=cls.answer)
        cls.sandbox.run(SETUP)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.sandbox.close()

    @staticmethod
    def answer(method: str, params: dict) -> object:
        """Plays a tool that returns the content it is given."""
        return {"content": params["arguments"]["content"]}

    def shown(self, code: str, *images: tuple[str, bytes], result: str | None = None, stdout: str = "") -> str:
        """Checks what a cell shows; returns what it wrote to stderr."""
        outcome = self.sandbox.run(code)
        self.assertEqual((outcome.status, outcome.result, outcome.stdout), ("ok", result, stdout), outcome)
        self.assertEqual(outcome.images, list(images))
        return outcome.stderr

    def test_shows_a_last_value_that_is_an_image(self) -> None:
        rows = [
            ("PNG", ("image/png", PNG)),
            ("JPEG", ("image/jpeg", JPEG)),
            ("GIF", ("image/gif", GIF)),
            ("WEBP", ("image/webp", WEBP)),
            ("having(_repr_png_=PNG)", ("image/png", PNG)),
            ("having(_repr_png_=(PNG, {'width': 5}))", ("image/png", PNG)),
            ("having(_repr_png_=base64.b64encode(PNG).decode())", ("image/png", PNG)),
            ("having(_repr_png_=None, _repr_jpeg_=JPEG)", ("image/jpeg", JPEG)),
            ("having(_repr_svg_=SVG.decode())", ("image/svg+xml", SVG)),
            ("having(_repr_svg_=SVG.decode(), _repr_png_=PNG)", ("image/png", PNG)),
            ("having(_repr_mimebundle_={'text/plain': 'x', 'image/png': PNG})", ("image/png", PNG)),
            ("having(_repr_mimebundle_=({'image/svg+xml': SVG.decode()}, {}))", ("image/svg+xml", SVG)),
            ("having(_repr_html_='<b>', _repr_png_=PNG)", ("image/png", PNG)),
            ("having(_repr_png_=JPEG)", ("image/jpeg", JPEG)),
            ("await __import__('asyncio').sleep(0, PNG)", ("image/png", PNG)),
        ]
        for code, image in rows:
            with self.subTest(code):
                self.assertEqual(self.shown(code, image), "")
                self.assertEqual(self.sandbox.run("_ is not None").result, "True")

    def test_shows_lists_of_images(self) -> None:
        self.shown("[PNG, JPEG]", ("image/png", PNG), ("image/jpeg", JPEG))
        self.assertEqual(self.sandbox.run("[PNG, 5]").images, [])

    def test_shows_text_where_there_is_no_image(self) -> None:
        rows = [
            ("having(_repr_markdown_='# Title')", "# Title"),
            ("having(_repr_html_='<b>', __repr__='plain')", "plain"),
            ("having(_repr_png_=None, __repr__='plain')", "plain"),
            ("b'\\x89PNG\\r\\n\\x1a\\n'", "b'\\x89PNG\\r\\n\\x1a\\n'"),
            ("PNG[:40] == PNG", "False"),
            ("[]", "[]"),
            (
                "type('Every', (), {'__getattr__': lambda self, name: (lambda **_: PNG), '__repr__': lambda self: 'every'})()",
                "every",
            ),
            ("type('T', (), {'_repr_png_': lambda self: PNG, '__module__': 'm'})", "<class 'm.T'>"),
        ]
        for code, result in rows:
            with self.subTest(code):
                self.assertEqual(self.shown(code, result=result), "")

    def test_displays_any_number_of_objects(self) -> None:
        self.shown("display()")
        self.shown(
            "display('text', 5, [1, 'a'], having(_repr_markdown_='# M'), PNG, having(_repr_html_='<b>', __repr__='r'))",
            ("image/png", PNG),
            stdout="text\n5\n[1, 'a']\n# M\nr\n",
        )

    def test_keeps_the_order_of_text_and_images(self) -> None:
        first = len(self.sandbox.frames)
        self.sandbox.run("for i in range(3):\n    print(i, end='')\n    display(PNG)\nprint('end')")
        seen = [
            frame.get("data") if frame["type"] == "stream" else frame["type"]
            for _, frame in self.sandbox.frames[first:]
        ]
        self.assertEqual(seen, ["0", "display", "1", "display", "2", "display", "end\n", "done"])

    def test_shows_what_a_tool_returned(self) -> None:
        image = {"type": "image", "data": "", "mimeType": "image/png"}
        call = "r = await mcp_fx.t(content=[{'type': 'text', 'text': 'seen'}, {**image, 'data': base64.b64encode(PNG).decode()}])\n"
        code = f"image = {image!r}\n{call}"
        text = f"seen\n[image: image/png, {len(PNG) + 1} bytes]"
        self.shown(f"{code}r", ("image/png", PNG), result=text)
        self.shown(f"{code}display(r)", ("image/png", PNG), stdout=f"{text}\n")
        self.shown(f"{code}r.images", ("image/png", PNG))
        self.shown(f"{code}display(r.images[0])", ("image/png", PNG))
        self.shown(f"{code}display(r.content[1])", ("image/png", PNG))
        self.shown(f"{code}r.content[1]", ("image/png", PNG))
        self.assertEqual(self.sandbox.run(f"{code}display(r.content[0])").images, [])
        same = "(base64.b64decode(r.images[0].data) == r.images[0], r.images[0].mimeType)"
        self.assertEqual(self.sandbox.run(f"{code}{same}").result, "(True, 'image/png')")
        outcome = self.sandbox.run("r = await mcp_fx.t(content=[{**image, 'data': '!'}, 5])\nr")
        self.assertEqual((outcome.status, outcome.images), ("ok", []))
        self.assertEqual(outcome.result, "[image: image/png, 0 bytes]\n5")

    def test_never_replaces_a_variable_of_the_users(self) -> None:
        with Sandbox() as sandbox:
            self.assertEqual(sandbox.run("display = 5").status, "ok")
            self.assertEqual(sandbox.run("display").result, "5")
            sandbox.run("del display")
            self.assertEqual(sandbox.run("callable(display), display.__name__").result, "(True, 'display')")

    def test_survives_hostile_objects(self) -> None:
        rows = [
            ("def _repr_png_(self): raise ValueError('no')", "Bad._repr_png_() failed with ValueError: no"),
            ("def _repr_png_(self): raise SystemExit(3)", "Bad._repr_png_() failed with SystemExit: 3"),
            ("def _repr_png_(self): raise KeyboardInterrupt", "Bad._repr_png_() failed with KeyboardInterrupt: "),
            ("def _repr_png_(self): return self._repr_png_()", "failed with RecursionError"),
            ("def _repr_png_(self): return b'garbage'", "Bad._repr_png_() gives no image/png"),
            ("def _repr_svg_(self): return '<html>'", "Bad._repr_svg_() gives no image/svg+xml"),
            ("def _repr_png_(self): return 5", ""),
            ("def _repr_png_(self): return '\\ud800'", "gives no image/png"),
            ("def _repr_mimebundle_(self): return {}", "failed with TypeError"),
            ("def _repr_mimebundle_(self, **_): return {'image/png': 5}", ""),
            ("_repr_png_ = 5", ""),
            ("_repr_png_ = property(lambda self: 1 / 0)", "failed with ZeroDivisionError"),
            ("def _repr_markdown_(self): return 5", ""),
            ("def _repr_markdown_(self): raise ValueError('no')", "failed with ValueError: no"),
            ("__class__ = property(lambda self: 1 / 0)", ""),
        ]
        for body, note in rows:
            with self.subTest(body):
                code = f"class Bad:\n    def __repr__(self): return 'bad'\n    {body}\n"
                for end, expected in (("Bad()", ("bad", "")), ("display(Bad())", (None, "bad\n"))):
                    outcome = self.sandbox.run(code + end)
                    self.assertEqual((outcome.status, outcome.result, outcome.stdout), ("ok", *expected), outcome)
                    self.assertEqual(bool(outcome.stderr), bool(note), outcome)
                    self.assertIn(note, outcome.stderr)
                    self.assertEqual(outcome.stderr.count("\n"), bool(note))

    def test_can_be_interrupted_in_an_object_that_blocks(self) -> None:
        code = "class Slow:\n    def _repr_png_(self):\n        print('asked')\n        while True: pass\n"
        for end in ("Slow()", "display(Slow())"):
            number = self.sandbox.start(code + end)
            self.sandbox.output_until("asked")
            self.sandbox.interrupt(number)
            self.assertEqual(self.sandbox.finish(number).status, "interrupted")
        self.shown("PNG", ("image/png", PNG))

    def test_bounds_how_many(self) -> None:
        outcome = self.sandbox.run("for _ in range(25): display(PNG)")
        self.assertEqual(len(outcome.images), 20)
        self.assertEqual(outcome.stderr, "display: more than 20 images in one cell: the rest is left out\n")
        self.assertEqual(outcome.stdout.count("b'"), 5)
        self.shown("PNG", ("image/png", PNG))

    def test_bounds_how_large(self) -> None:
        outcome = self.sandbox.run("display(padded(4 * 1024 * 1024))")
        self.assertEqual([len(data) for _, data in outcome.images], [4 * MIB])
        outcome = self.sandbox.run("having(_repr_png_=padded(5 * 1024 * 1024 + 1), __repr__='large')")
        if importlib.util.find_spec("PIL") is None:
            self.assertEqual((outcome.result, outcome.images), ("large", []))
            note = "display: an image of 5.0 MiB is more than the 4 MiB that can be shown; it is left out\n"
            self.assertEqual(outcome.stderr, note)
        outcome = self.sandbox.run("for _ in range(6): display(padded(4 * 1024 * 1024 - 5))")
        self.assertEqual(len(outcome.images), 4)
        self.assertEqual(outcome.stderr, "display: more than 16 MiB of images in one cell: the rest is left out\n")

    def test_shows_between_cells_with_id_0(self) -> None:
        self.sandbox.run(
            "import threading\ngo = threading.Event()\nt = threading.Thread(target=lambda: (go.wait(), display(PNG)))\nt.start()"
        )
        self.sandbox.run("import asyncio\nasyncio.get_event_loop().call_later(0.05, go.set)\nNone")
        self.assertEqual(self.sandbox.until("display")["id"], 0)

    def test_speaks_for_the_kernel_alone(self) -> None:
        code = "import os\nif os.fork() == 0:\n    display(PNG)\n    os._exit(5)\nos.WEXITSTATUS(os.wait()[1])"
        self.assertIn("an image can not be sent", self.shown(code, result="5", stdout=f"{PNG!r}\n"))

    def test_writes_to_the_stream_that_code_put_in_place(self) -> None:
        code = "import contextlib, io\nout = io.StringIO()\nwith contextlib.redirect_stdout(out): display('a', 5)\nout.getvalue()"
        self.shown(code, result="'a\\n5\\n'")


if __name__ == "__main__":
    unittest.main()
