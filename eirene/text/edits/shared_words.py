"""Shared words: how many words the sentences of two texts share, and the best pairings by that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eirene.text.cancellation import check_cancelled
from eirene.text.edits.words import word_tokens

_MOST_PAIRS = 10_000
"""Past this many sentence pairs a block counts as replaced: a comparison must not take minutes."""
_MOST_COUNTED = 1_000_000
"""So it does past this many words, each counted once for every sentence that it is compared with."""


class SharedWords:
    """How many words sentences share. A word that many sentences of a text have says little about which is which."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self.before = [_counted(text) for text in before]
        self.after = [_counted(text) for text in after]
        seen = [Counter(word for words in side for word in words) for side in (self.before, self.after)]
        self._weight = {word: 1 / max(n[word] for n in seen) for n in seen for word in n}

    def of(self, a: Sequence[int], b: Sequence[int], least: float) -> NDArray[np.float64] | None:
        """Dice's coefficients of weighted words, 0 below `least`; None where they would be too many to count."""
        if not a or not b or len(a) * len(b) > _MOST_PAIRS:
            return None
        n_words = len(b) * sum(len(self.before[i]) for i in a) + len(a) * sum(len(self.after[j]) for j in b)
        if n_words > _MOST_COUNTED:
            return None
        check_cancelled()
        left, right = [self.before[i] for i in a], [self.after[j] for j in b]
        weights_a, weights_b = [self._total(x) for x in left], [self._total(y) for y in right]
        dice = np.array(
            [
                [2 * self._common(x, y) / max(wx + wy, 1e-9) for y, wy in zip(right, weights_b, strict=True)]
                for x, wx in zip(left, weights_a, strict=True)
            ]
        )
        return np.where(dice >= least, dice, 0.0)

    def adds(self, whole: Counter[str], said: Counter[str], part: Counter[str]) -> bool:
        """Whether a sentence is most likely the part of the `whole` that is not `said` yet."""
        left = whole - said
        common = left & part
        return common.total() >= 2 and self._common(left, part) >= self._total(part) / 2

    def _total(self, words: Counter[str]) -> float:
        return sum(n * self._weight[word] for word, n in words.items())

    def _common(self, a: Counter[str], b: Counter[str]) -> float:
        a, b = (a, b) if len(a) <= len(b) else (b, a)
        return sum(min(n, b[word]) * self._weight[word] for word, n in a.items() if word in b)


def _counted(text: str) -> Counter[str]:
    """The words of a sentence; its other signs where it has no word."""
    found = word_tokens(text)
    return Counter([word for word in found if word[0].isalnum()] or found)


def best_in_order(like: NDArray[np.float64] | None, a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """The pairing in order with the greatest sum of likenesses."""
    if like is None:
        return []
    values = like.tolist()
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]  # best[i][j]: of a[i:] and b[j:]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], values[i][j] + best[i + 1][j + 1])
    result, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if values[i][j] > 0 and best[i][j] == values[i][j] + best[i + 1][j + 1]:
            result.append((a[i], b[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return result


def best_elsewhere(like: NDArray[np.float64] | None, a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """The likest pairs wherever they stand, the likest of all first."""
    if like is None:
        return []
    found = sorted(((-like[x, y], i, j) for x, i in enumerate(a) for y, j in enumerate(b) if like[x, y] > 0))
    result: dict[int, int] = {}
    used: set[int] = set()
    for _, i, j in found:
        if i not in result and j not in used:
            result[i] = j
            used.add(j)
    return list(result.items())
