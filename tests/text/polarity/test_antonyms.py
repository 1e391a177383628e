"""Opposites by the table, and by prefixes and suffixes."""

from eirene.text.polarity.antonyms import are_opposites
from tests.rows import each


@each("one, other", [("increases", "decreasing"), ("won", "lost"), ("supporters", "opponents"), ("fair", "unfair"),
     ("useful", "useless"), ("legal", "illegal"), ("allowed", "forbidden")],)  # fmt: skip
def test_opposites_are_found_in_either_order(one: str, other: str) -> None:
    assert are_opposites(one, other)
    assert are_opposites(other, one)


@each("one, other", [("good", "good"), ("form", "inform"), ("side", "inside"), ("tax", "law")])
def test_other_words_are_no_opposites(one: str, other: str) -> None:
    assert not are_opposites(one, other)
