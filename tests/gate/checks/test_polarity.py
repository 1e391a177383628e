"""The polarity check: turned marks in reworded and added sentences."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.base import Asked, EditCase
from eirene.gate.checks.polarity import polarity
from eirene.text.edits.sentences import sentence_edits
from tests.rows import each

GIVEN = ("Homework helps children to learn.", "Homework harms the sleep of children.", "Some parents welcome homework.")
TEXT = "There are two views. Supporters say that homework helps children to learn."


def _case(before: str, after: str, given: tuple[str, ...] = GIVEN, asked: tuple[Asked, ...] = ()) -> EditCase:
    source = Grounding("perspectives", (ArgumentGroup("", given),)) if given else Grounding("derived", ())
    return EditCase("Is homework good?", before, after, sentence_edits(before, after), source, asked)


def _turned(old: str, new: str) -> EditCase:
    return _case(TEXT, TEXT.replace(old, new))


@pytest.mark.parametrize("given", [GIVEN, ()])
@pytest.mark.parametrize(
    ("old", "new"),
    [("helps", "does not help"), ("say", "falsely say"), ("children", "all children"), ("helps", "hinders")],
)
def test_a_turned_mark_is_objected_to_by_its_words(old: str, new: str, given: tuple[str, ...]) -> None:
    (objection,) = polarity(_case(TEXT, TEXT.replace(old, new), given))
    assert objection.words


def test_the_given_text_decides_for_the_new_wording_and_the_swapped_case_tells_the_mended_harm() -> None:
    harmed = TEXT.replace("helps", "does not help")
    case = _case(harmed, TEXT)
    assert not list(polarity(case))
    assert list(polarity(case.swapped))


def test_a_judged_claim_is_mended() -> None:
    case = _case(TEXT.replace("say", "wrongly say"), TEXT)
    assert not list(polarity(case))
    assert list(polarity(case.swapped))


def test_a_proof_that_no_given_text_has_may_become_a_hedge() -> None:
    harmed = TEXT.replace("helps", "will certainly help")
    mended = TEXT.replace("helps", "may help")
    assert not list(polarity(_case(harmed, mended)))
    assert list(polarity(_case(mended, harmed)))


class _Scripted:
    """An encoder for which sentences with "no use" and with "not" mean the same."""

    digest = "scripted"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[1, 0] if "no use" in t or "not" in t else [0.6, 0.8] for t in texts], np.float32)


def test_meaning_decides_where_the_given_sentence_uses_other_words() -> None:
    given = ("Extra exercises are of no use to the young.",)
    negated = TEXT.replace("helps", "does not help")
    case = replace(_case(TEXT, negated, given), encoder=_Scripted())
    assert not list(polarity(case))
    assert list(polarity(case.swapped))
    assert list(polarity(_case(TEXT, negated, given)))  # by words alone


@each("reason", ["Homework does not help children to learn.", 'The word is missing: "not".'])
def test_what_was_asked_for_at_the_place_may_turn(reason: str) -> None:
    asked = Asked(21, len(TEXT), reason, edit="does not help")
    assert not list(polarity(_case(TEXT, TEXT.replace("helps", "does not help"), (), (asked,))))


@each(
    "added",
    [
        "Opponents say that homework does not harm the sleep of children.",
        "Opponents falsely say that homework harms the sleep of children.",
        "It is a proven fact that homework harms the sleep of children.",
        "Homework benefits the sleep of children.",
        "All parents welcome homework.",
    ],
)
def test_an_added_sentence_turned_against_its_argument_is_objected_to(added: str) -> None:
    assert [o.words for o in polarity(_case(TEXT, f"{TEXT} {added}"))] == [None]


@each(
    "added",
    [
        "Opponents say that homework harms the sleep of children.",
        "A further point against: Homework is not good for the sleep of children.",
        "Some mothers and fathers like it.",
    ],
)
def test_an_added_argument_may_stay(added: str) -> None:
    assert not list(polarity(_case(TEXT, f"{TEXT} {added}")))


def test_a_clause_that_comes_with_its_own_marks_is_no_turn() -> None:
    after = TEXT[:-1] + ", and that some parents very much welcome the daily homework."
    assert not list(polarity(_case(TEXT, after)))


def test_other_languages_are_left_alone() -> None:
    before = "Die Befürworter sagen, dass Hausaufgaben den Kindern beim Lernen helfen."
    assert not list(polarity(_case(before, before.replace("helfen", "nicht helfen"), ())))
