"""Repetition check: what the text after says twice and the text before once; swapped, a repetition removed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.gate.checks.repetition import repetition
from tests.rows import each

from .cases import BEFORE, edit_case, reasons

FIRST = BEFORE.split(". ")[0] + "."


@each(
    "after, times",
    [
        (f"{BEFORE} {BEFORE}", 2),
        (f"{BEFORE}\n\n{BEFORE}", 2),
        (f"{FIRST} {BEFORE}", 1),
        (f"{BEFORE} It is also said that uniforms make pupils more equal.", 1),
        (f"{BEFORE} Supporters add that uniforms make the pupils more equal.", 1),
        (BEFORE.replace("limit freedom", "limit freedom, and that they limit freedom"), 1),
    ],
)
def test_a_repetition_is_objected_to_and_its_removal_mends(after: str, times: int) -> None:
    assert len(reasons(repetition, edit_case(BEFORE, after))) == times
    assert reasons(repetition, edit_case(BEFORE, after).swapped) == []
    assert len(reasons(repetition, edit_case(after, BEFORE).swapped)) == times
    assert reasons(repetition, edit_case(after, f"{after} Uniforms save money.")) == []


@each(
    "added",
    [
        "Supporters add that uniforms save families money.",
        "Opponents say that uniforms do not make pupils more equal.",
        "Opponents say that uniforms make pupils less equal.",
        "Opponents say that uniforms make teachers more equal than their pupils and parents.",
    ],
)
def test_another_argument_in_similar_words_is_no_repetition(added: str) -> None:
    assert reasons(repetition, edit_case(BEFORE, f"{BEFORE} {added}")) == []


def test_a_sentence_that_took_the_place_of_its_like_is_no_repetition() -> None:
    assert reasons(repetition, edit_case(BEFORE, f"Uniforms have two sides. {BEFORE}")) == []
    turned = " ".join(f"{s.strip('.')}." for s in reversed(BEFORE.split(". ")))
    assert reasons(repetition, edit_case(BEFORE, turned)) == []


def test_one_of_two_new_ones_may_stay() -> None:
    added = "Supporters add that uniforms save families money."
    assert len(reasons(repetition, edit_case(BEFORE, f"{BEFORE} {added} {added}"))) == 1


_WORDS = st.lists(st.sampled_from(["Uniforms", "cost", "money.", "They say that", "and", "\n"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(_WORDS, _WORDS)
def test_whatever_the_texts_hold_objections_point_at_changed_edits(before: list[str], after: list[str]) -> None:
    reasons(repetition, edit_case(" ".join(before), " ".join(after)))
    assert reasons(repetition, edit_case(" ".join(before), " ".join(before))) == []
