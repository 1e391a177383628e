"""Replacements at offsets: what they leave alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.text.edits.words import Edit, apply_edits, compatible


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(st.text(max_size=60))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    return text, compatible(Edit(a, b, draw(st.text(max_size=5))) for a, b in pairs)


@given(edited())
def test_everything_outside_the_edits_stays(case: tuple[str, list[Edit]]) -> None:
    """The text between two edits stands in the result in order."""
    text, edits = case
    result, at, found = apply_edits(text, edits), 0, 0
    for edit in edits:
        piece = text[at : edit.start]
        assert result.startswith(piece + edit.new, found)
        found, at = found + len(piece) + len(edit.new), edit.end
    assert result[found:] == text[at:]


def test_no_edit_leaves_the_text() -> None:
    assert apply_edits("as it was", []) == "as it was"


def test_an_insertion_stands_before_a_replacement_at_its_place() -> None:
    assert apply_edits("abc", [Edit(1, 2, "X"), Edit(1, 1, "+")]) == "a+Xc"


def test_overlapping_edits_are_an_error_and_the_later_one_is_left_out_by_compatible() -> None:
    edits = [Edit(0, 3), Edit(2, 4)]
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcdef", edits)
    assert compatible(edits) == [Edit(0, 3)]


def test_an_edit_outside_the_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="outside"):
        apply_edits("abc", [Edit(2, 9)])
