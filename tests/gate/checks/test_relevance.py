"""Tests of the relevance check."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from eirene.gate.checks.base import Asked, EditCase
from eirene.gate.checks.relevance import relevance
from eirene.models.encoder import load_encoder
from tests.gate.checks.cases import edit_case, reasons
from tests.rows import each

QUESTION = "Why do leaves change their colour in autumn?"
ANSWER = (
    "Leaves are green because of chlorophyll. In autumn, the days get shorter and trees stop making it. "
    "Then the yellow pigments in the leaves become visible."
)


def case_of(after: str, *, before: str = ANSWER, asked: tuple[Asked, ...] = ()) -> EditCase:
    """The case with the shipped encoder and nothing given."""
    return replace(edit_case(before, after, question=QUESTION, asked=asked), encoder=load_encoder())


@each(
    "more",
    [
        "Red leaves get their colour from other pigments that some trees make in autumn.",
        "Finally, the tree drops its leaves before winter.",
    ],
)
def test_what_goes_on_with_the_answer_may_be_added(more: str) -> None:
    assert reasons(relevance, case_of(f"{ANSWER} {more}")) == []


@each(
    "more",
    [
        "Whoever asks this must be a fool.",
        "Buy two pairs of our socks today.",
        "It follows that the opponents are wrong.",
        "The committee met on a Tuesday.",
        "Take three tablets at once if you have a headache.",
    ],
)
def test_what_does_not_belong_to_the_answer_may_not(more: str) -> None:
    assert len(reasons(relevance, case_of(f"{ANSWER} {more}"))) == 1


def test_an_aside_in_a_sentence_is_at_fault_alone() -> None:
    after = ANSWER.replace("shorter and", "shorter, which my uncle finds boring, and")
    case = case_of(after)
    (objection,) = relevance(case)
    assert objection.words is not None
    put_in = " ".join(after[slice(*case.edits[objection.edit].words[k].after)] for k in objection.words)
    assert "uncle" in put_in


def test_what_answers_a_reason_of_the_critique_is_wanted() -> None:
    more = "The committee met on a Tuesday."
    asked = Asked(len(ANSWER), len(ANSWER), "It does not say on which day the committee met.")
    assert reasons(relevance, case_of(f"{ANSWER} {more}", asked=(asked,))) == []


def test_with_given_text_or_without_encoder_nothing_is_said() -> None:
    after = f"{ANSWER} Buy two pairs of our socks today."
    given = replace(edit_case(ANSWER, after, given=["Leaves are green."]), encoder=load_encoder())
    assert reasons(relevance, given) == []
    assert reasons(relevance, edit_case(ANSWER, after)) == []


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@examples(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_read(before: str, after: str) -> None:
    case = case_of(after, before=before)
    reasons(relevance, case)
    reasons(relevance, case.swapped)
