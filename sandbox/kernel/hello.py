"""The first frame: which protocol, which program, which Python."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROTOCOL = 1

try:  # hashlib would load OpenSSL, which costs more
    sha256 = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
except ImportError:  # a Python that was built without
    from hashlib import sha256


def bundle_hash(files: dict[str, str]) -> str:
    """Returns the SHA-256 of the sources, as docs/protocol.md defines it."""
    digest = sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name].encode() + b"\0")
    return digest.hexdigest()


def hello(files: dict[str, str]) -> dict[str, Any]:
    """Builds the `hello` frame."""
    python = ".".join(str(part) for part in sys.version_info[:3])
    return {"type": "hello", "protocol": PROTOCOL, "bundle": bundle_hash(files), "python": python}
