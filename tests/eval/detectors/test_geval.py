"""G-Eval: the expected rating by probabilities and by samples, how ratings are read, what is asked, usage, failures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import AuthError, InputError, UnreachableError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.geval import GEval, expected_rating, geval_messages, read_rating
from eirene.models.chat import ChatModel
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError
from tests.models.test_token_choice import first_token

PASSAGES = Grounding("context", (ArgumentGroup("context", ("Trams are quiet.",)),))
NOTHING = Grounding("derived", ())
CASE = Case("Trams?", "Trams are quiet and fast.", PASSAGES)
ONCE = RetryPolicy(attempts=1)


async def sampled(*texts: str, given_text: Grounding = PASSAGES) -> Scores:
    model = ScriptedChatModel(list(texts))
    return await GEval(model, samples=len(texts)).score(Case("Trams?", "Trams are quiet.", given_text), meter=Meter())


def test_the_expected_rating_is_that_of_a_hand_computation() -> None:
    """(5 x 0.6 + 4 x 0.2 + 1 x 0.1) / 0.9 = 4.3333, of a mass of 0.9; under half of it there is none."""
    rating, mass = expected_rating({"5": 0.6, "4": 0.2, "1": 0.1, "2": 0.0}) or (0, 0)
    assert rating == pytest.approx(3.9 / 0.9) and mass == pytest.approx(0.9)
    assert expected_rating({"5": 0.3, "4": 0.1}) is None


def test_ratings_are_read_and_never_guessed(subtests: pytest.Subtests) -> None:
    for text, rating in [
        ("4", 4),
        (" 5.", 5),
        ("**3**", 3),
        ("4/5", 4),
        ("2 out of 5", 2),
        ("Consistency: 1", 1),
        ("Rating is 2", 2),
        ("The answer adds a date.\n\nRating: 3", 3),
        ("Score: 2\nOn reflection:\nScore: 4", 4),
        ("[5]", 5),
        ("<think>Rating: 1</think>4", 4),
        ("Consistency (1 to 5): 4", 4),
        ("- Consistency: 4", 4),
        ("reasons\n4", 4),
        ("", None),
        ("good", None),
        ("0", None),
        ("6", None),
        ("-1", None),
        ("Score: -1", None),
        ("3.5", None),
        ("4 to 5", None),
        ("3-4", None),
        ("8/10", None),
        ("Rating: 4/10", None),
        ("Rating: 4.5", None),
        ("45", None),
        ("I would say 4 because of the date", None),
        ("Rating: 4\nRating: 9", None),
        ("four", None),
        ("3 or 4", None),
        ("Rating: 5. Nothing contradicts the passages.", 5),
        ("Claim 2 is not supported.\nConsistency: 3", 3),
    ]:
        with subtests.test(text=text, rating=rating):
            assert read_rating(Reply(text, "stop")) == rating


@given(st.text(max_size=100))
def test_any_reply_can_be_looked_at(text: str) -> None:
    assert read_rating(Reply(text)) in (None, 1, 2, 3, 4, 5)


async def test_without_probabilities_the_mean_of_samples_counts() -> None:
    """Ratings 5, 4, 4, 3: mean 4, error (5 - 4) / 4."""
    scores = await sampled("5", "4", "4", "3")
    assert (scores.hallucination, scores.raw) == (0.25, {"rating": 4.0, "ratings": 4.0})
    assert isinstance(scores.coverage, Unscored)
    assert (await sampled("5", "5", "5")).hallucination == 0.0
    assert (await sampled("1", "1", "hm", "1")).hallucination == 1.0


async def test_under_a_quorum_it_is_unscored() -> None:
    scores = await sampled("5", "4", "hm", "?", "3", "-", "")
    assert scores.hallucination == Unscored(unscored="3 of 7 ratings could be read, 4 are needed")


def test_fewer_samples_than_the_quorum_are_refused() -> None:
    with pytest.raises(InputError, match="samples must be at least 3"):
        GEval(ScriptedChatModel([]), samples=2)


def test_what_a_judge_is_shown() -> None:
    assert "passage 1\nTrams are quiet.\n" in geval_messages(CASE, "consistency")[-1].content
    assert "passage" not in geval_messages(CASE, "factuality")[-1].content
    assert geval_messages(CASE, "factuality")[-1].content.endswith("Factuality:")


async def test_where_nothing_was_given_it_asks_for_factuality() -> None:
    assert (await sampled("5", "5", "5", given_text=NOTHING)).hallucination == 0.0


def judge_at(server: LoopbackServer) -> ChatModel:
    return resolve_chat("openai:judge", options=ChatOptions(base_url=server.base_url, retry=ONCE))


@pytest.mark.usefixtures("loopback")
async def test_one_call_with_probabilities_is_enough() -> None:
    """By the real client: logprobs asked for, sent in OpenAI's form, weighed."""
    meter = Meter()
    with LoopbackServer(lambda *_: first_token("4", **{"4": 0.5, "5": 0.2, "_5": 0.1, "2": 0.2})) as server:
        scores = await GEval(judge_at(server)).score(CASE, meter=meter)
        body = server.requests[0].body
        assert (server.calls, meter.total.calls, body["logprobs"], body["top_logprobs"]) == (1, 1, True, 20)
        assert (meter.total.input_tokens, meter.total.output_tokens) == (server.input_tokens, server.output_tokens)
    rating = 4 * 0.5 + 5 * 0.3 + 2 * 0.2
    assert scores.raw == {"rating": pytest.approx(rating), "mass": pytest.approx(1.0)}
    assert scores.hallucination == pytest.approx((5 - rating) / 4)


@pytest.mark.usefixtures("loopback")
async def test_a_server_without_probabilities_is_asked_for_samples() -> None:
    """One call finds out; from then on there is one a case, for all samples."""
    with LoopbackServer("Consistency: 4") as server:
        judge = GEval(judge_at(server))
        for _ in range(2):
            assert (await judge.score(CASE, meter=Meter())).raw == {"rating": 4.0, "ratings": 20.0}
        assert [r.n for r in server.requests] == [1, 20, 20]


@pytest.mark.usefixtures("loopback")
async def test_a_server_that_refuses_the_field_is_asked_for_samples() -> None:
    def script(request: Any, _: int) -> Any:
        for name in ("logprobs", "top_logprobs"):
            if name in request.body:
                return HttpError(400, f"unsupported parameter {name}", param=name)
        return "5"

    with LoopbackServer(script) as server:
        assert (await GEval(judge_at(server)).score(CASE, meter=Meter())).hallucination == 0.0


@pytest.mark.usefixtures("loopback")
async def test_failures_are_raised_and_never_scored() -> None:
    with (
        LoopbackServer(lambda *_: HttpError(401, "no", code="invalid_api_key")) as server,
        pytest.raises(AuthError),
    ):
        await GEval(judge_at(server)).score(CASE, meter=Meter())
    chat = ChatModel(ScriptedChatModel(lambda _: ConnectionError("gone")), retry=ONCE)
    with pytest.raises(UnreachableError):
        await GEval(chat).score(CASE, meter=Meter())
