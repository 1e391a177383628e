"""Tests of the support check."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from eirene.gate.checks.base import Asked, EditCase
from eirene.gate.checks.support import support
from eirene.models.encoder import load_encoder
from tests.gate.checks.cases import BEFORE, edit_case, reasons
from tests.rows import each

GIVEN = (
    "Uniforms make pupils more equal.",
    "Uniforms save families money.",
    "Uniforms limit pupils' freedom of expression.",
)


def case_of(after: str, *, before: str = BEFORE, asked: tuple[Asked, ...] = ()) -> EditCase:
    """The case with arguments and the shipped encoder."""
    return replace(edit_case(before, after, given=GIVEN, asked=asked), encoder=load_encoder())


@each(
    "more",
    [
        "Supporters add that uniforms save families money.",
        "Families also spend less on clothes when there is a uniform.",
        "Opinions differ.",
        "There are good points on both sides.",
    ],
)
def test_a_given_argument_and_a_plain_filler_may_be_added(more: str) -> None:
    assert reasons(support, case_of(f"{BEFORE} {more}")) == []


@each(
    "more",
    [
        "The opponents are fools.",
        "Visit our shop and buy two pairs of socks today.",
        "Elephants live in large herds.",
        "It follows that the supporters are right.",
        "Supporters add that uniforms save families money, and elephants live in large herds.",
    ],
)
def test_a_sentence_that_nothing_carries_may_not(more: str) -> None:
    found = reasons(support, case_of(f"{BEFORE} {more}"))
    assert len(found) == 1
    assert found[0].startswith("nothing that was given says")


def test_what_was_removed_and_not_carried_is_mended() -> None:
    turned = case_of(BEFORE, before=f"{BEFORE} Elephants live in large herds.").swapped
    assert reasons(support, turned) != []
    assert reasons(support, case_of(BEFORE, before=f"{BEFORE} Opinions differ.").swapped) == []


def test_only_the_words_put_into_a_sentence_are_at_fault() -> None:
    after = BEFORE.replace("say that they limit", ", who are fools anyway, say that they limit")
    (objection,) = support(case_of(after))
    assert objection.words is not None
    words = case_of(after).edits[objection.edit].words
    assert "fools" in " ".join(after[slice(*words[k].after)] for k in objection.words)


def test_an_argument_may_be_merged_into_a_sentence() -> None:
    assert (
        reasons(support, case_of(BEFORE.replace("more equal.", "more equal, and that they save families money."))) == []
    )


def test_what_a_person_asked_for_may_be_said() -> None:
    more = "Uniforms were dropped in the town of Lindau."
    asked = Asked(len(BEFORE), len(BEFORE), f'add: "{more}"')
    assert reasons(support, case_of(f"{BEFORE} {more}")) != []
    assert reasons(support, case_of(f"{BEFORE} {more}", asked=(asked,))) == []


def test_without_given_text_or_encoder_nothing_is_said() -> None:
    after = f"{BEFORE} Elephants live in large herds."
    assert reasons(support, replace(edit_case(BEFORE, after), encoder=load_encoder())) == []
    assert reasons(support, edit_case(BEFORE, after, given=GIVEN)) == []


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@examples(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_read(before: str, after: str) -> None:
    case = case_of(after, before=before)
    reasons(support, case)
    reasons(support, case.swapped)
