"""Takes off what models wrap code in, where no Python could begin that way, and keeps the line numbers."""

from __future__ import annotations

import re

from .history import split_lines

_fence = re.compile(r"\s*```[\w.+-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*", re.DOTALL)
_other_fence = re.compile(r"^[ \t]*```", re.MULTILINE)
_first = re.compile(r"\S")


def tidy(source: str) -> str:
    """Removes a byte order mark, one Markdown fence around it all, and indentation that all lines share."""
    source = source[1:] if source.startswith("\ufeff") else source
    fenced = _fence.fullmatch(source)
    if fenced and not _other_fence.search(fenced[1]):
        source = "\n" * source.count("\n", 0, fenced.start(1)) + fenced[1]
    first = _first.search(source)
    if first is None or source[: first.start()][-1:] not in (" ", "\t"):
        return source
    margin = re.split("[\r\n]", source[: first.start()])[-1]
    return _dedent(source, margin) if not margin.strip(" \t") else source


def _dedent(source: str, margin: str) -> str:
    lines = split_lines(source)
    if all(line.startswith(margin) or not line.strip() for line in lines):
        return "".join(line[len(margin) :] if line.startswith(margin) else line.lstrip(" \t") for line in lines)
    return source
