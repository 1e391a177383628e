"""Drawing: in order, exactly as many as asked for, nothing left behind when it stops early."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from eirene.core.critique import Sample
from eirene.core.errors import BackendError
from eirene.core.records import Item
from eirene.core.usage import Meter, Usage
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples
from eirene.text.sentences import split_sentences

ANSWER = "One is here. Two is there."
REQUEST = FeedbackRequest(
    item=Item(question="Q?", answer=ANSWER), answer=ANSWER, sentences=split_sentences(ANSWER), seed=7
)
A = Sample(tags=("Complete", "Incomplete"), reasons=(None, "Why?"))
B = Sample(tags=("Incomplete", "Complete"), reasons=("Who?", None))
BAD = Sample(invalid="refused")


class Scripted:
    """A feedback model whose sample i is `script(i)`; notes every call, what it gave and whether it was closed."""

    name = "scripted"

    def __init__(self, script: Callable[[int], Sample], *, off_by: int = 0, fail_at: int | None = None) -> None:
        self.script, self.off_by, self.fail_at = script, off_by, fail_at
        self.calls: list[tuple[int, int]] = []
        self.given = self.closed = 0

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        self.calls.append((start, count))
        try:
            for i in range(start, start + count + self.off_by):
                if i == self.fail_at:
                    raise BackendError("the model is gone")
                meter.add(Usage(calls=1))
                self.given += 1
                yield self.script(i)
        finally:
            self.closed += 1


async def test_rule_none_asks_once_for_all() -> None:
    model = Scripted(lambda i: A if i % 2 else B)
    result = await draw_samples(model, REQUEST, n=20, stop="none", meter=Meter())
    assert model.calls == [(0, 20)]
    assert result.samples == (B, A) * 10 and not result.early_stop


async def test_rounds_follow_the_rule(subtests: pytest.Subtests) -> None:
    for rule, script, calls in [
        ("exact", lambda i: A, [(0, 11)]),
        ("exact", lambda i: B if i < 2 else A, [(0, 11), (11, 2)]),
        ("exact", lambda i: (A, B)[i % 2], [(0, 11), (11, 5), (16, 3), (19, 1)]),
        ("beta", lambda i: A, [(0, 4)]),
        ("beta", lambda i: B if i == 1 else A, [(0, 4), (4, 3)]),
    ]:
        with subtests.test(rule=rule, script=script, calls=calls):
            model, meter = Scripted(script), Meter()
            result = await draw_samples(model, REQUEST, n=20, stop=rule, meter=meter)
            drawn = sum(count for _, count in calls)
            assert model.calls == calls and model.closed == len(calls)
            assert len(result.samples) == model.given == meter.total.calls == drawn
            assert result.early_stop is (drawn < 20)


async def test_a_hopeless_round_is_cut_short_and_its_generator_closed() -> None:
    model = Scripted(lambda i: BAD)
    result = await draw_samples(model, REQUEST, n=5, stop="exact", meter=Meter())
    assert result.samples == (BAD,) * 3 and result.early_stop  # two valid ones at most could follow
    assert model.calls == [(0, 3)] and model.closed == 1

    model = Scripted(lambda i: A if i < 4 else BAD)
    result = await draw_samples(model, REQUEST, n=40, stop="exact", meter=Meter())
    assert model.given == len(result.samples) == 25 < sum(count for _, count in model.calls)
    assert model.closed == len(model.calls)


async def test_progress_gets_each_index_and_sample_in_order() -> None:
    seen: list[tuple[int, Sample]] = []
    model = Scripted(lambda i: A if i else B)
    result = await draw_samples(
        model, REQUEST, n=9, stop="beta", meter=Meter(), on_sample=lambda i, s: seen.append((i, s))
    )
    assert seen == list(enumerate(result.samples))


async def test_a_sample_that_does_not_fit_the_sentences_is_kept_as_invalid() -> None:
    model = Scripted(lambda i: Sample(tags=("Complete",), reasons=(None,)))
    result = await draw_samples(model, REQUEST, n=3, stop="none", meter=Meter())
    assert [s.invalid for s in result.samples] == ["1 tags where the answer has 2 sentences"] * 3


async def test_more_or_fewer_samples_than_asked_for_is_a_backend_error(subtests: pytest.Subtests) -> None:
    for off_by, says in [(-1, "gave 2 of the 3 samples"), (1, "gave more than the 3 samples")]:
        with subtests.test(off_by=off_by, says=says):
            model = Scripted(lambda i: A, off_by=off_by)
            with pytest.raises(BackendError, match=f"'scripted' {says}"):
                await draw_samples(model, REQUEST, n=3, stop="none", meter=Meter())
            assert model.closed == 1


async def test_a_failing_model_is_heard_and_what_it_cost_is_counted() -> None:
    meter = Meter()
    with pytest.raises(BackendError, match="the model is gone"):
        await draw_samples(Scripted(lambda i: A, fail_at=2), REQUEST, n=3, stop="none", meter=meter)
    assert meter.total.calls == 2


async def test_a_failing_progress_callback_closes_the_generator() -> None:
    def leave(index: int, sample: Sample) -> None:
        raise RuntimeError("the reader went away")

    model = Scripted(lambda i: A)
    with pytest.raises(RuntimeError, match="the reader went away"):
        await draw_samples(model, REQUEST, n=3, stop="none", meter=Meter(), on_sample=leave)
    assert model.closed == 1


async def test_a_plain_async_iterator_serves_as_a_model_too() -> None:
    class Plain:
        name = "plain"

        def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
            return _Iterator(count)

    result = await draw_samples(Plain(), REQUEST, n=20, stop="beta", meter=Meter())
    assert result.samples == (A,) * 4


class _Iterator:
    def __init__(self, count: int) -> None:
        self.left = count

    def __aiter__(self) -> _Iterator:
        return self

    async def __anext__(self) -> Sample:
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return A
