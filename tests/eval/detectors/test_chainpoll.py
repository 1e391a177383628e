"""ChainPoll: the share of yes, the quorum, the interval, what is asked and shown, usage, failures."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from statsmodels.stats.proportion import proportion_confint

from eirene.core.errors import AuthError, InputError, UnreachableError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored, wilson
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.chainpoll import ChainPoll, chainpoll_messages
from eirene.eval.detectors.judge import bounded
from eirene.eval.registry import build_detector
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, TextReply

YES, NO, MAYBE = "Claim 2 is nowhere.\n\nVerdict: yes", "All is there.\n\nVerdict: no", "Hard to say."
PASSAGES = Grounding("context", (ArgumentGroup("context", ("Trams are quiet.", "Buses are cheap.")),))
SIDES = Grounding(
    "perspectives", (ArgumentGroup("pro", ("Trams are quiet.",)), ArgumentGroup("con", ("Buses are cheap.",)))
)
NOTHING = Grounding("derived", (ArgumentGroup("kept", ("Trams are quiet.",)),))
CASE = Case("Trams or buses?", "Trams are quiet and fast.", PASSAGES)
ONCE = RetryPolicy(attempts=1)
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)


async def scored(*replies: Any, case: Case = CASE, meter: Meter | None = None, **options: Any) -> Scores:
    model = ScriptedChatModel(list(replies))
    return await ChainPoll(model, **options).score(case, meter=Meter() if meter is None else meter)


async def test_the_score_is_yes_over_answered(subtests: pytest.Subtests) -> None:
    """Section 4.2, step 3: yes divided by the number of answers; what cannot be read is no answer."""
    for replies, share in [
        ([YES] * 5, 1.0),
        ([NO] * 5, 0.0),
        ([YES, NO, YES, NO, YES], 0.6),
        ([YES, MAYBE, NO, NO, NO], 0.25),
        ([MAYBE, YES, YES, MAYBE, NO], 2 / 3),
    ]:
        with subtests.test(replies=replies, share=share):
            scores = await scored(*replies)
            assert scores.hallucination == pytest.approx(share)
            assert isinstance(scores.coverage, Unscored)


async def test_under_a_quorum_it_is_unscored_and_the_replies_are_kept(subtests: pytest.Subtests) -> None:
    """At least 3, and at least half of those requested."""
    for replies, n in [([YES, YES, MAYBE, MAYBE, MAYBE], 5), ([MAYBE] * 5, 5), ([YES] * 3 + [MAYBE] * 5, 8)]:
        with subtests.test(replies=replies, n=n):
            scores = await scored(*replies, polls=n)
            assert isinstance(scores.hallucination, Unscored)
            assert f"of {n} polls could be read" in scores.hallucination.unscored
            assert scores.polls is not None
            assert [poll.text for poll in scores.polls.replies] == replies
            assert (scores.polls.low, scores.polls.high) == (None, None)


async def test_half_of_the_replies_are_a_quorum() -> None:
    assert (await scored(*[YES] * 4, *[MAYBE] * 4, polls=8)).hallucination == 1.0


async def test_the_chains_of_thought_are_the_explanation() -> None:
    scores = await scored(YES, NO, MAYBE, YES, f"<think>hm</think>{YES}")
    assert scores.polls is not None
    assert [poll.error for poll in scores.polls.replies] == [True, False, None, True, True]
    assert scores.polls.replies[0].text == YES
    assert scores.polls.replies[2].unread == "no clear verdict of yes or no"
    assert (scores.polls.asked, scores.polls.yes, scores.polls.answered) == ("adherence", 3, 4)
    assert Scores.model_validate_json(scores.model_dump_json()) == scores


async def test_the_ablation_polls_alike_with_a_prompt_that_lays_nothing_down() -> None:
    """Section 4.1: the same aggregation method with a vanilla chain-of-thought prompt."""
    judge = ScriptedChatModel([YES, NO, YES, NO, YES])
    plain = build_detector("chainpoll-plain", Resources(judge_model=judge))
    scores = await plain.score(CASE, meter=Meter())
    assert (plain.name, scores.hallucination) == ("chainpoll-plain", 0.6)
    assert plain.version != build_detector("chainpoll", Resources(judge_model=judge)).version
    asked = judge.calls[0].text
    assert asked == "\n".join(m.content for m in chainpoll_messages(CASE, "adherence", is_detailed=False))
    assert "Think step by step" in asked and "List every claim" not in asked and "passage 1\nTrams are quiet." in asked


def test_what_a_judge_is_shown() -> None:
    text = chainpoll_messages(CASE, "adherence")[-1].content
    assert "passage 1\nTrams are quiet.\n" in text and "passage 2\nBuses are cheap.\n" in text
    sides = chainpoll_messages(Case("Q?", "A.", SIDES), "adherence")[-1].content
    assert "side 1\npro:\n- Trams are quiet.\n" in sides and "side 2\ncon:\n- Buses are cheap.\n" in sides
    for message in chainpoll_messages(CASE, "correctness"):
        assert "cheap" not in message.content
    assert "Trams are quiet and fast." in chainpoll_messages(CASE, "correctness")[-1].content


async def test_what_is_asked_depends_on_what_was_given(subtests: pytest.Subtests) -> None:
    for asks, given_text, asked in [
        ("either", PASSAGES, "adherence"),
        ("either", SIDES, "adherence"),
        ("either", NOTHING, "correctness"),
        ("correctness", PASSAGES, "correctness"),
        ("adherence", SIDES, "adherence"),
    ]:
        with subtests.test(asks=asks, given_text=given_text, asked=asked):
            scores = await scored(*[NO] * 5, case=Case("Q?", "A.", given_text), asks=asks)
            assert scores.polls is not None and scores.polls.asked == asked


async def test_adherence_to_nothing_is_unscored_and_costs_nothing() -> None:
    meter = Meter()
    scores = await scored(case=Case("Q?", "A.", NOTHING), asks="adherence", meter=meter)
    assert isinstance(scores.hallucination, Unscored) and scores.hallucination.unscored.startswith("needs given text")
    assert meter.total.calls == 0


async def test_an_empty_answer_is_unscored() -> None:
    assert isinstance((await scored(case=Case("Q?", " \n", PASSAGES))).hallucination, Unscored)


async def test_a_case_that_comes_again_is_not_polled_again() -> None:
    judge = ScriptedChatModel([YES] * 5 + [MAYBE] * 5 + [NO] * 5)
    detector = ChainPoll(judge)
    other = Case("Another?", "Trams are quiet.", PASSAGES)
    assert (await detector.score(CASE, meter=Meter())).hallucination == 1.0
    assert (await detector.score(CASE, meter=Meter())).hallucination == 1.0
    assert len(judge.calls) == 1
    assert isinstance((await detector.score(other, meter=Meter())).hallucination, Unscored)
    assert (await detector.score(other, meter=Meter())).hallucination == 0.0  # what was unscored may be tried again


def test_fewer_polls_than_the_quorum_are_refused() -> None:
    with pytest.raises(InputError, match="polls must be at least 3, the quorum, got 2"):
        ChainPoll(ScriptedChatModel([]), polls=2)


async def test_equal_replies_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await scored(*[YES + f" {i}" for i in range(5)])
        assert not caplog.records
        await scored(*["A long chain of thought, word for word. Verdict: yes"] * 5)
    assert "all are the same" in caplog.text


def test_the_version_names_what_scores_hang_on() -> None:
    model = ScriptedChatModel([])
    versions = [ChainPoll(model, **options).version for options in ({}, {"asks": "adherence"}, {"polls": 7})]
    assert len(set(versions)) == 3


def test_the_interval_is_wilsons(subtests: pytest.Subtests) -> None:
    """Against statsmodels; and by hand for 5 of 5: low = 1 / (1 + z * z / 5) = 0.5655."""
    for hits, n in [(0, 5), (5, 5), (3, 5), (1, 3), (17, 40)]:
        with subtests.test(hits=hits, n=n):
            expected = proportion_confint(hits, n, alpha=0.05, method="wilson")
            assert wilson(hits / n, n) == pytest.approx(expected, abs=1e-12)
            assert wilson(1.0, 5)[0] == pytest.approx(1 / (1 + 1.959963984540054**2 / 5), abs=1e-12)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.1, 100))
def test_bounded_keeps_the_order_and_the_range(a: float, b: float, half: float) -> None:
    x, y = bounded(a, half=half), bounded(b, half=half)
    assert 0 <= x < 1 and bounded(half, half=half) == 0.5
    assert x <= y if a <= b else x >= y


async def test_failed_calls_are_polls_that_were_not_answered() -> None:
    class OneAtATime(ScriptedChatModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            self.n = None
            return super()._generate(*args, **kwargs)

    steps = [YES, ConnectionError("gone"), YES, NO, YES]
    scores = await ChainPoll(ChatModel(OneAtATime(steps), retry=ONCE)).score(CASE, meter=Meter())
    assert scores.hallucination == 0.75
    assert scores.polls is not None and "UnreachableError" in (scores.polls.replies[1].unread or "")


async def test_where_no_poll_comes_back_the_error_is_raised() -> None:
    chat = ChatModel(ScriptedChatModel([ConnectionError("gone")]), retry=ONCE)
    with pytest.raises(UnreachableError):
        await ChainPoll(chat).score(CASE, meter=Meter())


async def test_a_cut_off_reply_is_no_verdict() -> None:
    cut = AIMessage(content=YES, response_metadata={"finish_reason": "length"})
    assert (await scored(cut, NO, NO, NO, YES)).hallucination == 0.25


# The real `langchain-openai` client against a server on loopback.


def judge_at(server: LoopbackServer, retry: RetryPolicy = QUICK) -> ChatModel:
    return resolve_chat("openai:judge", options=ChatOptions(base_url=server.base_url, retry=retry))


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(("policy", "calls"), [("takes", 1), ("refuses", 6), ("ignores", 5)])
async def test_five_polls_are_one_request_where_the_server_takes_n(policy: Any, calls: int) -> None:
    meter = Meter()
    with LoopbackServer(lambda _, i: YES if i else NO, n=policy) as server:
        scores = await ChainPoll(judge_at(server)).score(CASE, meter=meter)
        assert server.calls == meter.total.calls == calls
        assert (meter.total.input_tokens, meter.total.output_tokens) == (server.input_tokens, server.output_tokens)
        assert server.requests[0].body["temperature"] == 1.0
    assert scores.hallucination == (0.8 if policy == "takes" else 0.0)


@pytest.mark.usefixtures("loopback")
async def test_the_same_seed_asks_the_same() -> None:
    with LoopbackServer(YES, n="ignores") as server:
        for seed in (1, 1, 2):
            await ChainPoll(judge_at(server), seed=seed).score(CASE, meter=Meter())
        seeds = [sorted(r.body["seed"] for r in server.requests[i : i + 5]) for i in (0, 5, 10)]
    assert seeds[0] == seeds[1] != seeds[2]
    assert len(set(seeds[0])) == 5


@pytest.mark.usefixtures("loopback")
async def test_a_refused_key_ends_it_and_a_passing_error_does_not() -> None:
    with LoopbackServer(lambda r, _: HttpError(503) if r.number == 1 else YES) as server:
        assert (await ChainPoll(judge_at(server)).score(CASE, meter=Meter())).hallucination == 1.0
    with (
        LoopbackServer(lambda *_: HttpError(401, "no", code="invalid_api_key")) as server,
        pytest.raises(AuthError),
    ):
        await ChainPoll(judge_at(server)).score(CASE, meter=Meter())
    with LoopbackServer(lambda _, i: TextReply(YES, "length" if i < 3 else "stop")) as server:
        scores = await ChainPoll(judge_at(server)).score(CASE, meter=Meter())
        assert isinstance(scores.hallucination, Unscored) and "cut off" in scores.hallucination.unscored
