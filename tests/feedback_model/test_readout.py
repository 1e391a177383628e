"""Readout: tags by the probabilities of a yes or no for each sentence, over a loopback server with the real client."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import pytest

import eirene
from eirene.agent.critics import critics_of
from eirene.core.critique import Sample, incomplete_shares
from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.critic import EmbeddedFeedback
from eirene.feedback_model.model import ChatFeedback
from eirene.feedback_model.readout import chances_of, sample_of_chances
from eirene.feedback_model.vote import critique_of_readout
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedRequest, TextReply
from eirene.text.sentences import split_sentences
from tests.rows import each
from tests.scripted_parts import scripted_parts

pytestmark = pytest.mark.usefixtures("loopback")
ANSWER = "Trams are quiet. Buses are loud. Oslo has both."
OPEN = Item(id="o", question="Trams or buses?", answer=ANSWER)
GIVEN = OPEN.model_copy(update={"id": "g", "context": ["Trams are quiet. Oslo has trams and buses."]})
SENTENCES = [s.text for s in split_sentences(ANSWER)]
WORDS = {1: "What a tram costs is missing.", 2: "The term", 3: "It does not say how many."}


def request(item: Item) -> FeedbackRequest:
    return FeedbackRequest(item, ANSWER, split_sentences(ANSWER), 5)


def script(yes: dict[str, list[float]], reasons: dict[int, str]) -> Any:
    """P(Yes) of each sentence by a word of the question; the reasons for the sentences that are asked about."""

    def reply(asked: ScriptedRequest, _: int) -> TextReply:
        if "Yes or No:" not in asked.text:
            named = asked.text.rpartition("these statements of the answer: ")[2].split(".")[0]
            return TextReply(json.dumps({n: reasons[int(n)] for n in named.split(", ") if int(n) in reasons}))
        n = 1 + SENTENCES.index(re.findall(r"^Claim: (.*)", asked.text, re.MULTILINE)[-1])
        p = next(own for word, own in yes.items() if word in asked.text)[n - 1]
        top = [{"token": t, "logprob": math.log(q)} for t, q in (("Yes", p), ("No", 1 - p))]
        return TextReply("Yes", "length", {"content": [{**top[0], "top_logprobs": top}]})

    return reply


def feedback_at(server: LoopbackServer) -> ChatFeedback:
    options = ChatOptions(base_url=server.base_url, retry=RetryPolicy(attempts=1))
    return ChatFeedback(resolve_chat("openai:test", options=options))


async def test_with_passages_a_sentence_is_as_good_as_the_worse_of_support_and_help() -> None:
    """One token for each question and sentence, and one request for the reasons; one that breaks off is replaced."""
    yes = {"support all": [0.9, 0.2, 0.7], "help to answer": [0.4, 0.8, 0.6]}
    with LoopbackServer(script(yes, WORDS), cache_from=10) as server:
        sample = await feedback_at(server).read_out(request(GIVEN), meter=(meter := Meter()))
    assert sample.chances == pytest.approx((0.6, 0.8, 0.4))
    assert sample.tags == ("Incomplete", "Incomplete", "Complete")
    assert sample.reasons == (WORDS[1], "The passages do not support all of it.", None)
    assert [r.body.get("max_tokens", r.body.get("max_completion_tokens")) for r in server.requests] == [1] * 6 + [None]
    assert meter.total.calls == 7 and meter.total.cached_tokens == server.cached_tokens > 0
    bodies = [r.body["messages"][0]["content"] for r in server.requests]
    given = bodies[0][: bodies[0].index("Claim: ")]
    assert all(body.startswith(given) for body in bodies) and SENTENCES[2] not in bodies[0]


async def test_without_passages_it_is_asked_whether_it_says_enough_and_nothing_is_drawn_for_sound_ones() -> None:
    with LoopbackServer(script({"enough information": [0.9, 0.8, 0.6]}, {})) as server:
        sample = await feedback_at(server).read_out(request(OPEN), meter=Meter())
    assert server.calls == 3 and sample.tags == ("Complete",) * 3


ENDS = [
    ("Yes", "abstained", "the model gives no token probabilities; take the readout by vote (critic_readout)"),
    (HttpError(500, "out of order"), "failed", "out of order"),
]


@each("reply,status,why", ENDS)
async def test_a_model_without_probabilities_and_a_server_that_fails_end_with_one_clear_reason(
    reply: Any, status: str, why: str
) -> None:
    """What failed is asked again when the run is taken up."""
    with LoopbackServer(lambda *_: reply) as server:
        parts = dataclasses.replace(scripted_parts(), feedback_model=feedback_at(server))
        settings = eirene.Settings(critic_readout="probabilities")
        record = await eirene.Loop(parts, settings).arun(OPEN)
    assert (record.status, record.answer, server.calls) == (status, ANSWER, 1)
    assert why in record.why


async def test_the_record_has_each_sentence_s_chance_and_the_loop_rewrites_what_is_faulted() -> None:
    with LoopbackServer(script({"enough information": [0.9, 0.2, 0.6]}, {2: "How loud they are."})) as server:
        parts = dataclasses.replace(scripted_parts(rewrites=["Trams."]), feedback_model=feedback_at(server))
        settings = eirene.Settings(critic_readout="probabilities", max_rounds=1)
        record = await eirene.Loop(parts, settings).arun(OPEN)
    (round_,) = record.rounds
    assert round_.critique is not None and round_.candidate == "Trams."
    assert [s.chance for s in round_.critique.sentences] == pytest.approx([0.1, 0.8, 0.4])
    assert round_.critique.incomplete[0].reason == "How loud they are."
    assert round_.critique.tag_consistency == pytest.approx(0.9 * 0.8 * 0.6)
    assert "readout:probabilities" in record.signature
    assert incomplete_shares(round_.samples) == pytest.approx((0.1, 0.8, 0.4))


async def test_which_arguments_are_said_the_encoder_reads_out_and_the_model_where_it_cannot() -> None:
    """Its chances are the shares of its draws; another language than English is the model's."""
    sides = {"pro": ["Trams are quiet.", "Trams need no fuel."], "con": "Buses are cheap."}
    item = Item(question=OPEN.question, answer=ANSWER, perspectives=sides)
    encoder = eirene.resolve_backend("embedded").feedback_model
    assert isinstance(encoder, EmbeddedFeedback)
    found = await encoder.read_out(request(item), meter=Meter())
    drawn = [sample.votes async for sample in encoder.draw(request(item), start=0, count=800, meter=Meter())]
    shares = [sum(votes[n] == "Incomplete" for votes in drawn) / 800 for n in range(3)]
    assert found.chances == pytest.approx(shares, abs=0.06)
    assert any("fuel" in (reason or "") for reason in found.reasons)
    german = "Straßenbahnen sind leise und brauchen keinen Kraftstoff, sagen die Leute in der Stadt."
    other = Item(question=OPEN.question, answer=ANSWER, perspectives={"pro": german})
    with LoopbackServer(script({"enough information": [0.9, 0.8, 0.7]}, {})) as server:
        critic = ChatFeedback(feedback_at(server).chat, of_sides=encoder)
        assert await critic.read_out(request(item), meter=Meter()) == found
        assert server.calls == 0
        by_model = await critic.read_out(request(other), meter=Meter())
    assert by_model.chances == pytest.approx((0.1, 0.2, 0.3))


def test_the_readout_is_pure_and_its_floor_is_the_probability_of_the_tags() -> None:
    assert chances_of({"a": [0.0, 9.0], "b": [5.0, -math.log(3)]}) == pytest.approx((0.5, 0.75))
    sample = sample_of_chances([0.9, 0.2], {1: "It lacks a year."}, {1: "standing"})
    sentences = split_sentences("One is here. Two is there.")
    found = critique_of_readout(sample, sentences, min_consistency=0.7).critique
    assert found is not None and found.n_requested == 1 and found == critique_of_readout(sample, sentences).critique
    assert "under the floor" in (critique_of_readout(sample, sentences, min_consistency=0.73).abstained or "")
    assert critique_of_readout(Sample(invalid="empty"), sentences).abstained == "empty"


def test_a_critic_that_has_no_probabilities_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(InputError, match="gives no probabilities; take critic_readout vote"):
        critics_of(scripted_parts(), eirene.Settings(critic_readout="probabilities"))
