"""Lists and lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.refiners.embedded.layout import Layout, renumbered


def test_the_next_marker(subtests: pytest.Subtests) -> None:
    for marker, after in [("1.", "2."), ("9)", "10)"), ("(3)", "(4)"), ("a)", "b)"), ("-", "-"), ("•", "•")]:
        with subtests.test(marker=marker, after=after):
            assert renumbered(marker, 1) == after


def test_an_item_holds_its_indented_lines() -> None:
    text = "- one\n  goes on\n  - inner\n- two\n"
    item = Layout(text).item_at(text.index("goes"))
    assert item is not None
    assert (item.first, item.last, item.lead) == (0, 2, "- ")


def test_prose_is_no_item() -> None:
    assert Layout("A - b is no list.\nNor is 1. this").item_at(5) is None


def test_a_list_goes_on_as_long_as_its_numbers_do() -> None:
    text = "1. a\n2. b\n\n3. c\n7. d\n"
    layout = Layout(text)
    found, item = [], layout.item_at(0)
    while item is not None:
        found.append(item.marker)
        item = layout.item_after(item)
    assert found == ["1.", "2.", "3."]


@given(st.text(), st.integers(0, 50))
def test_any_text_has_lines(text: str, at: int) -> None:
    layout = Layout(text)
    offset = min(at, len(text))
    line = layout.line_at(offset)
    assert layout.starts[line] <= offset <= layout.line_end(line)
    layout.item_at(offset)
    assert layout.newline(line)
