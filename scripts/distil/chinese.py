"""Chinese words in the space of the English table, through a model that knows both languages."""

import importlib.resources
import re

import numpy as np
from student import unit
from teacher import encode_many_languages

CHARACTERS = 3000
WORDS = 8500
ENGLISH = 14000
# How far apart the two spaces may be pulled for the sake of single words (ridge regression).
CALM = 10.0


def common_words() -> tuple[list[str], np.ndarray]:
    """Return the most common characters and words, and how much each counts: common words count less."""
    text = (importlib.resources.files("jieba") / "dict.txt").read_text("utf-8")
    rows = [line.split(" ") for line in text.splitlines()]
    counts = {row[0]: int(row[1]) for row in rows if re.fullmatch("[\u4e00-\u9fff]{1,4}", row[0])}
    ranked = sorted(counts, key=lambda word: -counts[word])
    characters = [word for word in ranked if len(word) == 1][:CHARACTERS]
    words = [word for word in ranked if len(word) > 1][:WORDS]
    share = 1 / (np.arange(len(words)) + 100)
    weights = np.concatenate([np.full(len(characters), 0.5), 1e-4 / (1e-4 + share / share.sum())])
    return characters + words, weights


def place(vocabulary: list[str], table: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return Chinese words and their rows: a linear map that fits English words carries the Chinese ones over."""
    english = [number for number, word in enumerate(vocabulary) if re.fullmatch("[a-z]{3,}", word)][:ENGLISH]
    words, weights = common_words()
    # Each language has an accent of its own in that model, which is not meaning.
    source = centred(encode_many_languages([vocabulary[number] for number in english]))
    foreign = centred(encode_many_languages(words))
    rows = table[english]
    carry = np.linalg.solve(source.T @ source + CALM * np.eye(source.shape[1]), source.T @ unit(rows))
    usual = float(np.median(np.linalg.norm(rows, axis=1)))
    return words, unit(foreign @ carry) * usual * weights[:, None]


def centred(rows: np.ndarray) -> np.ndarray:
    """Return the rows without what all have in common."""
    return rows - rows.mean(0)
