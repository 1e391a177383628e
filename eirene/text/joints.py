"""Joints of a sentence: how unlikely it is, place by place, that two neighbouring words of English stand side by side.

A small convolutional network over words and their shapes, in numpy: about 1 ms for 100 words. `fluency.npz` beside this
file holds its words and weights; `benchmarks/fit_fluency.py` makes it and names the data it learned from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eirene.text.matching import Span

FILE = "fluency.npz"
MOST_TOKENS = 1000
"""Tokens of a sentence that are read; what comes after is taken for its end."""

DILATIONS = (1, 2, 4, 8)
"""How far apart the three words lie that a layer looks at."""

# Marks of emphasis, headings, tables and footnotes are no part of a sentence.
_TOKEN = re.compile(r"https?://\S+|[^\W_]+(?:['’][^\W_]+)*|\.{3}|\[\^?\d{1,3}\]|[^\w\s*`#~>|\\]")
_QUOTES = str.maketrans("“”„«»‘’–", '""""""' + "'-")
_SHAPES = ("end", "mark", "number", "lower", "title", "upper", "mixed")
SHAPES = len(_SHAPES)
_LONGEST = 40


def token_matches(sentence: str) -> list[Span]:
    """Offsets of the words (contractions whole) and marks of a sentence, at most `MOST_TOKENS`."""
    found = []
    for token in _TOKEN.finditer(sentence):
        if len(token.group()) > 1 and token.group()[0] == "[":
            continue
        found.append(token.span())
        if len(found) == MOST_TOKENS:
            break
    return found


@lru_cache(maxsize=16384)
def keys_of(token: str) -> tuple[str, tuple[str, ...], int]:
    """A token as the vocabulary knows it: its own key, those of its ending from long to short, and its shape."""
    word = token.lower().translate(_QUOTES)
    if not word[0].isalnum():
        return word, ("-mark",), 1
    if word.startswith("http") and ":" in word:
        return "http", ("-unit", "-number"), 2
    if word[0].isdecimal():
        kind = "-year" if len(word) == 4 and word.isdecimal() else "-number" if word.isdecimal() else "-unit"
        return word, (kind, "-number"), 2
    shape = 3 if token.islower() else 4 if token[0].isupper() and (len(token) == 1 or token[1:].islower()) else 0
    shape = shape or (5 if token.isupper() else 6)
    return word, (f"-{word[-4:]}", f"-{word[-3:]}", f"-{word[-2:]}", "-word"), shape


@dataclass(frozen=True)
class JointModel:
    """The network: words, endings and shapes summed, then layers of three words each, then a judge of each joint."""

    words: Mapping[str, int]
    endings: Mapping[str, int]
    weights: Mapping[str, NDArray[np.float32]]

    def ids(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """Word, ending and shape of each token, and of a mark of the sentence's end on either side, [tokens + 2, 3]."""
        rows = [(1, 0, 0)]
        for token in tokens:
            word, endings, shape = keys_of(token[:_LONGEST])
            ending = next((self.endings[e] for e in endings if e in self.endings), 0)
            rows.append((self.words.get(word, 0), ending, shape))
        rows.append((2, 0, 0))
        return np.array(rows, np.int64)

    def log_odds(self, tokens: Sequence[str]) -> NDArray[np.float32]:
        """Of each joint, from before the first token to after the last, that it is broken; [tokens + 1]."""
        w = self.weights
        ids = self.ids(tokens)
        x = w["word"][ids[:, 0]] + w["ending"][ids[:, 1]] + w["shape"][ids[:, 2]]
        for n, step in enumerate(DILATIONS):
            padded = np.pad(x, ((step, step), (0, 0)))
            near = np.concatenate([padded[: len(x)], x, padded[2 * step :]], axis=1)
            y = np.maximum(near @ w[f"layer{n}"] + w[f"bias{n}"], 0.0)
            x = y if n == 0 else x + y
        both = np.concatenate([x[:-1], x[1:]], axis=1)
        hidden = np.maximum(both @ w["joint"] + w["joint_bias"], 0.0)
        return np.asarray(hidden @ w["out"] + w["out_bias"], np.float32)[:, 0]


@lru_cache(maxsize=1)
def load_joints() -> JointModel:
    """The model that ships; read at first use, in a few ms."""
    with (files("eirene.text") / FILE).open("rb") as packed, np.load(packed, allow_pickle=False) as data:
        weights = {
            name: data[name].astype(np.float32) * (data[f"scale_{name}"] if f"scale_{name}" in data else np.float32(1))
            for name in data.files
            if not name.startswith("scale_") and data[name].dtype != np.uint8
        }
        words, endings = (bytes(data[name]).decode("utf-8").split("\n") for name in ("words", "endings"))
    return JointModel({w: n for n, w in enumerate(words)}, {e: n for n, e in enumerate(endings)}, weights)
