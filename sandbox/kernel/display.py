"""`display()`, and the last value of a cell: images go to the host as frames, everything else is text."""

from __future__ import annotations

import _thread
import binascii
import sys
from _collections import deque

from . import late
from .codec import clean
from .console import Console
from .figures import Figures
from .interrupts import Interrupts
from .render import MAX_RESULT, cut, name_of, render_number, safe_str
from .results import Block, Image, ToolResult, shown_of
from .suppress import Suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

MAX_IMAGES = 20  # of one cell
MAX_BYTES = 4 * 1024 * 1024  # of one image
MAX_ALL_BYTES = 16 * 1024 * 1024
PATIENCE_SECONDS = 5.0  # a host that takes nothing stops us elsewhere
MIB = 1024 * 1024

SVG = "image/svg+xml"
_RASTER = ("image/png", "image/jpeg", "image/webp", "image/gif")
_METHODS = (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_svg_", SVG))
_PLAIN = frozenset({int, float, complex, bool, str, dict, set, frozenset, type(None), bytearray, type})
_CANARY = "_ipython_canary_method_should_not_exist_"

_allocate_lock = _thread.allocate_lock
_to_base64, _from_base64 = binascii.b2a_base64, binascii.a2b_base64

Found = tuple  # (media type, bytes)


class Display:
    """What a cell showed so far, and how it shows more."""

    def __init__(self, send: Callable[[dict[str, Any]], None], console: Console, interrupts: Interrupts) -> None:
        self.send = send
        self.console = console
        self.interrupts = interrupts
        self.waiting: deque[Any] = deque()
        self.figures = Figures(self.show_figure)
        self.function = make_display(self)
        self.begin(0)

    def begin(self, execution: int) -> None:
        """Starts to count anew: for a cell, or with 0 for the time until the next."""
        self.execution = execution
        self.count = self.bytes = 0
        self.told: set[str] = set()
        self.figures.shown = []
        self.figures.hook()

    def result(self, value: Any) -> str | None:
        """Shows the last value of a cell; returns its text, None where images say it all."""
        if not self.show_images(value):
            return self.text(value)
        for each in value if type(value) in (list, tuple) else [value]:
            self.figures.forget(each)
        return self.text(value) if _is(value, ToolResult) else None

    def finish(self) -> None:
        """Shows the figures that are still open at the end of a cell."""
        try:
            figures = self.figures.close()
        except Exception:  # user code made something else of pyplot
            return
        for figure in figures:
            try:
                self.show_figure(figure)
            except Exception as error:
                self.note_failure(error)

    def show(self, value: Any) -> None:
        """Shows one value: as images, else as text on stdout."""
        if not self.show_images(value) or _is(value, ToolResult):
            text = value if type(value) is str else self.text(value)
            sys.stdout.write(f"{text}\n")

    def show_figure(self, figure: Any) -> None:
        """Shows a figure for `plt.show()`. Raises what drawing it raises."""
        data = None if self.is_full() else self.figures.render_news(figure)
        if data is not None:
            self.offer(data, None)

    def text(self, value: Any) -> str:
        """Returns the text of a value."""
        with Suppress(Exception):  # the user made something else of it
            shown = shown_of(value, MAX_RESULT)
            if shown is not None:
                return clean(cut("".join((shown,)), MAX_RESULT))
        markdown = None if type(value) in _PLAIN else self.call(value, "_repr_markdown_")
        if _is(markdown, str):
            return clean(cut("".join((markdown,)), MAX_RESULT))
        return render_number(value) or late.load(".pretty").render_result(value)

    def note(self, text: str) -> None:
        """Says once in a cell, on stderr, what can not be shown."""
        if text not in self.told:
            self.told.add(text)
            self.console.note(f"display: {text}\n")

    def note_failure(self, error: Exception) -> None:
        """Says why a figure is not shown."""
        self.note(f"a figure can not be drawn: {name_of(type(error))}: {safe_str(error)}")

    def show_images(self, value: Any) -> bool:
        """Shows a value if it is made of images; tells whether all of them were shown."""
        if type(value) in _PLAIN:
            return False
        try:
            images = self.find(value)
        except Exception as error:
            self.note(f"{name_of(type(value))}: {name_of(type(error))}: {safe_str(error)}")
            return False
        sent = [self.offer(data, kind) for kind, data in images]
        return bool(sent) and all(sent)

    def find(self, value: Any) -> list[Found]:
        """Returns the images that a value is, as media type and bytes; none for most values."""
        if _is(value, ToolResult) or _is(value, Block):
            return _images_of(value)
        if type(value) in (list, tuple):
            return self.find_all(value)
        if _is(value, bytes):
            return _check(value, _mime(value))
        if self.figures.is_figure(value):
            return self.draw(value)
        return self.find_by_methods(value)

    def find_all(self, values: Any) -> list[Found]:
        """Returns the images of a list that holds nothing else."""
        if not 0 < len(values) <= MAX_IMAGES or not all(self.is_image(each) for each in values):
            return []
        found = [self.find(each) for each in values]
        return [image for images in found for image in images] if all(found) else []

    def is_image(self, value: Any) -> bool:
        """Tells whether a value is an image for certain, without asking it."""
        pillow = getattr(sys.modules.get("PIL.Image"), "Image", None)
        return (
            self.figures.is_figure(value)
            or (_is(value, bytes) and bool(_check(value, _mime(value))))
            or (type(pillow) is type and _is(value, pillow))
        )

    def draw(self, figure: Any) -> list[Found]:
        """Draws a figure, with a note where that fails."""
        try:
            data = None if self.is_full() else self.figures.render(figure)
        except Exception as error:
            self.note_failure(error)
            return []
        return [] if data is None else [("image/png", data)]

    def find_by_methods(self, value: Any) -> list[Found]:
        """Asks an object for its image."""
        bundle = self.call(value, "_repr_mimebundle_", include=None, exclude=None)
        if _is(bundle, dict):
            for kind in (*_RASTER, SVG):
                found = _check(bundle.get(kind), kind)
                if found:
                    return found
        for method, kind in _METHODS:
            found = _check(shown := self.call(value, method), kind)
            if found:
                return found
            if _is(shown, str) or _is(shown, bytes):
                self.note(f"{name_of(type(value))}.{method}() gives no {kind}")
        return []

    def call(self, value: Any, name: str, **options: Any) -> Any:
        """Calls a method of an object if it has it; None where it fails, with a note."""
        if _is(value, type):
            return None
        try:
            method = getattr(value, name, None)
            # What has the second name too has every attribute, so none means anything.
            if not callable(method) or getattr(value, _CANARY, None) is not None:
                return None
            shown = method(**options)
            return shown[0] if type(shown) is tuple and shown else shown
        except NotImplementedError:
            return None
        except BaseException as error:
            if _is(error, KeyboardInterrupt) and self.interrupts.fired:
                raise
            self.note(f"{name_of(type(value))}.{name}() failed with {name_of(type(error))}: {safe_str(error)}")
        return None

    # To the host

    def is_full(self) -> bool:
        """Tells whether no more images can be shown in this cell, with a note."""
        if self.count < MAX_IMAGES:
            return False
        self.note(f"more than {MAX_IMAGES} images in one cell: the rest is left out")
        return True

    def offer(self, data: bytes, kind: str | None) -> bool:
        """Shows an image if it is within the bounds, smaller if need be; else says why not."""
        if self.is_full():
            return False
        if len(data) > MAX_BYTES:
            size = f"an image of {len(data) / MIB:.1f} MiB is more than the {MAX_BYTES // MIB} MiB that can be shown"
            smaller = None if kind == SVG else late.load(".images").shrink(data, MAX_BYTES)
            self.note(f"{size}; it is {'left out' if smaller is None else 'scaled down'}")
            if smaller is None:
                return False
            data, kind = smaller, None
        if self.bytes + len(data) > MAX_ALL_BYTES:
            self.note(f"more than {MAX_ALL_BYTES // MIB} MiB of images in one cell: the rest is left out")
            return False
        self.console.flush()
        self.console.flush_foreign()
        kind = kind or late.load(".images").kind_of(data) or "image/png"
        frame = {"type": "display", "id": self.execution, "mime": kind}
        try:
            self.send_and_wait({**frame, "data": _to_base64(data, newline=False).decode("ascii")})
        except Exception as error:
            self.note(f"an image can not be sent: {safe_str(error)}")
            return False
        self.count += 1
        self.bytes += len(data)
        return True

    def send_and_wait(self, frame: dict[str, Any]) -> None:
        """Sends a frame and waits until the supervisor has it: what is written next must not overtake it."""
        gate = _allocate_lock()
        gate.acquire()
        try:
            self.waiting.append(gate)
            self.send(frame)
        except BaseException:
            with Suppress(ValueError):
                self.waiting.remove(gate)
            raise
        gate.acquire(timeout=PATIENCE_SECONDS)

    def go_on(self) -> None:
        """Ends one wait; called by the reader thread."""
        if self.waiting:
            self.waiting.popleft().release()


def _is(value: Any, cls: type) -> bool:
    """Is `isinstance` without `__class__`, which can be user code."""
    return issubclass(type(value), cls)


def _mime(image: Any) -> str | None:
    return image.mime_type if type(image) is Image else None


def _check(data: Any, kind: str | None) -> list[Found]:
    """Returns an image if the data are one: bytes, base64 where it is text, or SVG."""
    if _is(data, str):
        if kind == SVG:
            data = data.encode("utf-8", "replace")
        else:
            try:
                data = _from_base64(data)
            except ValueError:
                return []
    if not _is(data, bytes):
        return []
    if type(data) is not bytes:
        data = bytes(memoryview(data))  # a subclass may have methods of its own
    if kind == SVG:
        return [(SVG, data)] if late.load(".images").is_svg(data) else []
    found = late.load(".images").kind_of(data)
    return [] if found is None else [(found, data)]


def _images_of(result: ToolResult | Block) -> list[Found]:
    try:
        images = result.images
    except Exception:  # the server's base64 is none, or the user made something else of it
        return []
    found = [_check(image, image.mime_type) for image in images]
    return [image for each in found for image in each]


def make_display(shown: Display) -> Callable[..., None]:
    """Builds the function that code calls."""

    def display(*objects: Any, **_: Any) -> None:
        """Shows objects: figures and images as images, everything else as text."""
        for each in objects:
            shown.show(each)

    display.__module__, display.__qualname__ = "mcp.runtime", "display"
    return display
