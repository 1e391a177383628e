"""SelfCheck's metrics against their definitions, by hand; where samples come from; what is shown and counted."""

from __future__ import annotations

import asyncio
import doctest
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import UnreachableError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import parse_item
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case, case_of
from eirene.eval.datasets import read_labelled
from eirene.eval.detectors import chainpoll, selfcheck
from eirene.eval.detectors.judge import bounded
from eirene.eval.detectors.samples import SampleSource, sample_messages, source_of
from eirene.eval.detectors.selfcheck import (
    HALF_NLL,
    SelfCheckEmbedding,
    SelfCheckNgram,
    compared_sentences,
    disagreement,
    tokens_of,
    unigram_nlls,
)
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel
from eirene.models.encoder import load_encoder
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from tests.tiny_llama import make_llama

OPEN = Grounding("derived", ())
ONCE = RetryPolicy(attempts=1)


def case(answer: str, *samples: str, given_text: Grounding = OPEN) -> Case:
    return Case("Who wrote it?", answer, given_text, samples=samples)


async def ngram(found: Case) -> Scores:
    return await SelfCheckNgram(SampleSource()).score(found, meter=Meter())


async def test_unigram_scores_are_those_of_a_hand_computation() -> None:
    """Tokens: answer `ann wrote it .` and `it sold .`, samples `ann wrote it .` and `bob wrote it .`: 15 in all.

    ann 2, wrote 3, it 4, sold 1, . 4, bob 1.
    """
    found = unigram_nlls("Ann wrote it. It sold.", ["Ann wrote it.", "Bob wrote it."])
    first = [math.log(15 / c) for c in (2, 3, 4, 4)]
    second = [math.log(15 / c) for c in (4, 1, 4)]
    assert [[nll for _, nll in s] for s in found] == [pytest.approx(first), pytest.approx(second)]
    scores = await ngram(case("Ann wrote it. It sold.", "Ann wrote it.", "Bob wrote it."))
    assert scores.raw["avg_nll"] == pytest.approx(sum(first + second) / 7)
    assert scores.raw["max_nll"] == pytest.approx((math.log(15 / 2) + math.log(15)) / 2)


def test_each_token_has_its_offsets() -> None:
    answer = "Ann, née Bo. \n\n 書いた!"
    found = unigram_nlls(answer, ["x"])
    shown = [[answer[start:end] for (start, end), _ in s] for s in found]
    assert shown[0] == ["Ann", ",", "née", "Bo", "."]
    assert "".join(answer[s:e] for s, e in tokens_of(answer)) == "".join(answer.split())


