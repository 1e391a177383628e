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
    return tuple(dict.fromkeys(text[a:b] for text in sentences for a, b in cut_sentence(text)))


def cut_sentence(sentence: str, *, longest: int = LONGEST) -> list[tuple[int, int]]:
    """The offsets of a sentence's pieces of at most `longest` words, which overlap; the whole of a shorter one."""
    words = list(_WORD.finditer(sentence))
    if len(words) <= longest:
        return [(0, len(sentence))]
    step = longest - _OVERLAP
    count = math.ceil((len(words) - _OVERLAP) / step)
    starts = [n * (len(words) - longest) // (count - 1) for n in range(count)]
    return [(words[a].start(), words[a + longest - 1].end()) for a in starts]


class Rarity:
    """How much a shared word tells: its inverse frequency over the pieces."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.stems = [frozenset(stems(piece)) for piece in pieces]
        counts = Counter(word for own in self.stems for word in own)
        self._weights = {word: math.log((len(pieces) + 1) / (count + 0.5)) + 0.5 for word, count in counts.items()}
        self._unknown = math.log(2 * (len(pieces) + 1)) + 0.5

    def anywhere(self, claim: str) -> float:
        """The share of the claim's words that some piece has, in [0, 1]; 0 for a claim without words."""
        own = set(stems(claim))
        return len(own & self._weights.keys()) / len(own) if own else 0.0

    def shares(self, claim: str) -> NDArray[np.float64]:
        """For each piece the share of the claim's words that it has, by weight, in [0, 1]."""
        own = {word: self._weights.get(word, self._unknown) for word in set(stems(claim))}
        total = sum(own.values())
        if not total:
            return np.zeros(len(self.stems))
        return np.array([sum(weight for word, weight in own.items() if word in has) for has in self.stems]) / total


def pick_score(cosines: NDArray[np.float32], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near pieces are to a claim, by meaning and by words."""
    return cosines.astype(np.float64) + _BY_WORDS * shares


def pick(cosines: NDArray[np.float32], shares: NDArray[np.float64], lengths: Sequence[int]) -> list[int]:
    """The pieces of a window, in order: the nearest one, then the next ones and their neighbours while they fit.

    `cosines` [n] of the claim with the pieces, `shares` [n] of its words in them, `lengths` [n] in words.
    """
    score = pick_score(cosines, shares)
    chosen: list[int] = []
    room = MOST_WORDS
    near = score
    for _ in range(len(near)):
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
