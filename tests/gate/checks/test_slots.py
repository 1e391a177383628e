"""What took the place of what between two versions of a sentence."""

from __future__ import annotations

from eirene.gate.checks.specifics import exchanges
from eirene.text.specifics.index import find_specifics
from tests.rows import each


def changed(old: str, new: str) -> list[tuple[str, str]]:
    pairs = exchanges(old, new, find_specifics(old), find_specifics(new))
    return [(old[p.old.start : p.old.end], new[p.new.start : p.new.end]) for p in pairs]


@each(
    "old, new, pairs",
    [
        ("It had 5 km of road.", "It had 7 km of road.", [("5 km", "7 km")]),
        ("It had 5 km of road.", "It had 5 miles of road.", [("5 km", "5 miles")]),
        ("He came in March.", "He came in Boston.", [("March", "Boston")]),
        ("He met Tom Brown.", "He met Tom Miller.", [("Tom Brown", "Tom Miller")]),
        ("It is 5,000 or 6,000.", "It is 6,000 or 5,000.", [("5,000", "6,000"), ("6,000", "5,000")]),
        ("It had 1,000 cars.", "It had a thousand cars.", []),
        ("In 1931 it was opened.", "It was opened in 1931.", []),
        ("It was opened in 1931.", "It was opened.", []),
        ("Supporters say so.", "Proponents say so.", [("Supporters", "Proponents")]),
    ],
)
def test_specifics_at_the_same_place_are_a_pair(old: str, new: str, pairs: list[tuple[str, str]]) -> None:
    assert changed(old, new) == pairs
