"""Takes off what models wrap code in, where no Python could begin that way, and keeps the line numbers."""

from __future__ import annotations

from .history import split_lines

FENCE = "```"


def tidy(source: str) -> str:
    """Removes a byte order mark, one Markdown fence around it all, and indentation that all lines share."""
    source = source[1:] if source.startswith("\ufeff") else source
    source = _unfence(source)
    before = source[: len(source) - len(source.lstrip())]
    if before == source or before[-1:] not in (" ", "\t"):
        return source
    margin = before.replace("\r", "\n").rpartition("\n")[2]
    return _dedent(source, margin) if not margin.strip(" \t") else source


def _unfence(source: str) -> str:
    """Takes off one fence that is around it all; the lines keep their numbers."""
    text = source.strip()
    if not text.startswith(FENCE):
        return source
    head, _, rest = text[len(FENCE) :].partition("\n")
    label = head[:-1] if head.endswith("\r") else head
    if not rest.endswith(FENCE) or not all(each.isalnum() or each in "_.+-" for each in label.rstrip(" \t")):
        return source
    inside = rest[: -len(FENCE)].rstrip(" \t")
    inside = inside[:-1] if inside.endswith("\n") else inside
    inside = inside[:-1] if inside.endswith("\r") else inside
    if any(line.lstrip(" \t").startswith(FENCE) for line in inside.split("\n")):
        return source
    above = source[: len(source) - len(source.lstrip())]
    return "\n" * (above.count("\n") + 1) + inside


def _dedent(source: str, margin: str) -> str:
    lines = split_lines(source)
    if all(line.startswith(margin) or not line.strip() for line in lines):
        return "".join(line[len(margin) :] if line.startswith(margin) else line.lstrip(" \t") for line in lines)
    return source
