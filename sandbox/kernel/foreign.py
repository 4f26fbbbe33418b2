"""What to do about code that is not Python alone: taken from a page or a chat, escaped once too often, or JavaScript."""

from __future__ import annotations

import re

from .late import load
from .names import Names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INSTALLER = re.compile(r"\b(pip3?|uv|conda|apt|apt-get|apk)\b.*\b(install|add)\b")
_magic = re.compile(r"(%{1,2}[a-z_]{2,}|![a-z./])", re.IGNORECASE)
_script = re.compile(r"(const|let|var)\s+[\w{[]")
_name = re.compile(r"(?:^|[(,])\s*([a-z]+)\s*=(?!=)|\w\.([a-z]+)(?=\()")
_entity = re.compile(r"&(lt|gt|amp|quot|apos|#0?39|#x27);")
_text = re.compile(r"'[^']*'|\"[^\"]*\"")
_long_text = re.compile(r"\"{3}|'{3}")  # in which Python itself may have a fence
_fences = ("```", "~~~")

# What word processors and keyboards of other scripts put in place of Python's characters.
_plain = {
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **{"\u00d7": "*", "\u00f7": "/", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u2026": "..."},
    **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
}


def foreign_character(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about one that Python has no use for."""
    character = chr(int(found[1], 16))
    if character in _plain:
        return f"write {_plain[character]} in place of {character}, here and wherever else it stands for that"
    if character.isspace():
        return f"U+{found[1]} only looks like a space: write plain ones"
    return "" if character.isprintable() else f"leave out U+{found[1]}, which cannot be seen"


def foreign_line(error: Any, found: re.Match[str], names: Names) -> str:
    """Advises about a line that something else than Python reads."""
    line = (error.text or "").strip()
    if line.startswith(_fences[0]) or line == _fences[1]:
        return "send Python alone, without Markdown fences"
    if line.startswith(">>> "):
        return "leave out the prompts, >>> and ..., and what was printed"
    if _magic.match(line):
        return _of_notebook(line)
    script = _script.match(line)
    if script:
        return f"this is Python: leave out `{script[1]}`"
    for word in filter(load("keyword").iskeyword, (each[1] or each[2] for each in _name.finditer(_text.sub("", line)))):
        return f"`{word}` is a word of Python's own: write `{word}_`, also for tools and their arguments"
    if _entity.search(_text.sub("", line)):
        return 'the code is escaped for HTML: send <, >, & and quotes as they are, not as in "&lt;"'
    name = error.filename or ""
    lines = load("linecache").getlines(name) if name.startswith("<") else []  # what a program names may be any file
    if len(lines) == 1 and re.search(r"\\[n\"']", line) and "line continuation" in error.msg:
        return "the code is escaped once too often: send line breaks and quotes themselves, without a \\ before them"
    fence = next((at for at, each in enumerate(lines) if each.lstrip().startswith(_fences)), 0)
    if fence >= (error.lineno or 1) and not _long_text.search("".join(lines[:fence])):
        return "send what is in the Markdown fence alone"
    return ""


def _of_notebook(line: str) -> str:
    if INSTALLER.search(line):
        return "this is no IPython, and nothing can be installed: the sandbox has no network"
    if line.startswith("!"):
        return f"this is no IPython: subprocess.run({line[1:].strip()!r}, shell=True) runs a command"
    return "this is no IPython: leave out lines that start with %"
