"""What bytes are an image of, and how one that is too large becomes smaller."""

from __future__ import annotations

import importlib
import io
import re
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_PIXELS = 40_000_000  # more do not fit into the memory of a usual sandbox
ROUNDS = 6

_svg = re.compile(rb"\s*(<\?xml[^>]*\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(\[[^\]]*\])?[^>]*>|\s)*<svg[\s>]", re.DOTALL)


def kind_of(data: bytes) -> str | None:
    """Returns the media type of an image that is whole, as far as its head and its end can tell."""
    head = data[:32]
    if head[:8] == b"\x89PNG\r\n\x1a\n":
        sized = head[12:16] == b"IHDR" and any(head[16:20]) and any(head[20:24])
        return "image/png" if sized and b"IEND" in data[-4096:] else None
    if head[:3] == b"\xff\xd8\xff":
        return "image/jpeg" if data.rfind(b"\xff\xd9") > 3 else None
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif" if any(head[6:8]) and any(head[8:10]) and len(data) > 13 else None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        whole = int.from_bytes(head[4:8], "little") + 8 <= len(data)
        return "image/webp" if whole and head[12:16] in (b"VP8 ", b"VP8L", b"VP8X") else None
    return None


def is_svg(data: bytes) -> bool:
    """Tells whether bytes are an SVG document."""
    return b"</svg>" in data[-4096:] and _svg.match(data[:65536]) is not None


def shrink(data: bytes, limit: int) -> bytes | None:
    """Returns an image of at most `limit` bytes made from one that is larger; None without Pillow, or if it fails."""
    try:
        pillow = importlib.import_module("PIL.Image")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _shrink(pillow, data, limit)
    except Exception:  # no Pillow, or not an image that it can read
        return None


def _shrink(pillow: Any, data: bytes, limit: int) -> bytes | None:
    image = pillow.open(io.BytesIO(data))
    kind = "JPEG" if image.format == "JPEG" else "PNG"
    factor = (limit / len(data)) ** 0.5 * 0.9
    if kind == "JPEG":
        image.draft("RGB", (int(image.width * factor), int(image.height * factor)))
    if image.width * image.height > MAX_PIXELS:
        return None
    width, height = image.width * factor, image.height * factor
    if image.mode not in ("RGB", "RGBA", "L", "LA"):
        image = image.convert("RGB" if kind == "JPEG" else "RGBA")
    for _ in range(ROUNDS):
        smaller = image.resize((max(1, int(width)), max(1, int(height))), reducing_gap=2.0)
        out = io.BytesIO()
        smaller.save(out, kind)
        if out.tell() <= limit:
            return out.getvalue()
        width, height = width * 0.7, height * 0.7
    return None
