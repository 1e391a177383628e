"""The embedded feedback model: what it finds, and how its critiques are drawn."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.critique import Finding, Sample
from eirene.core.grounding import NOTHING_GIVEN
from eirene.core.records import Item
from eirene.core.usage import Meter, Usage
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.critic import Draws, EmbeddedFeedback
from eirene.feedback_model.embedded.evidence import OperatingPoint, load_critic, parse_critic
from eirene.feedback_model.embedded.faults import AnswerFault
from eirene.feedback_model.vote import select
from eirene.models.encoder import Encoder, load_encoder
from eirene.text.language import unsupported_language
from eirene.text.sentences import split_sentences
from tests.word_overlap import WordOverlapEncoder

PERSPECTIVES = [
    {"name": "pro", "arguments": ["Parks cool the city in summer.", "Trees clean the air."]},
    {"name": "con", "arguments": ["Parks cost a lot of money.", "Parks take land that housing needs."]},
]
WHOLE = (
    "Supporters argue that parks keep the town cool when it is hot. They also say that trees make the air cleaner. "
    "Opponents argue that parks are expensive. They also say that the ground is needed for flats."
)


@lru_cache(maxsize=1)
def encoder() -> Encoder:
    return load_encoder(threads=1)


def request(answer: str, *, seed: int = 0, **given_text: object) -> FeedbackRequest:
    item = Item.model_validate({"question": "Should the city build more parks?", "answer": answer, **given_text})
    return FeedbackRequest(item, answer, split_sentences(answer), seed)


async def draw(asked: FeedbackRequest, *, start: int = 0, count: int = 20) -> list[Sample]:
    meter = Meter()
    samples = [s async for s in EmbeddedFeedback(encoder()).draw(asked, start=start, count=count, meter=meter)]
    assert meter.total == Usage()
    return samples


async def findings(answer: str) -> list[Finding]:
    """The findings of the selected critique."""
    asked = request(answer, perspectives=PERSPECTIVES)
    chosen = select(await draw(asked), asked.sentences, n_requested=20).critique
    assert chosen is not None
    return [f for s in chosen.sentences for f in s.findings]


async def test_a_whole_answer_is_complete() -> None:
    assert await findings(WHOLE) == []


async def test_a_missing_argument_is_charged_to_the_sentence_that_it_would_follow() -> None:
    answer = WHOLE.replace(" They also say that trees make the air cleaner.", "")
    (found,) = await findings(answer)
    assert (found.kind, found.edit) == ("missing", "Trees clean the air.")
    assert found.start == found.end == answer.index(" Opponents")
    assert "Trees clean the air" in found.reason


async def test_what_was_not_given_is_marked_to_the_character() -> None:
    invented = "Squirrels have elected a mayor of their own."
    (found,) = await findings(WHOLE.replace(" Opponents", f" {invented} Opponents"))
    assert (found.kind, found.edit) == ("unsupported", "")
    assert WHOLE.replace(" Opponents", f" {invented} Opponents")[found.start : found.end] == invented


async def test_a_statement_on_the_wrong_side_goes_and_comes() -> None:
    moved = "They also say that parks cost a lot of money. "
    answer = WHOLE.replace("They also say that trees", moved + "They also say that trees").replace(
        "parks are expensive. They also say that ", ""
    )
    goes, comes = sorted(await findings(answer), key=lambda f: f.start)
    assert (goes.kind, goes.edit, comes.kind) == ("misplaced", "", "misplaced")
    assert goes.start < answer.index("Opponents") < comes.start == comes.end


async def test_a_sample_depends_on_its_number_and_the_seed_alone() -> None:
    asked = request(WHOLE, perspectives=PERSPECTIVES)
    assert (await draw(asked, start=5, count=3)) == (await draw(asked, count=20))[5:8]


async def test_without_anything_given_every_sample_says_what_would_help() -> None:
    asked = request(WHOLE)
    samples = await draw(asked, count=4)
    assert [s.invalid for s in samples] == [NOTHING_GIVEN] * 4
    assert "perspectives" in (select(samples, asked.sentences, n_requested=4).abstained or "")


async def test_passages_stand_in_for_arguments() -> None:
    context = ["Parks lower the temperature of a city. They were first laid out in the nineteenth century."]
    answer = "Parks lower the temperature of a city. Squirrels have elected a mayor of their own."
    samples = await draw(request(answer, context=context))
    assert all(s.is_valid for s in samples)
    assert any("Squirrels" in (reason or "") for s in samples for reason in s.reasons)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(
    lambda t: bool(t.strip()) and "\x00" not in t
)


@settings(max_examples=60)
@given(texts, st.lists(texts, min_size=1, max_size=3), st.booleans())
def test_any_text_can_be_judged(answer: str, given_texts: list[str], as_context: bool) -> None:
    """Samples are valid and fit the sentences, whatever the texts hold; or say that the language is not read."""
    import asyncio

    more = {"context": given_texts} if as_context else {"perspectives": [{"name": "p", "arguments": given_texts}]}
    asked = request(answer, **more)

    async def drawn() -> list[Sample]:
        model = EmbeddedFeedback(WordOverlapEncoder())
        return [s async for s in model.draw(asked, start=0, count=3, meter=Meter())]

    language = unsupported_language(answer, given_texts)
    for sample in asyncio.run(drawn()):
        assert sample.is_valid == (language is None)
        if language is not None:
            assert language in (sample.invalid or "")
            continue
        assert len(sample.tags) == len(asked.sentences)
        assert all(0 <= f.start <= f.end <= len(answer) for f in sample.findings)


def point(**changes: float) -> OperatingPoint:
    values = {"missing": 0.5, "restated": 0.5, "unsupported": 0.5, "repeated": 0.5, "misplaced": 0.5}
    values |= {"passage_unsupported": 0.5}
    return OperatingPoint(**{**values, "temperature": 1.0, "coherence": 0.5, **changes})


def fault(sentence: int, margin: float, reason: str = "r") -> AnswerFault:
    return AnswerFault(sentence, margin, reason, ())


def test_at_temperature_1_a_fault_is_named_as_often_as_it_is_likely(subtests: pytest.Subtests) -> None:
    for margin in [-1.0, 0.0, 1.5]:
        with subtests.test(margin=margin):
            draws = Draws((fault(0, margin),), 1, 0, point())
            share = np.mean([draws.sample(i).tags[0] == "Incomplete" for i in range(3000)])
            assert share == pytest.approx(1 / (1 + np.exp(-margin)), abs=0.03)


def test_at_temperature_0_all_draws_are_the_same() -> None:
    draws = Draws((fault(0, 0.1), fault(1, -0.1)), 2, 0, point(temperature=0.0))
    assert {draws.sample(i).tags for i in range(20)} == {("Incomplete", "Complete")}


def test_coherent_draws_are_strict_or_lenient_throughout() -> None:
    """With all noise in common, faults of equal margin are named together."""
    draws = Draws(tuple(fault(s, 0.0) for s in range(5)), 5, 0, point(coherence=1.0))
    assert {len(set(draws.sample(i).tags)) for i in range(50)} == {1}


def test_an_incomplete_sentence_names_its_sure_faults_or_else_the_surest() -> None:
    faults = (fault(0, 2.0, "a"), fault(0, 1.0, "b"), fault(0, -1.0, "c"), fault(1, -0.5, "d"), fault(1, -0.9, "e"))
    drawn = [Draws(faults, 2, 0, point(temperature=9.0)).sample(i).reasons for i in range(200)]
    assert {r[0] for r in drawn} == {None, "a b"}
    assert {r[1] for r in drawn} == {None, "d"}


def test_the_shipped_constants_say_where_they_come_from_and_wrong_ones_are_an_error() -> None:
    import json
    from importlib.resources import files

    from eirene.core.errors import EncoderError

    data = json.loads(files("eirene.feedback_model.embedded").joinpath("critic.json").read_text("utf-8"))
    assert "mixed_train" in data["source"]
    assert parse_critic(data) == load_critic()
    with pytest.raises(EncoderError, match="operating point"):
        parse_critic({**data, "operating_point": {}})
    with pytest.raises(EncoderError, match="weights"):
        parse_critic({**data, "missing": {"weights": {"x": 1.0}, "bias": 0.0}})
