"""A removal is undone where what is left leans on it, or is one too few of what was announced."""

from __future__ import annotations

import pytest

from eirene.gate.checks.dangling import dangling

from .cases import edit_case, reasons

REASONS = "There are two reasons for it. Wood was cheap. Stone was far away."


@pytest.mark.parametrize(
    ("gone", "rest", "says"),
    [
        ("In all, 90 ships were sold. ", "A third of them were new. The rest sank.", "A third of them"),
        ("Two sisters ran the inn. ", "They sold it in 1926.", "They sold it"),
        ("The city passed a law. ", "This law still applies.", "This law"),
    ],
)
def test_what_the_rest_leans_on_stays(gone: str, rest: str, says: str) -> None:
    (why,) = reasons(dangling, edit_case(gone + rest, rest))
    assert says in why


def test_a_part_needs_what_it_is_of_wherever_it_stands() -> None:
    before = "The yard is old. It built 90 ships. Half of them sank."
    assert len(reasons(dangling, edit_case(before, before.replace("It built 90 ships. ", "")))) == 1


def test_one_of_an_announced_number_stays() -> None:
    why = ["leaves fewer than the text announces"]
    assert reasons(dangling, edit_case(REASONS, REASONS.replace(" Stone was far away.", ""))) == why


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Goats sing there. The tower is old.", "The tower is old."),
        ("They are old. Goats sing there. They have roofs.", "They are old. They have roofs."),
        ("Two sisters ran the inn. They sold it.", "The sisters sold it."),
        ("Goats sing there. It is said that foxes do.", "It is said that foxes do."),
        (REASONS + " Goats sing there.", REASONS),
    ],
)
def test_other_removals_are_left_alone(before: str, after: str) -> None:
    assert reasons(dangling, edit_case(before, after)) == []
