"""Detectors that only compute score a text once; those that call a model stay with the run that pays."""

from __future__ import annotations

from eirene.agent.detectors.cache import CachedDetector, cached
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need
from eirene.eval.detectors.rouge import RougeDetector

CASE = Case("Trams?", "Trams are quiet.", Grounding("perspectives", (ArgumentGroup("pro", ("Trams are quiet.",)),)))


class Counting:
    name = "counting"
    version = ""
    calls = 0

    def __init__(self, needs: frozenset[Need] = frozenset()) -> None:
        self.needs = needs

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        self.calls += 1
        return Scores(hallucination=0.5, coverage=0.5)


async def test_a_text_is_scored_once() -> None:
    inner = Counting()
    detector = CachedDetector(inner)
    first = await detector.score(CASE, meter=Meter())
    assert await detector.score(CASE, meter=Meter()) is first
    await detector.score(Case("Trams?", "Trams are loud.", CASE.given), meter=Meter())
    assert inner.calls == 2


async def test_cached_scores_are_the_detectors_own_and_others_are_left_alone() -> None:
    detector = cached(RougeDetector())
    assert isinstance(detector, CachedDetector)
    assert detector.name == RougeDetector().name
    assert await detector.score(CASE, meter=Meter()) == await RougeDetector().score(CASE, meter=Meter())
    inner = Counting(frozenset({"judge"}))
    assert cached(inner) is inner


async def test_no_more_scores_are_cached_than_was_said() -> None:
    """The oldest go first, so that what this takes does not grow with the texts."""
    inner = Counting()
    detector = CachedDetector(inner, most=2)
    for answer in "abcc":
        await detector.score(Case("Trams?", answer, CASE.given), meter=Meter())
    assert inner.calls == 3
    await detector.score(Case("Trams?", "b", CASE.given), meter=Meter())
    assert inner.calls == 3
    await detector.score(Case("Trams?", "a", CASE.given), meter=Meter())
    assert inner.calls == 4
