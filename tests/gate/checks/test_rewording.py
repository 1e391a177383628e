"""What nobody asked to be changed in a sentence that otherwise stays is objected to; what was asked for is not."""

from __future__ import annotations

import pytest

from eirene.gate.checks.base import Asked
from eirene.gate.checks.rewording import rewording

from .cases import edit_case, reasons

OLD = "Uniforms make all the pupils of a school more equal in class and cost 40 euros for a year if they last."


@pytest.mark.parametrize(
    ("new", "says"),
    [
        (OLD.replace("pupils", "pulpis"), "exchanges letters"),
        (OLD.replace(".", "?"), "a question"),
        (OLD.removesuffix("."), "breaks off"),
        (OLD.replace(" if they last", ""), "leaves out"),
        (OLD.replace("euros", "cents"), "counts something else"),
    ],
)
def test_unasked_changes_are_objected_to(new: str, says: str) -> None:
    found = reasons(rewording, edit_case(OLD, new))
    assert len(found) == 1 and says in found[0]


@pytest.mark.parametrize("new", [OLD, OLD.replace("equal", "alike"), OLD + " They are warm.", OLD.replace("40", "50")])
def test_other_changes_are_left_to_other_checks(new: str) -> None:
    assert reasons(rewording, edit_case(OLD, new)) == []


def test_what_was_asked_for_stays() -> None:
    asked = [Asked(0, len(OLD), 'It is 40 "cents", not euros.')]
    assert reasons(rewording, edit_case(OLD, OLD.replace("euros", "cents"), asked=asked)) == []


def test_a_unit_that_the_given_text_has_stays() -> None:
    case = edit_case(OLD, OLD.replace("euros", "cents"), given=["They cost 40 cents."])
    assert reasons(rewording, case) == []
