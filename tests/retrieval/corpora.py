"""A small corpus for the tests of retrieval, and encoders that count and spread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.models.encoder import load_encoder
from eirene.models.encoder.runtime import Encodes
from eirene.retrieval import Hit

ROWS: list[dict[str, Any]] = [
    {"id": "paris", "title": "Paris", "text": "Paris is the capital of France. It lies on the Seine."},
    {"id": "oslo", "title": "Oslo", "text": "Oslo is the capital of Norway. It was founded in 1040."},
    {"id": "bread", "text": "Bread is baked from flour, water and salt."},
    {"id": "cats", "text": "Cats sleep for most of the day and hunt at night."},
    {"id": "rain", "text": "Rain falls when clouds hold too much water."},
    {"id": "norway", "text": "The long coast of Norway is cut by fjords."},
]


class Counting:
    """An encoder (by default the shipped one), and what texts it was asked for."""

    def __init__(self, encoder: Encodes | None = None) -> None:
        self._encoder = load_encoder(threads=1) if encoder is None else encoder
        self.digest = self._encoder.digest
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += [t for t in texts if t]
        return self._encoder.encode(texts)


class Spread:
    """A vector for each word, drawn from its letters, and their mean for a text: quick, and of any number of texts."""

    digest = "spread"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        sums = [sum((self._word(w) for w in t.lower().split()), np.zeros(128, np.float32)) for t in texts]
        return np.array([s / (np.linalg.norm(s) or 1.0) for s in sums], np.float32)

    def _word(self, word: str) -> NDArray[np.float32]:
        seed = int.from_bytes(word.strip("?.,").encode()[:16].ljust(16), "little")
        return np.random.default_rng(seed).normal(size=128).astype(np.float32)


def write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]
