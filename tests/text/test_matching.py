"""The matcher finds what Python's own finds, and stops where that would not."""

from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from eirene.text.matching import BoundedMatcher

WORDS = st.lists(st.sampled_from(["a", "b", "c", ".", "the"]), max_size=60)


@given(WORDS, WORDS)
def test_it_finds_what_pythons_own_finds(a: list[str], b: list[str]) -> None:
    theirs = SequenceMatcher(None, a, b, autojunk=False)
    ours = BoundedMatcher(a, b)
    assert ours.get_opcodes() == theirs.get_opcodes()
    assert ours.ratio() == theirs.ratio()


def test_texts_that_repeat_one_word_come_to_an_end() -> None:
    """Runs may be missed; what is told is true, and covers both."""
    a = [word for n in range(6_000) for word in (f"x{n}", ".")]
    b = [word for n in range(6_000) for word in (f"y{n}", ".")]
    codes = BoundedMatcher(a, b).get_opcodes()
    assert all(a[i:i_end] == b[j:j_end] for op, i, i_end, j, j_end in codes if op == "equal")
    assert (codes[0][1], codes[0][3], codes[-1][2], codes[-1][4]) == (0, 0, len(a), len(b))
