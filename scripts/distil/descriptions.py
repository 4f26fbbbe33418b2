"""The texts that are learnt from: what some thousand public interfaces say about themselves and their operations."""

import json
import random
import re
from pathlib import Path

MAX_OPERATIONS = 100
MAX_CHARS = 300
MIN_CHARS = 15
METHODS = ("get", "post", "put", "patch", "delete")


def read_descriptions(folder: Path) -> list[str]:
    """Return the descriptions below a folder of OpenAPI files, each once, in an order that is always the same."""
    dice = random.Random(0)
    texts: dict[str, str] = {}
    for file in sorted(folder.rglob("*.json")):
        try:
            document = json.loads(file.read_text("utf-8"))
        except ValueError:
            continue
        info = document.get("info", {})
        operations = [text for text in map(describe, operations_of(document)) if text]
        dice.shuffle(operations)
        about = f"{plain(info.get('title'))}. {beginning(plain(info.get('description')))}"
        for text in [about, *operations[:MAX_OPERATIONS]]:
            if len(text) >= MIN_CHARS:
                texts.setdefault(text.lower(), text)
    result = list(texts.values())
    dice.shuffle(result)
    return result


def operations_of(document: dict) -> list[dict]:
    """Return all operations of an interface."""
    paths = [path for path in (document.get("paths") or {}).values() if isinstance(path, dict)]
    return [path[method] for path in paths for method in METHODS if isinstance(path.get(method), dict)]


def describe(operation: dict) -> str:
    """Return the name of an operation and what it does, as a tool would say it."""
    summary, body = plain(operation.get("summary")), beginning(plain(operation.get("description")))
    name = summary if summary and len(summary) < 80 else words_of(str(operation.get("operationId", "")))
    if not body:
        return summary
    return body if name.lower() in body.lower() else f"{name}. {body}"


def plain(text: object) -> str:
    """Return a text without markup; nothing for what is no text."""
    if not isinstance(text, str):
        return ""
    return " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"<[^>]+>", " ", text)).split())


def beginning(text: str) -> str:
    """Return the first two sentences."""
    return " ".join(re.split(r"(?<=[.!?])\s", text)[:2])[:MAX_CHARS]


def words_of(name: str) -> str:
    """Return the words of a name such as `listUsers` or `list_users`."""
    return " ".join(re.sub(r"[_\-./:{}]+", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)).lower().split())
