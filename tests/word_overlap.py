"""An encoder for tests that need one and no meaning: a hashed bag of words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WIDTH = 256


class WordOverlapEncoder:
    """Texts with the same words get the same vector, texts with none in common are orthogonal but for collisions."""

    digest = "words"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows of length 1, [n, 256]; the zero vector for a text without words."""
        rows = np.zeros((len(texts), WIDTH), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                code = hashlib.sha256(word.strip(".,;:!?").encode("utf-8", "replace")).digest()
                row[code[0]] += 1.0
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
