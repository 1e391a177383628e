"""Runs detectors: all of them on a case at once, and on many cases with bounded concurrency."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

from eirene.core.errors import PERMANENT_ERRORS, EireneError
from eirene.core.logs import get_logger
from eirene.core.records import Item
from eirene.core.scores import Scores, Unscored, number
from eirene.core.tracing import OpenSpan, span
from eirene.core.usage import Meter, Usage
from eirene.eval.base import Case, Detector, case_of, only_computes
from eirene.text.sentences import split_sentences

logger = get_logger(__name__)

USUAL = ("rouge", "alignment", "verifier")
"""The detectors where none is named: of the last two the one that is for what a row was given."""
_WEAK = {"context": ("alignment",), "perspectives": ("verifier", "cascade")}
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class DetectorOutcome:
    """What one detector gave one case, and what that cost; `seconds` of the usage are the case's own wall time.

    With `failed` the scores are unscored and say why. `hopeless` is the error where the next case would meet it too.
    """

    scores: Scores
    usage: Usage
    failed: bool = False
    hopeless: EireneError | None = None


class Scorer:
    """Scores cases by several detectors at once. A detector that fails leaves that case unscored, with the reason.

    After an error that the next case would meet as well (no access, no credit) the detector is not asked again, and
    the cases that follow have the same reason. Detectors that only compute take turns: side by side they finish no
    earlier, and the seconds of each would be those of all. `usual`: rows with passages are not scored by `alignment`,
    rows with perspectives not by the verifier or a judge; each is weak at what the other is for.
    """

    def __init__(self, detectors: Sequence[Detector], *, usual: bool = False) -> None:
        self.detectors = tuple(detectors)
        self._usual = usual
        self._given_up: dict[str, EireneError] = {}
        self._turn = asyncio.Semaphore(1)

    async def score_item(self, item: Item) -> dict[str, DetectorOutcome]:
        """The outcomes for an item's answer."""
        return await self.score(case_of(item))

    async def score(self, case: Case, *, label: str | None = None) -> dict[str, DetectorOutcome]:
        """The outcome of each detector, by name, in the detectors' order. `label` says in traces which text it is."""
        without = _WEAK.get(case.given.source, ()) if self._usual else ()
        asked = [detector for detector in self.detectors if detector.name not in without]
        if all(only_computes(detector) for detector in asked):  # in turn: a task for each would only cost
            found = [await self.score_by(detector, case, label=label) for detector in asked]
        else:
            found = await asyncio.gather(*(self.score_by(detector, case, label=label) for detector in asked))
        return {detector.name: outcome for detector, outcome in zip(asked, found, strict=True)}

    async def score_by(self, detector: Detector, case: Case, *, label: str | None = None) -> DetectorOutcome:
        """The outcome of one of the detectors."""
        if only_computes(detector):
            async with self._turn:
                return await self._traced(detector, case, label)
        return await self._traced(detector, case, label)

    async def _traced(self, detector: Detector, case: Case, label: str | None) -> DetectorOutcome:
        named = f"detector {detector.name}" if label is None else f"detector {detector.name} ({label})"
        with span(named, shown_as="EVALUATOR") as found:
            outcome = await self._score(detector, case)
            if found is not None:
                found.set({"eirene.detector": detector.name, "eirene.text": label})
                _tell(found, outcome)
            return outcome

    async def _score(self, detector: Detector, case: Case) -> DetectorOutcome:
        error = self._given_up.get(detector.name)
        if error is not None:
            return _failed(error, Usage())
        meter, began = Meter(), time.perf_counter()
        try:
            scores = _placed(await detector.score(case, meter=meter), case.introduction)
        except EireneError as raised:
            logger.warning("detector %s: %s", detector.name, raised)
            if isinstance(raised, PERMANENT_ERRORS):
                self._given_up[detector.name] = raised
            return _failed(raised, _timed(meter, began))
        return DetectorOutcome(scores, _timed(meter, began))


def _placed(scores: Scores, introduction: str) -> Scores:
    """The scores of a main response, with the numbers and places that sentences and words have in the whole text."""
    if not introduction:
        return scores
    before, length = len(split_sentences(introduction)), len(introduction)
    sentences = tuple(s.model_copy(update={"n": s.n + before}) for s in scores.sentences)
    words = tuple(w.model_copy(update={"start": w.start + length, "end": w.end + length}) for w in scores.words)
    return scores.model_copy(update={"sentences": sentences, "words": words})


def _tell(found: OpenSpan, outcome: DetectorOutcome) -> None:
    """Adds the scores to a span; why one is missing may quote a text, and so is content."""
    unscored = []
    for error in ("hallucination", "coverage"):
        score = getattr(outcome.scores, error)
        found.set({f"eirene.score.{error}": number(score)})
        if isinstance(score, Unscored):
            unscored.append(error)
            found.set_text(f"eirene.score.{error}.unscored", partial(str, score.unscored))
    found.set({"eirene.unscored": unscored or None})
    if outcome.failed and isinstance(outcome.scores.coverage, Unscored):
        kind, _, said = outcome.scores.coverage.unscored.partition(": ")
        found.failed(kind, said)


def workers_for(detectors: Sequence[Detector], concurrency: int) -> int:
    """How many cases may be under way: more than the calls that are, so that no call's place stays empty."""
    return 1 if all(only_computes(d) for d in detectors) else 2 * concurrency


async def in_order(
    items: Iterable[_T], do: Callable[[_T], Awaitable[_R]], *, workers: int
) -> AsyncIterator[tuple[_T, _R]]:
    """What `do` makes of each item, in the order of the items, with at most `workers` of them taken and not yet given.

    Items are taken as they are needed, so that memory does not grow with their number. The first exception ends the
    others and is raised; so does leaving the loop.
    """
    if workers == 1:
        for item in items:
            yield item, await do(item)
            await asyncio.sleep(0)  # work that never waits must still let a stop through
        return
    waiting = iter(items)
    under_way: deque[tuple[_T, asyncio.Task[_R]]] = deque()
    try:
        while True:
            for item in islice(waiting, workers - len(under_way)):
                under_way.append((item, asyncio.ensure_future(do(item))))
            if not under_way:
                return
            item, task = under_way[0]
            result = await task
            under_way.popleft()
            yield item, result
            await asyncio.sleep(0)
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


def _failed(error: EireneError, usage: Usage) -> DetectorOutcome:
    hopeless = error if isinstance(error, PERMANENT_ERRORS) else None
    return DetectorOutcome(Scores.none(f"{error.kind}: {error}"), usage, failed=True, hopeless=hopeless)


def _timed(meter: Meter, began: float) -> Usage:
    """The meter's usage with the wall time in place of the seconds that its parts report."""
    return meter.total.model_copy(update={"seconds": time.perf_counter() - began})
