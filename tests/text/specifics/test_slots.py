"""What took the place of what between two versions of a sentence, and which value a place is known with."""

from __future__ import annotations

import pytest

from eirene.text.specifics.index import find_specifics
from eirene.text.specifics.slots import Support, exchanges

GIVEN = ("The bridge was opened in 1931 by Tom Brown. It was closed in 1980.", "Sarah Miller wrote 12 books.")


def changed(old: str, new: str) -> list[tuple[str, str]]:
    pairs = exchanges(old, new, find_specifics(old), find_specifics(new))
    return [(old[p.old.start : p.old.end], new[p.new.start : p.new.end]) for p in pairs]


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
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


@pytest.mark.parametrize(
    ("sentence", "right", "wrong"),
    [
        ("The bridge was opened in X.", "1931", "1980"),
        ("The bridge was closed in X.", "1980", "1931"),
        ("The bridge was opened by X.", "Tom Brown", "Sarah Miller"),
        ("She wrote X books.", "12", "1931"),
    ],
)
def test_a_place_is_known_with_the_value_that_stands_by_its_words(sentence: str, right: str, wrong: str) -> None:
    support = Support(GIVEN)
    at = sentence.index("X")
    scores = []
    for value in (right, wrong):
        text = sentence.replace("X", value)
        [mention] = [m for m in find_specifics(text) if m.start == at]
        scores.append(support.of(mention, text, (at, mention.end), [(at, mention.end)]))
    assert scores[0] > scores[1] + 0.1


def test_a_value_that_no_text_has_is_not_supported() -> None:
    [mention] = find_specifics("in 1999")
    assert Support(GIVEN).of(mention, "in 1999", (3, 7), []) == 0.0
    assert Support(()).of(mention, "in 1999", (3, 7), []) == 0.0
