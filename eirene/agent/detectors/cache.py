"""A cache of detectors' scores, for many runs over the same texts."""

from __future__ import annotations

import asyncio

from eirene.core.memo import Memo
from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import Case, Detector, Need, only_computes

_SIDE_BY_SIDE = 4
_CACHED = 4096  # the originals of the items under way, and then some


def cached(detector: Detector, *, most: int = _CACHED) -> Detector:
    """The detector with a cache of its `most` latest scores; one that calls a model is returned as it is.

    A model's scores belong, with their cost, to the run that asked for them.
    """
    return CachedDetector(detector, most=most) if only_computes(detector) else detector


class CachedDetector:
    """Keeps the scores of the latest cases, for many runs over the same texts."""

    def __init__(self, detector: Detector, *, most: int = _CACHED) -> None:
        self._detector = detector
        self._scores: Memo[Case, Scores] = Memo(most)
        # Few at a time: what computes side by side is in each other's way. More than one: when a thread has finished,
        # the next case must be at hand, not wait until the event loop comes round to handing it over.
        self._turn = asyncio.Semaphore(_SIDE_BY_SIDE)

    @property
    def name(self) -> str:
        """The detector's own name."""
        return self._detector.name

    @property
    def needs(self) -> frozenset[Need]:
        """The detector's own needs."""
        return self._detector.needs

    @property
    def version(self) -> str:
        """The detector's own version."""
        return self._detector.version

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The detector's scores."""
        return await self._scores.get_or_await(case, lambda: self._score(case, meter))

    async def _score(self, case: Case, meter: Meter) -> Scores:
        async with self._turn:
            return await self._detector.score(case, meter=meter)
