"""An image that a server gave."""

from __future__ import annotations

import binascii


class Image(bytes):
    """The bytes of an image that a tool returned."""

    __module__ = "mcp.runtime"
    mime_type: str = "application/octet-stream"

    @property
    def data(self) -> str:
        """The base64 that came, as the content block has it."""
        return binascii.b2a_base64(self, newline=False).decode("ascii")

    @property
    def mimeType(self) -> str:
        """The same as `mime_type`, as the protocol spells it."""
        return self.mime_type

    def __repr__(self) -> str:
        return f"<{self.mime_type}, {len(self)} bytes>"
