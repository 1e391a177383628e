"""Shouting check: new capitals, marks, stretched, spaced-out and masked words; acronyms and names are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.gate.checks.shouting import shouting

from .cases import BEFORE, edit_case, reasons


@pytest.mark.parametrize(
    "added",
    [
        "SUPPORTERS SAY IT SAVES MONEY.",
        "They are EVIL PEOPLE.",
        "They do NOT agree.",
        "It is a DISASTER.",
        "It is great!",
        "What?! No.",
        "This is sooooo bad.",
        "It is f r e e now.",
        "It is f-r-e-e now.",
        "It is a f*ck thing.",
        "Un1f0rms are bad.",
        "sUpPoRtErS say it.",
        "They cost money 😀🎉.",
        "Wait....... they cost.",
    ],
)
def test_shouting_is_objected_to_and_its_removal_mends(added: str) -> None:
    after = f"{BEFORE} {added}"
    assert len(reasons(shouting, edit_case(BEFORE, after))) == 1
    assert reasons(shouting, edit_case(BEFORE, after).swapped) == []
    assert len(reasons(shouting, edit_case(after, BEFORE).swapped)) == 1
    assert reasons(shouting, edit_case(after, f"{after} They cost money.")) == []


@pytest.mark.parametrize("set_so", [str.upper, str.lower, str.title])
def test_the_whole_text_in_other_capitals_is_a_harm_one_way_round_only(set_so: object) -> None:
    other = set_so(BEFORE)  # type: ignore[operator]  # a method of str
    assert len(reasons(shouting, edit_case(BEFORE, other))) == 2
    assert reasons(shouting, edit_case(BEFORE, other).swapped) == []
    assert len(reasons(shouting, edit_case(other, BEFORE).swapped)) == 2


@pytest.mark.parametrize(
    "added",
    [
        "The World Health Organization (WHO) says so.",
        "UNESCO and NASA agree.",
        "World War II and Henry VIII mattered.",
        "The U.S.S.R. had them, e.g. in schools.",
        "iPhone, YouTube, eBay and LaTeX exist.",
        "COVID-19 and H1N1 spread; CO2, MP3 and B2B too.",
        "A, B, C and D are options.",
        "Is it fair ... they ask?",
    ],
)
def test_acronyms_names_and_single_marks_are_no_shouting(added: str) -> None:
    assert reasons(shouting, edit_case(BEFORE, f"{BEFORE} {added}")) == []


def test_one_word_in_capitals_is_put_back_alone() -> None:
    case = edit_case(BEFORE, BEFORE.replace("limit", "LIMIT").replace("Opponents", "Critics"))
    (objection,) = shouting(case)
    edit = case.edits[objection.edit]
    assert objection.words is not None
    assert [case.after[slice(*edit.words[n].after)] for n in objection.words] == ["LIMIT"]


def test_a_name_that_loses_its_capital_gets_it_back() -> None:
    before = "Supporters say that schools in France have them. Opponents say that it is costly."
    after = before.replace("France", "france").replace("costly", "dear")
    assert reasons(shouting, edit_case(before, after)) == ['a name without its capital: "france"']
    assert reasons(shouting, edit_case(before, after).swapped) == []


def test_a_given_headline_may_be_said_as_it_is_and_list_items_may_begin_small() -> None:
    headline = "Uniforms Offer Poor Families More Freedom."
    assert len(reasons(shouting, edit_case(BEFORE, f"{BEFORE} {headline}"))) == 1
    assert reasons(shouting, edit_case(BEFORE, f"{BEFORE} {headline}", given=[headline])) == []
    assert reasons(shouting, edit_case(BEFORE, f"{BEFORE}\n- they save money")) == []


def test_capitals_and_marks_of_the_given_texts_are_no_shouting() -> None:
    added = "They must STOP now!"
    assert reasons(shouting, edit_case(BEFORE, f"{BEFORE} {added}", given=[added])) == []


_SIGNS = st.text(st.sampled_from("abA1 .!?-*_😀\n"), max_size=80)


@settings(max_examples=60, deadline=None)
@given(_SIGNS, _SIGNS)
def test_whatever_the_texts_hold_objections_point_at_changed_edits(before: str, after: str) -> None:
    reasons(shouting, edit_case(before, after))
