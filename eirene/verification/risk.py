"""Risk: how likely it is that people would mark a sentence, or an answer, as not carried by the given texts.

What the verifier reads and what words and sentence vectors tell, weighed by a logistic regression that is fitted on
marked answers (`benchmarks/fit_reading.py`): each sees faults that the other misses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from eirene.verification.context import ClaimReading

VERSION = 1
"""Goes up when the same reading may give another risk; part of the version of what is made of it."""
FAULTED = 0.35
"""Risk above which a sentence is faulted."""
_SUPPORT, _COSINE, _WORDS, _ANYWHERE, _BIAS = 0.804, -0.889, -0.776, -1.035, 0.136
_CLOSEST = 1e-4
"""Support is taken as no surer than this."""


def sentence_risk(reading: ClaimReading) -> float:
    """The chance in (0, 1) that people would mark the sentence of a reading; near 1 without anything to read."""
    odds = -_log_odds(min(max(reading.supported, _CLOSEST), 1.0 - _CLOSEST))
    of_words = _COSINE * reading.cosine + _WORDS * reading.words + _ANYWHERE * reading.words_anywhere
    return 1.0 / (1.0 + math.exp(-(_SUPPORT * odds + of_words + _BIAS)))


def answer_risk(risks: Sequence[float]) -> float:
    """The chance that at least one of an answer's sentences would be marked, taken as independent; 0 without any."""
    return 1.0 - math.prod(1.0 - risk for risk in risks)


def _log_odds(p: float) -> float:
    return math.log(p / (1.0 - p))
