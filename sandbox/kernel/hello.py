"""The first frame: which protocol, which program, which Python."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

PROTOCOL = 1


def bundle_hash(files: dict[str, str]) -> str:
    """Returns the SHA-256 of the sources, as docs/protocol.md defines it."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name].encode() + b"\0")
    return digest.hexdigest()


def hello(files: dict[str, str]) -> dict[str, Any]:
    """Builds the `hello` frame."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return {"type": "hello", "protocol": PROTOCOL, "bundle": bundle_hash(files), "python": python}
