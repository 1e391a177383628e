"""Changed words: one change is one edit, two are two."""

from __future__ import annotations

from hypothesis import given

from eirene.text.edits.words import word_edits, word_tokens
from tests.rows import each

from .texts import TEXTS


def changes(before: str, after: str) -> list[tuple[str, str]]:
    edits = word_edits(before, after, (0, len(before)), (0, len(after)))
    return [(before[slice(*e.before)], after[slice(*e.after)]) for e in edits]


@each("before, after, wanted", [
        ("I like the red bus here.", "I like the blue bus here.", [("red", "blue")]),
        ("Trains come.", "Trains, who are late, come.", [("", ", who are late,")]),
        ("The bus and the tram go.", "The old bus and the new tram go.", [("", "old"), ("", "new")]),
        ("It rose by 1,000.5 feet.", "It rose by 2,000.5 feet.", [("1,000.5", "2,000.5")]),
        ("They don't go.", "They do go.", [("don't", "do")]),
        ("They say that it may.", "It is proven that it does.", [("They say", "It is proven"), ("may", "does")]),
        ("the end of war now", "a start to peace now", [("the end of war", "a start to peace")]),
        ("the end of war now", "the start of peace now", [("end of war", "start of peace")]),
        ("We eat cafe\u0301s.", "We eat cafe\u0300s.", [("cafe\u0301s", "cafe\u0300s")]),
        ("We eat.", "We\u202e eat.", [("", "\u202e")]),
        ("動物很好。", "動物不好。", [("很", "不")]),
    ],)  # fmt: skip
def test_a_change_is_one_edit(before: str, after: str, wanted: list[tuple[str, str]]) -> None:
    assert changes(before, after) == wanted


@given(before=TEXTS, after=TEXTS)
def test_the_edits_lie_in_order_and_all_else_has_the_same_words(before: str, after: str) -> None:
    edits = word_edits(before, after, (0, len(before)), (0, len(after)))
    rests = []
    for text, spans in ((before, [e.before for e in edits]), (after, [e.after for e in edits])):
        at, rest = 0, []
        for start, end in spans:
            assert at <= start <= end <= len(text)
            rest.append(word_tokens(text[at:start]))
            at = end
        rests.append([*rest, word_tokens(text[at:])])
    assert rests[0] == rests[1]


def test_a_very_long_sentence_is_one_change() -> None:
    before = "word " * 3_000
    assert len(changes(before, before + "more")) == 1
