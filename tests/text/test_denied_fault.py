"""A reason that says nothing but that there is no fault denies it; one that says more is a reason."""

from __future__ import annotations

import pytest

from eirene.text.refusals import denies_fault


@pytest.mark.parametrize(
    "reason",
    [
        "No error.",
        "There is no error here.",
        "This is not an error",
        "It's fine.",
        "The claim is fully supported by the passages.",
        "**The statement is correct.**",
        "The sentence is consistent with the given texts",
        "Nothing is wrong.",
        "This is supported by [2].",
    ],
)
def test_a_reason_that_denies_its_fault_is_told(reason: str) -> None:
    assert denies_fault(reason)


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "The statement is correct, but the year is not.",
        "No error rate is given.",
        "No source.",
        "none",
        "The claim is supported by passage 2 only in part.",
        "This is true of trams, not of buses.",
        "The statement is correct" + " and so on" * 30,
        "It is not supported by the passages.",
        "None of the passages says so.",
        "Nothing is said of trams.",
    ],
)
def test_any_other_reason_stands(reason: str) -> None:
    assert not denies_fault(reason)
