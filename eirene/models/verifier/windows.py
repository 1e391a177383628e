"""Windows: the sentences of given texts that a claim is read against, picked by words and by meaning."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eirene.text.sentences import split_sentences
from eirene.text.words import stems

MOST_WORDS = 90
"""Of a window: about 120 tokens."""
LONGEST = 60
"""Words of a piece: longer sentences are cut."""
_OVERLAP = 15
_BY_WORDS = 0.6
"""Weight of the share of a claim's words, each by its rarity, beside the cosine."""
_NEXT = 0.35
"""What the sentence after a chosen one is worth beside it: reasons and pronouns reach over one full stop."""
_WORD = re.compile(r"\S+")


def pieces_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The sentences of the texts in order, long ones in overlapping pieces; blank ones and copies left out."""
    sentences = (s.text for text in texts for s in split_sentences(text) if s.text)
    return tuple(dict.fromkeys(piece for sentence in sentences for piece in _cut(sentence)))


def _cut(sentence: str) -> list[str]:
    words = list(_WORD.finditer(sentence))
    if len(words) <= LONGEST:
        return [sentence]
    count = math.ceil((len(words) - _OVERLAP) / (LONGEST - _OVERLAP))
    step = (len(words) - _OVERLAP) / count
    starts = [round(n * step) for n in range(count)]
    ends = [min(round((n + 1) * step) + _OVERLAP, len(words)) for n in range(count)]
    return [sentence[words[a].start() : words[b - 1].end()] for a, b in zip(starts, ends, strict=True)]


class Rarity:
    """How much a shared word tells: its inverse frequency over the pieces."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.stems = [frozenset(stems(piece)) for piece in pieces]
        counts = Counter(word for own in self.stems for word in own)
        self._weights = {word: math.log((len(pieces) + 1) / (count + 0.5)) + 0.5 for word, count in counts.items()}
        self._unknown = math.log(2 * (len(pieces) + 1)) + 0.5

    def shares(self, claim: str) -> NDArray[np.float64]:
        """For each piece the share of the claim's words that it has, by weight, in [0, 1]."""
        own = {word: self._weights.get(word, self._unknown) for word in set(stems(claim))}
        total = sum(own.values())
        if not total:
            return np.zeros(len(self.stems))
        return np.array([sum(weight for word, weight in own.items() if word in has) for has in self.stems]) / total


def pick(cosines: NDArray[np.float32], shares: NDArray[np.float64], lengths: Sequence[int]) -> list[int]:
    """The pieces of a window, in order: the nearest one, then the next ones and their neighbours while they fit.

    `cosines` [n] of the claim with the pieces, `shares` [n] of its words in them, `lengths` [n] in words.
    """
    score = cosines.astype(np.float64) + _BY_WORDS * shares
    chosen: list[int] = []
    room = MOST_WORDS
    near = score.copy()
    for _ in range(len(score)):
        best = int(near.argmax())
        if not np.isfinite(near[best]):
            break
        near[best] = -np.inf
        if chosen and lengths[best] > room:
            continue
        chosen.append(best)
        room -= lengths[best]
        for beside, worth in ((best - 1, _NEXT), (best + 1, _NEXT / 2)):
            if 0 <= beside < len(near) and np.isfinite(near[beside]):
                near[beside] += worth / len(chosen)
        if room < 5:
            break
    return sorted(chosen)
