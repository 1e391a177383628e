"""Risk: how likely it is that people would mark a sentence, or an answer, as not carried by the given texts.

What the verifier reads and what words and sentence vectors tell, weighed by a logistic regression that is fitted on
marked answers (`benchmarks/fit_reading.py`): each sees faults that the other misses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from eirene.verification.context import ClaimReading

VERSION = 2
"""Goes up when the same reading may give another risk; part of the version of what is made of it."""
FAULTED = 0.35
"""Risk above which a sentence is faulted."""
_SUPPORT, _COSINE, _WORDS, _ANYWHERE, _BIAS = 0.804, -0.889, -0.776, -1.035, 0.136
_BY_CHANCE = 0.4
"""Chance of being derived up to which a sentence's values surely follow from those of the texts."""
_SAME_MATTER = 0.4
"""Cosine from which such a sentence speaks of what the texts do: of inventions with a number it was at most 0.31."""
_FOLLOWS = 0.2
"""Most risk of such a sentence: that is not faulted."""
_CLOSEST = 1e-4
"""Support is taken as no surer than this."""


def sentence_risk(reading: ClaimReading) -> float:
    """The chance in (0, 1) that people would mark the sentence of a reading; near 1 without anything to read.

    The verifier does not count: a sentence whose values follow from those of the texts is not at fault by its reading.
    """
    odds = -_log_odds(min(max(reading.supported, _CLOSEST), 1.0 - _CLOSEST))
    of_words = _COSINE * reading.cosine + _WORDS * reading.words + _ANYWHERE * reading.words_anywhere
    risk = 1.0 / (1.0 + math.exp(-(_SUPPORT * odds + of_words + _BIAS)))
    follows = reading.derived is not None and reading.derived <= _BY_CHANCE and reading.cosine >= _SAME_MATTER
    return min(risk, _FOLLOWS) if follows else risk


def answer_risk(risks: Sequence[float]) -> float:
    """The chance that at least one of an answer's sentences would be marked, taken as independent; 0 without any."""
    return 1.0 - math.prod(1.0 - risk for risk in risks)


def _log_odds(p: float) -> float:
    return math.log(p / (1.0 - p))
