"""Critiques drawn from a chat model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from eirene.core.critique import Sample
from eirene.core.errors import AuthError, UnreachableError
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import ChatFeedback
from eirene.feedback_model.sampling import draw_samples
from eirene.models.chat import ChatModel
from eirene.models.limits import RetryPolicy
from eirene.models.scripted import Script, ScriptedChatModel
from eirene.text.sentences import split_sentences

ANSWER = "Trams are quiet. Buses are cheap."
REQUEST = FeedbackRequest(Item(question="Trams or buses?", answer=ANSWER), ANSWER, split_sentences(ANSWER), seed=5)
FAULTY = "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]"
SPOTLESS = "1. [Complete]\n2. [Complete]"
ONCE = RetryPolicy(attempts=1)


class OneAtATime(ScriptedChatModel):
    """Gives one reply a request, whatever `n` says."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        self.n = None
        return super()._generate(*args, **kwargs)


async def drawn(model: ChatFeedback, count: int, start: int = 0) -> list[Sample]:
    return [s async for s in model.draw(REQUEST, start=start, count=count, meter=Meter())]


def feedback_from(script: Script, kind: type[ScriptedChatModel] = OneAtATime, **options: Any) -> ChatFeedback:
    return ChatFeedback(ChatModel(kind(script), retry=ONCE), **options)


async def test_samples_are_drawn_in_one_request_with_nucleus_sampling() -> None:
    """EIR, section 4.2: p = 0.9; no temperature is named, so it is that of the model's own distribution."""
    model = ScriptedChatModel([FAULTY, SPOTLESS, "I cannot help with that."])
    samples = await drawn(ChatFeedback(model), 3)
    assert [s.tags for s in samples] == [("Incomplete", "Complete"), ("Complete", "Complete"), ()]
    assert (model.calls[0].n, model.calls[0].settings["top_p"], model.calls[0].settings["temperature"]) == (3, 0.9, 1.0)
    assert "Trams or buses?" in model.calls[0].text


async def test_a_sample_depends_on_its_number_and_not_on_the_round_it_is_drawn_in() -> None:
    async def seeds(*rounds: tuple[int, int]) -> list[int]:
        model = OneAtATime(script=lambda _: FAULTY)
        feedback = ChatFeedback(model)
        for start, count in rounds:
            await drawn(feedback, count, start)
        return [c.settings["seed"] for c in model.calls]

    one_by_one = await seeds((0, 1), (1, 1), (2, 1))
    assert sorted(await seeds((0, 3))) == sorted(one_by_one)
    assert len(set(one_by_one)) == 3


async def test_a_reply_that_was_cut_off_is_invalid() -> None:
    reply = AIMessage(SPOTLESS, response_metadata={"finish_reason": "length"})
    (sample,) = await drawn(feedback_from([reply]), 1)
    assert not sample.is_valid


async def test_a_call_that_failed_is_an_invalid_sample_with_the_cause() -> None:
    feedback = feedback_from([FAULTY, FAULTY, ConnectionError("gone"), ConnectionError("gone"), FAULTY, SPOTLESS])
    await drawn(feedback, 2)  # finds out that there is one reply a request
    samples = await drawn(feedback, 4)
    assert [s.is_valid for s in samples] == [False, False, True, True]
    assert "UnreachableError" in (samples[0].invalid or "")


async def test_when_every_call_fails_the_error_is_raised() -> None:
    with pytest.raises(UnreachableError):
        await drawn(feedback_from(lambda _: ConnectionError("gone")), 4)


async def test_a_failure_in_a_later_round_is_one_invalid_sample_only() -> None:
    (sample,) = await drawn(feedback_from([ConnectionError("gone")]), 1, start=7)
    assert not sample.is_valid


class BadKeyError(Exception):
    status_code = 401


async def test_a_wrong_key_is_raised_whatever_else_came() -> None:
    with pytest.raises(AuthError):
        await drawn(feedback_from([FAULTY, BadKeyError("no"), FAULTY]), 3)


async def test_copies_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await drawn(feedback_from([FAULTY] * 5), 5)
    assert "gave 5 samples and all are the same" in caplog.text


@pytest.mark.parametrize("script", [[SPOTLESS] * 5, [FAULTY, FAULTY], [FAULTY, FAULTY, FAULTY.replace("is", "was")]])
async def test_what_may_well_be_equal_is_not_warned_of(script: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await drawn(feedback_from(script), len(script))
    assert caplog.text == ""


async def test_temperature_0_with_several_samples_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await drawn(feedback_from([SPOTLESS], temperature=0.0), 1)
        assert caplog.text == ""
        await drawn(feedback_from([SPOTLESS] * 2, temperature=0.0), 2)
    assert "at temperature 0 all samples are alike" in caplog.text


async def test_closing_the_generator_cancels_what_is_under_way() -> None:
    hanging, cancelled = asyncio.Event(), []

    class Hangs(OneAtATime):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.calls:
                return self._generate(messages)  # one reply to the request for all
            try:
                hanging.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(1)
                raise

    samples = ChatFeedback(Hangs(script=[FAULTY])).draw(REQUEST, start=0, count=4, meter=Meter())
    assert isinstance(samples, AsyncGenerator)
    assert (await anext(samples)).is_valid
    second = asyncio.ensure_future(anext(samples))
    await hanging.wait()
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await samples.aclose()
    assert len(cancelled) == 3


async def test_a_vote_can_end_early() -> None:
    meter = Meter()
    model = ChatFeedback(OneAtATime(script=lambda _: FAULTY))
    result = await draw_samples(model, REQUEST, n=20, stop="beta", meter=meter)
    assert result.early_stop
    assert len(result.samples) <= meter.total.calls <= 5