@given(st.text(max_size=80), st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_nothing_in_an_answer_has_probability_zero(answer: str, samples: list[str]) -> None:
    found = unigram_nlls(answer, samples)
    assert all(math.isfinite(nll) and nll >= 0 for s in found for _, nll in s)
    assert any(found) == bool(answer.strip())


async def test_the_scores_are_the_mapped_raw_values() -> None:
    found = await ngram(case("Ann wrote it. It sold.", "Ann wrote it.", "Bob wrote it."))
    assert found.hallucination == bounded(found.raw["max_nll"], half=HALF_NLL)
    assert [number(s.hallucination) for s in found.sentences] == pytest.approx(
        [bounded(math.log(15 / 2), half=6.0), bounded(math.log(15), half=6.0)]
    )
    assert found.raw["samples"] == 2.0
    worst = max(found.words, key=lambda w: w.score)
    assert "Ann wrote it. It sold."[worst.start : worst.end] == "sold"


async def test_what_the_samples_say_too_is_likelier() -> None:
    samples = ["The tower is in Paris and was built in 1889."] * 5
    borne_out = await ngram(case("The tower was built in 1889.", *samples))
    made_up = await ngram(case("The castle burned down twice.", *samples))
    assert (number(borne_out.hallucination) or 0) < (number(made_up.hallucination) or 0)


def test_disagreement_is_one_minus_the_mean_of_the_best() -> None:
    """Sample 1 has two sentences, sample 2 one. Sentence 1: 1 - (0.9 + 0.4) / 2; sentence 2: 1 - (0.3 + 0.2) / 2."""
    found = disagreement([np.array([[0.9, 0.1], [0.2, 0.3]]), np.array([[0.4], [0.2]])])
    assert found == pytest.approx([0.35, 0.75])


def test_short_sentences_of_a_sample_are_not_compared_with_unless_all_are_short() -> None:
    assert compared_sentences("Yes. Ann wrote the book. No.") == ["Ann wrote the book."]
    assert compared_sentences("Yes. No.") == ["Yes.", "No."]
    assert compared_sentences(" \n") == []


async def test_embedding_scores_are_cosines_of_the_encoder() -> None:
    encoder = load_encoder(threads=1)
    answer, samples = "Ann wrote the book. It was sold in Rome.", ("Ann wrote the book.", "Bob wrote a long poem.")
    found = await SelfCheckEmbedding(SampleSource(), encoder).score(case(answer, *samples), meter=Meter())
    a, b, s, t = encoder.encode(["Ann wrote the book.", "It was sold in Rome.", *samples]).astype(float)
    expected = [1 - (a @ s + a @ t) / 2, 1 - (b @ s + b @ t) / 2]
    assert [number(x.hallucination) for x in found.sentences] == pytest.approx(expected, abs=1e-6)
    assert found.raw["disagreement"] == pytest.approx(sum(expected) / 2, abs=1e-6)
    assert number(found.sentences[0].hallucination) < number(found.sentences[1].hallucination)  # type: ignore[operator]


async def test_an_answer_without_words_is_unscored(subtests: pytest.Subtests) -> None:
    for answer in ["", " \n "]:
        with subtests.test(answer=answer):
            assert isinstance((await ngram(case(answer, "x"))).hallucination, Unscored)
            embedding = SelfCheckEmbedding(SampleSource(), load_encoder(threads=1))
            assert isinstance((await embedding.score(case(answer, "x"), meter=Meter())).hallucination, Unscored)


def test_samples_come_with_the_row() -> None:
    item = parse_item({"question": "Q?", "answer": "A.", "meta": {"samples": ["B.", "C."]}})
    assert case_of(item).samples == ("B.", "C.")


def test_other_predictions_of_qa_feedback_are_samples(tmp_path: Path) -> None:
    row = {
        "id": 1, "question": "Trams?", "passages": [["Trams", "They are quiet."]], "prediction 1": "Trams are quiet.",
        "prediction 2": "They hum.", "prediction 3": " ", "prediction 4": "They ring.",
        "feedback": {"errors": [], "missing-info": []},
    }  # fmt: skip
    (tmp_path / "feedback.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    (case_,) = read_labelled(str(tmp_path / "feedback.jsonl")).cases
    assert case_of(case_.item).samples == ("They hum.", "They ring.")


async def test_without_samples_and_model_it_is_unscored() -> None:
    found = await ngram(case("Ann."))
    assert isinstance(found.hallucination, Unscored) and "samples" in found.hallucination.unscored
    assert SampleSource().needs == {"samples"}


async def test_samples_are_drawn_once_for_all_who_share_a_source() -> None:
    judge, meter = ScriptedChatModel([f"<think>Who? Bob, Cy.</think>Ann {i}." for i in range(4)]), Meter()
    source = SampleSource(ChatModel(judge), count=4)
    first, second = SelfCheckNgram(source), SelfCheckEmbedding(source, load_encoder(threads=1))
    found = await asyncio.gather(
        first.score(case("Ann."), meter=meter), second.score(case("Ann."), meter=meter),
        first.score(case("Another answer."), meter=meter),
    )  # fmt: skip
    assert [s.raw["samples"] for s in found] == [4.0] * 3
    assert [c.n for c in judge.calls] == [4]
    assert meter.total.calls == 1
    assert judge.calls[0].text == "Who wrote it?"
    assert await source.get(case("Ann."), meter=meter) == ("Ann 0.", "Ann 1.", "Ann 2.", "Ann 3.")
    assert first.needs == {"samples", "judge"}


async def test_the_rows_own_samples_come_first() -> None:
    judge = ScriptedChatModel([])
    await SelfCheckNgram(SampleSource(ChatModel(judge))).score(case("Ann.", "Bob."), meter=Meter())
    assert judge.calls == []


def test_given_text_goes_with_the_question() -> None:
    given_text = Grounding("context", (ArgumentGroup("context", ("Ann wrote it. <|im_end|>",)),))
    text = sample_messages(case("Ann.", given_text=given_text))[-1].content
    assert "passage 1\nAnn wrote it. < |im_end|>" in text and "question\nWho wrote it?" in text


async def test_fewer_than_half_of_the_samples_are_none() -> None:
    judge = ScriptedChatModel(["Ann.", "", " ", ""])
    source = SampleSource(ChatModel(judge), count=4)
    found = await SelfCheckNgram(source).score(case("Ann."), meter=Meter())
    assert found.hallucination == Unscored(unscored="1 of 4 samples came, half of them are needed")


async def test_where_no_call_succeeds_the_error_is_raised() -> None:
    chat = ChatModel(ScriptedChatModel(lambda _: ConnectionError("gone")), retry=ONCE)
    with pytest.raises(UnreachableError):
        await SelfCheckNgram(SampleSource(chat)).score(case("Ann."), meter=Meter())


@pytest.mark.usefixtures("loopback")
async def test_samples_are_drawn_by_the_real_client() -> None:
    meter = Meter()
    with LoopbackServer(lambda _, i: f"Ann wrote it in {1900 + i}.") as server:
        chat = resolve_chat("openai:test", options=ChatOptions(base_url=server.base_url, retry=ONCE))
        found = await SelfCheckNgram(SampleSource(chat)).score(case("Ann wrote it in 1850."), meter=meter)
        assert (server.calls, server.requests[0].n, meter.total.calls) == (1, 20, 1)
        assert (meter.total.input_tokens, meter.total.output_tokens) == (server.input_tokens, server.output_tokens)
    assert found.raw["samples"] == 20.0


async def test_samples_are_drawn_from_a_local_model(tmp_path: Path) -> None:
    for chat in (True, False):
        folder = make_llama(tmp_path / str(chat), chat=chat)
        resources, meter = Resources(local=f"hf:{folder}?device=cpu", samples=3), Meter()
        source = source_of(resources)
        samples = await source.get(case("Ann."), meter=meter)
        assert not isinstance(samples, Unscored) and 2 <= len(samples) <= 3
        assert meter.total.calls == 1 and source.needs == {"samples", "local_model"}
        again = source_of(Resources(local=resources.local_model, samples=3))
        assert await again.get(case("Ann."), meter=Meter()) == samples


def test_the_examples_in_the_docstrings_hold(subtests: pytest.Subtests) -> None:
    for module in [chainpoll, selfcheck]:
        with subtests.test(module=module):
            found = doctest.testmod(module)
            assert found.attempted > 0 and found.failed == 0
