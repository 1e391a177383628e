"""Detectors for many runs over the same items: what only computes scores one text once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from eirene.eval.base import Case, Detector, Need, only_computes
from eirene.scores import Scores
from eirene.usage import Meter

_SIDE_BY_SIDE = 4
_KEPT = 4096  # the originals of the items under way, and then some


def shared(detector: Detector, *, kept: int = _KEPT) -> Detector:
    """The detector, made fit for many runs over the same texts; one that calls a model is returned as it is.

    A model's scores belong, with their cost, to the run that asked for them. `kept`: scores that it remembers.
    """
    return SharedDetector(detector, kept=kept) if only_computes(detector) else detector


class SharedDetector:
    """Keeps the scores of the latest cases."""

    def __init__(self, detector: Detector, *, kept: int = _KEPT) -> None:
        self._detector = detector
        self._kept = kept
        self._known: OrderedDict[Case, Scores] = OrderedDict()
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
        if case in self._known:
            self._known.move_to_end(case)
            return self._known[case]
        async with self._turn:
            scores = self._known.get(case)  # another run may have had it scored meanwhile
            if scores is None:
                scores = self._known[case] = await self._detector.score(case, meter=meter)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return scores
