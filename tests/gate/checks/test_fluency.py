from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.fluency import fluency
from eirene.text.edits import sentence_edits

BEFORE = (
    "There are different views on school uniforms. Supporters argue that uniforms make pupils more equal. "
    "Opponents reply that every family has to pay for clothes that nobody wants to wear."
)
SHUFFLED = "Pay nobody that for clothes has family opponents to wants every wear that reply to."
LAST = "Opponents reply that every family has to pay for clothes that nobody wants to wear."


def case_of(before: str, after: str, *arguments: str) -> EditCase:
    given = Grounding("perspectives" if arguments else "derived", (ArgumentGroup("for", arguments),))
    return EditCase("Should pupils wear uniforms?", before, after, sentence_edits(before, after), given)


def found(before: str, after: str, *arguments: str) -> list[Objection]:
    return list(fluency(case_of(before, after, *arguments)))


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (BEFORE.replace(LAST, SHUFFLED), "order that is no sentence"),
        (f"{BEFORE} {SHUFFLED}", "order that is no sentence"),
        (f"{BEFORE} Furthermore, it has to be said that the", "breaks off after"),
        (BEFORE.replace("every family has to pay for clothes", "family every to has for pay clothes"), "order"),
    ],
)
def test_what_is_no_sentence_is_objected_to(after: str, why: str) -> None:
    objections = found(BEFORE, after)
    assert len(objections) == 1
    assert why in objections[0].why


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        BEFORE + " Uniforms also save time in the morning, since no one has to choose what to put on.",
        BEFORE.replace("uniforms make pupils more equal", "pupils become more equal by wearing uniforms"),
        BEFORE.replace(". Opponents", ", while opponents"),
        BEFORE.replace("There are different views on school uniforms.", "On school uniforms, views differ."),
        BEFORE + "\n\n- lower costs\n- equal chances\n- less bullying",
        BEFORE + "\n\n## In short\n\nYes and no.",
        BEFORE + " Why should that be so?",
        BEFORE + "\n\n```python\nfor x in y: the(of)\n```",
        BEFORE + "\n\n| of | the |\n| --- | --- |\n| a | in |",
        BEFORE + " Die Eltern müssen für die Kleidung bezahlen, die niemand tragen möchte.",
        "",
    ],
)
def test_fluent_rewrites_pass(after: str) -> None:
    assert found(BEFORE, after) == []


def test_a_word_of_the_wrong_class_is_named_by_its_changed_words() -> None:
    objections = found(BEFORE, BEFORE.replace("to pay for clothes", "to and the for clothes"))
    assert [o.edit for o in objections] == [2] and objections[0].words


def test_raw_lines_may_be_added_to_raw_lines() -> None:
    before = "uniforms save time in the morning\nuniforms are what the families depend on"
    assert found(before, before + "\npupils are judged by what they put on") == []


def test_a_sentence_that_was_as_odd_before_passes() -> None:
    odd = SHUFFLED.replace("clothes", "shoes")
    assert found(f"Views differ. {SHUFFLED}", f"Views differ. {odd}") == []


def test_a_mended_order_is_found_the_other_way_round() -> None:
    case = case_of(BEFORE.replace(LAST, SHUFFLED), BEFORE)
    assert list(fluency(case)) == []
    assert len(list(fluency(case.swapped))) == 1


def test_an_end_that_an_argument_has_passes() -> None:
    argument = "the freedom to decide what pupils get up for in the"
    assert found(BEFORE, f"{BEFORE} There is {argument}") != []
    assert found(BEFORE, f"{BEFORE} There is {argument}", argument) == []


@given(st.text(max_size=120), st.text(max_size=120))
@settings(max_examples=60, deadline=None)
def test_any_two_texts_are_checked_without_an_error(before: str, after: str) -> None:
    case = case_of(before, after)
    for objection in fluency(case):
        assert 0 <= objection.edit < len(case.edits)
        edit = case.edits[objection.edit]
        assert all(0 <= w < len(edit.words) for w in objection.words or ())
