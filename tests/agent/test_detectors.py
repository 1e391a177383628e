"""A gate over detectors of one's own choice; those that only compute score a text once for all runs."""

from __future__ import annotations

import pytest

from eirene.agent.backends import resolve_backend
from eirene.agent.detectors import CachedDetector, cached, with_detectors
from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need
from eirene.eval.detectors.rouge import RougeDetector
from eirene.eval.resources import Resources
from eirene.models.scripted import ScriptedChatModel

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


def test_the_named_ones_take_the_place_of_the_backends_own_in_their_order() -> None:
    parts = with_detectors(resolve_backend("embedded"), ["alignment", "rouge"], Resources())
    assert [d.name for d in parts.detectors] == ["alignment", "rouge"]
    assert (parts.advisory, parts.judges) == (frozenset({"rouge"}), frozenset())
    assert parts.version is not None and "alignment:encoder=" in parts.version


def test_a_detector_that_is_only_shown_decides_where_it_is_alone() -> None:
    assert with_detectors(resolve_backend("embedded"), ["rouge"], Resources()).advisory == frozenset()


def test_one_that_asks_a_judge_can_measure_a_gain_where_nothing_was_given() -> None:
    judge = ScriptedChatModel(lambda _: "Verdict: no")
    parts = with_detectors(resolve_backend("embedded"), ["rouge", "chainpoll"], Resources(judge_model=judge))
    assert parts.judges == {"chainpoll"}


def test_a_detector_without_its_model_is_refused_with_the_option() -> None:
    with pytest.raises(InputError, match="'chainpoll' needs a judge: name a chat model with --judge"):
        with_detectors(resolve_backend("embedded"), ["chainpoll"], Resources())
