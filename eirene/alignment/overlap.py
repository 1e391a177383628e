"""Word overlap between given texts and units, weighed so that the words of the topic itself say little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eirene.cancellation import check_cancelled
from eirene.words import stems

Table = NDArray[np.float32]

QUESTION_WEIGHT = 0.1
"""Weight of a word that the question has: every argument may use it. Of 0.1, 0.3, 0.5 and 1 the best on
training data, by little."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Weighed shares with clipped counts, [G, U], in [0, 1]: of a given text's words in a unit, of a unit's in it."""

    recall: Table
    precision: Table

    @property
    def f1(self) -> Table:
        """Harmonic mean of recall and precision, [G, U]; 0 where nothing is shared."""
        total = self.recall + self.precision
        product = 2.0 * self.recall * self.precision
        return np.asarray(np.divide(product, total, out=np.zeros_like(total), where=total > 0), np.float32)


class WordWeights:
    """Weights of words: what few given texts say tells more than what all say, and the question's words tell little."""

    def __init__(self, given: Sequence[str], question: str | None) -> None:
        texts = {tuple(stems(text)) for text in given}
        self._spread = Counter(word for words in texts for word in set(words))
        self._asked = frozenset(stems(question)) if question else frozenset()

    def __call__(self, word: str) -> float:
        """The weight of a stem, in (0, 1]; 1 for a word that neither the given texts nor the question have."""
        base = QUESTION_WEIGHT if word in self._asked else 1.0
        return base / (1.0 + float(np.log2(max(self._spread[word], 1))))


def overlap(given: Sequence[str], units: Sequence[str], weight: WordWeights) -> Overlap:
    """The overlap of every given text with every unit. A text without content words overlaps with nothing."""
    have = [Counter(stems(text)) for text in given]
    column = {word: n for n, word in enumerate(dict.fromkeys(word for words in have for word in words))}
    weights = np.array([weight(word) for word in column], np.float32)
    counts = np.zeros((len(have), len(column)), np.float32)
    for row, words in zip(counts, have, strict=True):
        row[[column[word] for word in words]] = list(words.values())
    totals = counts @ weights
    recall = np.zeros((len(have), len(units)), np.float32)
    precision = np.zeros_like(recall)
    for u, text in enumerate(units):
        check_cancelled()
        words = Counter(stems(text))
        known = [word for word in words if word in column]
        if not known:
            continue
        at = [column[word] for word in known]
        shared = np.minimum(counts[:, at], np.array([words[word] for word in known], np.float32)) @ weights[at]
        recall[:, u] = np.divide(shared, totals, out=np.zeros_like(totals), where=totals > 0)
        precision[:, u] = shared / sum(weight(word) * n for word, n in words.items())
    return Overlap(np.minimum(recall, 1.0), np.minimum(precision, 1.0))
