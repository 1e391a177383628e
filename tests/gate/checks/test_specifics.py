"""The specifics check: what is in no source, or took another's place, is objected to by its changed words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.base import Asked, EditCase, Objection
from eirene.gate.checks.specifics import specifics, strange_values
from eirene.text.edits.sentences import sentence_edits
from tests.rows import each

PASSAGES = (
    "Sarah Miller was born in 1960 in Boston. The town of Salem has 5,000 people.",
    "The bridge was opened by Tom Brown in 1931. It cost 35 million dollars.",
)


def case(before: str, after: str, *given_texts: str, asked: tuple[Asked, ...] = ()) -> EditCase:
    group = ArgumentGroup("context", given_texts)
    grounding = Grounding("context" if given_texts else "derived", (group,))
    return EditCase("Who was it?", before, after, sentence_edits(before, after), grounding, asked)


def objections(before: str, after: str, *given_texts: str, asked: tuple[Asked, ...] = ()) -> list[Objection]:
    return list(specifics(case(before, after, *given_texts, asked=asked)))


def undone(found: EditCase) -> str:
    """The text after with the words put back that are objected to; a whole edit's sentence is put back or dropped."""
    text = found.after
    spans = []
    for objection in specifics(found):
        edit = found.edits[objection.edit]
        if objection.words is None:
            spans.append((edit.after or (0, 0), found.old(edit)))
        else:
            spans += [(edit.words[k].after, found.before[slice(*edit.words[k].before)]) for k in objection.words]
    for (start, end), old in sorted(set(spans), reverse=True):
        text = text[:start] + old + text[end:]
    return text.replace(" ", "")  # white space next to what is undone is another's business


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Supporters say that it is cheap.", "Supporters say that it is cheap, in 73 percent of all cases."),
        (
            "Supporters say that it is cheap.",
            "According to the laureate Dr. Hans Kramer, supporters say that it is cheap.",
        ),
        ("Sarah Miller was born in 1960.", "Sarah Miller was born in 1961."),
        ("Sarah Miller was born in Boston.", "Sarah Kramer was born in Boston."),
        ("She was born in Boston.", "She was born in Denver."),
        ("The town has 5,000 people.", "The town has 7,000 people."),
        ("It is cheap.", "It is cheap (see www.example.com/offer)."),
    ],
)
@pytest.mark.parametrize("has_given", [True, False])
def test_foreign_words_in_a_sentence_are_put_back(before: str, after: str, has_given: bool) -> None:
    assert undone(case(before, after, *(PASSAGES if has_given else ()))) == before.replace(" ", "")


@each(
    "added",
    [
        "A study by Harvard shows it.",
        "It costs 12 euros.",
        "Many follow Angela Kramer.",
        'They call it "a very great step".',
        "Write to me@example.org.",
    ],
)
def test_a_sentence_with_foreign_specifics_is_dropped(added: str) -> None:
    before = "Sarah Miller was born in Boston."
    assert [o.words for o in objections(before, f"{before} {added}", *PASSAGES)] == [None]


@each("added", ["The bridge cost $35,000,000.", "Tom Brown opened the bridge in 1931.", "So it is."])
def test_a_sentence_made_of_given_specifics_stays(added: str) -> None:
    before = "Sarah Miller was born in Boston."
    assert objections(before, f"{before} {added}", *PASSAGES) == []


@each(
    "right, wrong",
    [
        ("Sarah Miller was born in 1960 in Boston.", "Sarah Miller was born in 1931 in Boston."),
        ("The bridge was opened by Tom Brown.", "The bridge was opened by Sarah Miller."),
        ("The bridge was opened in 1931.", "The bridge was opened in 1999."),
    ],
)
def test_an_exchange_goes_by_the_sentence_that_supports_it(right: str, wrong: str) -> None:
    assert objections(right, wrong, *PASSAGES)
    assert objections(wrong, right, *PASSAGES) == []
    assert list(specifics(case(wrong, right, *PASSAGES).swapped)), "the mended fault counts"


def test_two_names_of_one_sentence_may_not_change_places() -> None:
    passage = "Real Madrid beat Bayern Munich in the final."
    right, wrong = "In 1976 Real Madrid beat Bayern Munich.", "In 1976 Bayern Munich beat Real Madrid."
    assert undone(case(right, wrong, passage)) == right.replace(" ", "")


def test_what_is_asked_for_at_its_place_may_change() -> None:
    before, after = "It was built in 1960.", "It was built in 1999."
    assert objections(before, after)
    assert objections(before, after, asked=(Asked(0, 21, "The year is 1999."),)) == []


def test_names_in_other_languages_are_left_alone() -> None:
    before = "Viele Menschen sagen, dass die Steuer zu hoch ist und gesenkt werden muss."
    assert objections(before, f"{before} Andere meinen, dass der Staat das Geld für Schulen braucht.") == []
    assert objections(before, f"{before} Andere meinen, dass 73 Prozent dagegen sind.")


@each("added", ["The bridge is 89 years older than the mall.", "The two cost 47 million dollars in all."])
def test_a_number_that_follows_from_the_given_ones_may_stand(added: str) -> None:
    given_texts = (*PASSAGES, "The mall was opened in 2020, and cost 12 million dollars.")
    before = "Tom Brown opened the bridge in 1931."
    assert objections(before, f"{before} {added}", *given_texts) == []


def test_beside_a_comparison_only_values_from_nowhere_are_objected_to() -> None:
    before = "Tom Brown opened the bridge."
    after = f"{before[:-1]} in 1931, or in 1944. Ann Kramer came. Some 40 guests came."
    found = list(strange_values(case(before, after, *PASSAGES)))
    assert [objection.why.split('"')[1] for objection in found] == ["1944", "40"]


def test_marks_of_passages_are_no_numbers() -> None:
    assert objections("It is cheap.", "It is cheap [3]. It lasts, as passage 2 says.") == []


def test_lost_specifics_and_other_spellings_are_no_fault() -> None:
    before = "In 1960 about 50 % of 1,000 people came, Sarah Miller said."
    assert objections(before, "About fifty percent of a thousand people came, Miller said.") == []


def test_an_objection_says_what_is_at_fault() -> None:
    [found] = objections("It is cheap.", "It is cheap in 73 percent of all cases.")
    assert found.why == 'a number that no source has: "73 percent"'


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_two_texts_are_judged(before: str, after: str) -> None:
    found = case(before, after, "Some 12 people in Boston.")
    for objection in specifics(found):
        assert objection.words is None or all(k < len(found.edits[objection.edit].words) for k in objection.words)
    assert not list(specifics(case(before, before, "x")))
