"""
Makes the table of word vectors that search uses: `distil.py WHEEL DESCRIPTIONS TABLE`.

Its form is described in src/upstream/search/word-vectors.ts. ./scripts/distil-words brings what this needs.
"""

import re
import struct
import sys
from pathlib import Path

import chinese
import numpy as np
from descriptions import read_descriptions
from student import learn
from teacher import Sentences

DIMENSIONS = 192


def main(wheel: Path, descriptions: Path, target: Path) -> None:
    """Read, learn, and write."""
    model = Sentences(wheel)
    texts = read_descriptions(descriptions)
    print(f"{len(texts)} descriptions", flush=True)
    table = learn(model.pieces(texts), model.encode(texts), model.encode_pieces(), DIMENSIONS)
    vocabulary = model.vocabulary()
    words, rows = chinese.place(vocabulary, table)
    kept = [number for number, word in enumerate(vocabulary) if is_useful(word)]
    write(target, [*(vocabulary[number] for number in kept), *words], np.concatenate([table[kept], rows]))


def is_useful(word: str) -> bool:
    """Return whether search can come across a piece: neither marks of the model nor signs nor foreign single letters."""
    return re.fullmatch(r"(?:##)?(?:[a-z0-9]+|[^\W\d_]{2,})", word) is not None


def write(target: Path, words: list[str], rows: np.ndarray) -> None:
    """Write the table, a byte for each number."""
    scales = np.abs(rows).max(1) / 127
    entries = np.round(rows / scales[:, None]).astype(np.int8)
    text = "\n".join(words).encode()
    head = struct.pack("<III", len(words), rows.shape[1], len(text))
    target.write_bytes(head + text + b"\0" * (-len(text) % 4) + scales.astype("<f4").tobytes() + entries.tobytes())
    print(f"{len(words)} words, {target.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
