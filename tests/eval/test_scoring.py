"""Running detectors: order, bounds, failures, and what is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from eirene.core.errors import AuthError, BackendTimeoutError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter, Usage
from eirene.eval.base import NOTHING, Case, Need
from eirene.eval.scoring import Scorer, in_order, workers_for
from tests.rows import each
from tests.scripted_parts import ScriptedDetector

GIVEN = Grounding("perspectives", (ArgumentGroup("pro", ("Trams are quiet.",)),))
GOOD = Scores(hallucination=0.0, coverage=0.0)
JUDGE: frozenset[Need] = frozenset({"judge"})


def case(answer: str) -> Case:
    return Case("Trams?", answer, GIVEN)


class Waiting:
    """Ends when as many of its kind are under way as `together` says; counts how many there were at once."""

    version = ""

    def __init__(self, name: str, together: asyncio.Barrier, needs: frozenset[Need] = JUDGE) -> None:
        self.name = name
        self.needs = needs
        self._together = together

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        meter.add(Usage(calls=1))
        await asyncio.wait_for(self._together.wait(), timeout=5)
        return GOOD


class Counting:
    """Notes the highest number of cases that it had under way."""

    version = ""
    name = "counting"

    def __init__(self, needs: frozenset[Need]) -> None:
        self.needs = needs
        self.now = self.most = 0

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        return GOOD


async def test_the_detectors_of_a_case_are_asked_at_once() -> None:
    """Each waits for the other: one after the other they would never end."""
    together = asyncio.Barrier(2)
    found = await Scorer([Waiting("a", together), Waiting("b", together)]).score(case("x"))
    assert {name: (o.scores, o.usage.calls) for name, o in found.items()} == {"a": (GOOD, 1), "b": (GOOD, 1)}


@each("needs, most", [(NOTHING, 1), (JUDGE, 5)])
async def test_detectors_that_only_compute_take_turns_over_cases(needs: frozenset[Need], most: int) -> None:
    detector = Counting(needs)
    scorer = Scorer([detector])
    await asyncio.gather(*(scorer.score(case(str(n))) for n in range(5)))
    assert detector.most == most


async def test_a_detector_that_fails_leaves_its_case_unscored_and_the_others_alone() -> None:
    bad = ScriptedDetector({"x": BackendTimeoutError("too slow"), "y": GOOD}, name="bad")
    scorer = Scorer([bad, ScriptedDetector({"x": GOOD}, name="good")])
    first, second = await scorer.score(case("x")), await scorer.score(case("y"))
    assert first["bad"].failed and first["bad"].scores == Scores.none("BackendTimeoutError: too slow")
    assert first["good"].scores == GOOD and not first["good"].failed
    assert second["bad"].scores == GOOD


async def test_after_a_hopeless_error_a_detector_is_not_asked_again() -> None:
    bad = ScriptedDetector({"x": AuthError("no key"), "y": GOOD}, needs=JUDGE)
    scorer = Scorer([bad])
    found = [(await scorer.score(case(text)))["scripted"] for text in ("x", "y")]
    assert [len(bad.cases), *(o.failed for o in found)] == [1, True, True]
    assert all(o.scores.hallucination == Unscored(unscored="AuthError: no key") for o in found)
    assert all(isinstance(o.hopeless, AuthError) for o in found)


@each("workers", [1, 3])
async def test_results_come_in_order_and_no_more_items_are_taken_than_work(workers: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for n in range(20):
            taken.append(n)
            yield n

    async def slower_first(n: int) -> int:
        await asyncio.sleep(0.001 * (20 - n))
        return -n

    found = []
    async for item, result in in_order(items(), slower_first, workers=workers):
        found.append((item, result))
        assert len(taken) <= len(found) + workers
    assert found == [(n, -n) for n in range(20)]


async def test_the_first_exception_ends_what_is_under_way() -> None:
    ended: list[int] = []

    async def work(n: int) -> int:
        try:
            if n == 1:
                raise ValueError("one")
            await asyncio.sleep(10)
            return n
        finally:
            ended.append(n)

    async def nothing_comes() -> None:
        async for _ in in_order(range(9), work, workers=3):
            raise AssertionError("item 0 never ends")

    running = asyncio.ensure_future(nothing_comes())
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(ended) == [0, 1, 2]


async def test_an_exception_is_raised_in_its_items_turn() -> None:
    async def work(n: int) -> int:
        if n == 2:
            raise ValueError("two")
        return n

    seen = []
    with pytest.raises(ValueError, match="two"):
        async for item, _ in in_order(range(9), work, workers=2):
            seen.append(item)
    assert seen == [0, 1]


def test_only_detectors_that_ask_someone_are_worth_many_cases_at_once() -> None:
    computing, asking = ScriptedDetector({}), ScriptedDetector({}, needs=JUDGE)
    assert (workers_for([computing], 8), workers_for([computing, asking], 8)) == (1, 16)
