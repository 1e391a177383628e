"""Reasons name passages by id where passages were found: numbers are resolved, and none is made up."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import Finding, Sample
from eirene.core.grounding import whole_evidence
from eirene.core.records import FOUND_PASSAGES, Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackModel, FeedbackRequest
from eirene.feedback_model.citation import cite_passage, with_ids
from eirene.feedback_model.embedded.critic import EmbeddedFeedback, EmbeddedHallucination
from eirene.feedback_model.embedded.faults import AnswerFault
from eirene.feedback_model.model import COMPLETENESS, HALLUCINATION
from eirene.feedback_model.request import feedback_messages
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import shipped_verifier
from eirene.text.sentences import split_sentences

ENCODER = load_encoder(threads=1)
PASSAGES = ["Bread is baked from flour and water.", "Oslo is the capital of Norway. It was founded in 1040."]
ITEM = Item(
    question="What is the capital of Norway?",
    answer="Oslo is the capital of Norway. It was founded in 1050.",
    context=PASSAGES,
    meta={FOUND_PASSAGES: ["bread", "oslo [a]"]},
)
PLAIN = ITEM.model_copy(update={"meta": {}})


def request(item: Item, answer: str | None = None) -> FeedbackRequest:
    text = item.answer if answer is None else answer
    return FeedbackRequest(item, text, tuple(split_sentences(text)), seed=0)


async def drawn(critic: FeedbackModel, asked: FeedbackRequest) -> list[Sample]:
    return [s async for s in critic.draw(asked, start=0, count=20, meter=Meter())]


def resolved(reason: str) -> str | None:
    return with_ids(Sample(tags=("Incomplete",), reasons=(reason,)), whole_evidence(ITEM).ids).reasons[0]


def test_numbers_become_ids_and_what_is_made_up_is_marked() -> None:
    """A number of a passage becomes its id; one that none has, and an id that a model wrote, are no citation."""
    assert resolved("The year is wrong [2].") == "The year is wrong [oslo (a)]."
    assert resolved("See [1, 2] and [passage 1].") == "See [bread] [oslo (a)] and [bread]."
    assert resolved("See [Reference 2] and [ref. 1].") == "See [oslo (a)] and [bread]."
    assert resolved("See [4] and [0].") == "See (no passage 4) and (no passage 0)."
    assert resolved("See [paris].") == "See (paris)."
    sample = Sample(tags=("Incomplete",), reasons=("See [9].",))
    assert with_ids(sample, whole_evidence(PLAIN).ids) is sample
    assert with_ids(Sample(invalid="empty"), ["a"]) == Sample(invalid="empty")


@given(st.text(alphabet="[]12, ap", min_size=1).filter(str.strip))
def test_every_bracket_holds_an_id_that_was_given(reason: str) -> None:
    """Whatever a model writes, a pair of square brackets in what comes of it holds the id of a passage."""
    found = resolved(reason) or ""
    assert found.strip()
    assert set(re.findall(r"\[([^\[\]]*)\]", found)) <= {"bread", "oslo (a)"}


def test_a_model_is_shown_sentences_by_number_and_what_it_names_is_their_passage() -> None:
    asked = feedback_messages(request(ITEM))[-1].content
    assert "[2] Oslo is the capital of Norway.\n[3] It was founded in 1040.\n" in asked
    assert "oslo [a]" not in asked and asked == feedback_messages(request(PLAIN))[-1].content
    reply = "1. [Complete]\n2. [Incomplete] Reasons: It was 1040 [3], not 1050 [7]."
    sample = COMPLETENESS.read(reply, request(ITEM), None)
    assert sample.reasons[1] == "It was 1040 [oslo (a)], not 1050 (no passage 7)."


async def test_the_embedded_critics_name_the_passage_that_they_compared_with() -> None:
    """An edit names the passage that holds the given words; without found passages none is named."""
    found = await drawn(EmbeddedHallucination(ENCODER, verifier=shipped_verifier), request(ITEM))
    reasons = {f.reason for s in found for f in s.findings if f.kind == "entity"}
    assert reasons
    assert all(reason.endswith("[oslo (a)]") for reason in reasons)
    plain = await drawn(EmbeddedHallucination(ENCODER, verifier=shipped_verifier), request(PLAIN))
    assert not any("[" in f.reason for s in plain for f in s.findings)


def test_what_is_missing_names_the_passage_that_says_it() -> None:
    """A finding's reason and the sentence's end with the id; a sentence that no passage holds names none."""
    text = "It was founded in 1040."
    finding = Finding(kind="missing", start=9, end=9, reason="Missing.", edit=text)
    fault = AnswerFault(0, 1.0, "Missing.", (finding,))
    named = cite_passage(fault, text, ITEM)
    assert (named.reason, named.findings[0].reason) == ("Missing. [oslo (a)]",) * 2
    assert cite_passage(fault, "Elsewhere.", ITEM) == fault
    assert cite_passage(fault, text, PLAIN) is fault


async def test_square_brackets_of_the_answer_cite_nothing() -> None:
    """A reason that quotes the answer has its brackets round where passages were found, as they are elsewhere."""
    text = "Oslo has a famous opera house [1]."
    for critic in (EmbeddedHallucination(ENCODER), EmbeddedFeedback(ENCODER)):
        samples = await drawn(critic, request(ITEM, text))
        said = [r for s in samples for r in (*(r or "" for r in s.reasons), *(f.reason for f in s.findings))]
        assert any("(1)" in reason for reason in said)
        assert not any("[1]" in reason for reason in said)
        samples = await drawn(critic, request(PLAIN, text))
        assert any("[1]" in f.reason for s in samples for f in s.findings)


def test_the_critic_of_hallucinations_cites_as_well() -> None:
    """Numbers in its reasons become ids; the quotations of a finding without a reason cite nothing."""
    asked = request(ITEM, "Oslo [2] is old. It was founded in 1050.")
    copy = "Oslo [2] <entity>is</entity> old. <invented>It was founded in 1050.</invented>"
    mark = re.findall(r"TEXT-[a-z]+", HALLUCINATION.messages(asked)[-1].content)[0]
    sample = HALLUCINATION.read(f"{copy}\n{mark}\n1. It still is.\n2. It was 1040 [2], see [x] and [9].", asked, None)
    assert sample.reasons == ("It still is.", "It was 1040 [oslo (a)], see (x) and (no passage 9).")
    bare = HALLUCINATION.read("<invented>Oslo [2] is old.</invented> It was founded in 1050.", asked, None)
    assert bare.reasons[0] == 'Speaks of something that does not exist: "Oslo (2) is old".'
