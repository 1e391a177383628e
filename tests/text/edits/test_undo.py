"""Undone edits: nothing undone is the text after, everything is the text before, and between them it reads well."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.text.edits.sentences import sentence_edits
from eirene.text.edits.undo import Rebuilt, undone
from eirene.text.edits.words import SentenceEdit
from tests.rows import each

from .texts import TEXTS

CHOICES = st.dictionaries(st.integers(-1, 12), st.none() | st.lists(st.integers(-1, 5), max_size=3).map(tuple))


def rebuilt(before: str, after: str, *undo: str) -> str:
    """The text with the edits undone whose old or new sentence begins with one of the words; `word/n` for word n."""
    edits = sentence_edits(before, after)
    chosen: dict[int, tuple[int, ...] | None] = {}
    for wanted in undo:
        start, _, word = wanted.partition("/")
        (n,) = (n for n, e in enumerate(edits) if e.kind != "kept" and begins(before, after, e, start))
        chosen[n] = (int(word),) if word else None
    return undone(before, after, edits, chosen).text


def begins(before: str, after: str, edit: SentenceEdit, start: str) -> bool:
    old, new = before[slice(*(edit.before or (0, 0)))], after[slice(*(edit.after or (0, 0)))]
    return old.startswith(start) or new.startswith(start)


@given(before=TEXTS, after=TEXTS)
def test_nothing_undone_is_the_text_after_and_everything_the_text_before(before: str, after: str) -> None:
    edits = sentence_edits(before, after)
    changed: dict[int, tuple[int, ...] | None] = {n: None for n, e in enumerate(edits) if e.kind != "kept"}
    assert undone(before, after, edits, {}).text == after
    assert not changed or undone(before, after, edits, changed).text == before


@settings(max_examples=300)
@given(before=TEXTS, after=TEXTS, undo=CHOICES)
def test_every_sentence_that_stays_stands_in_the_rebuilt_text_once(
    before: str, after: str, undo: dict[int, tuple[int, ...] | None]
) -> None:
    edits = sentence_edits(before, after)
    result = undone(before, after, edits, undo)
    assert_pieces_fit(result)
    came_from = [piece.edit for piece in result.pieces]
    assert len(set(came_from)) == len(came_from)
    for n, edit in enumerate(edits):
        whole = undo.get(n, ()) is None and edit.kind != "kept"
        stays = edit.kind != "added" if whole else edit.kind != "removed"
        assert (n in came_from) == stays
    for piece in result.pieces:
        edit, said = edits[piece.edit], result.text[piece.start : piece.end]
        if undo.get(piece.edit, ()) is None and edit.kind != "kept" and edit.before:
            assert said == before[slice(*edit.before)]
        elif edit.after and not undo.get(piece.edit) and result.text != before:
            assert said == after[slice(*edit.after)]


def assert_pieces_fit(result: Rebuilt) -> None:
    at = 0
    for piece in result.pieces:
        assert at <= piece.start < piece.end <= len(result.text)
        at = piece.end


A, B, C = "Zoos teach small children a lot.", "Cages drive animals mad.", "Breeding saves rare species."


@each(
    "before, after, undo, wanted",
    [
        (f"{A} {B}", f"{A} {C} {B}", ["Breeding"], f"{A} {B}"),
        (f"{A}\n\n{B}", f"{A} {C}\n\n{B} More.", ["Breeding"], f"{A}\n\n{B} More."),
        (f"{A} {B}", f"{A}\n\n{C}\n\n{B} More.", ["Breeding"], f"{A} {B} More."),
        (A, f"{A} {C} More.", ["Breeding"], f"{A} More."),
        (A, f"{C} {A} More.", ["Breeding"], f"{A} More."),
        (f"{A} {B} {C}", f"{A} Nobody knows that.", ["Cages"], f"{A} {B} Nobody knows that."),
        (f"{A} {B} {C}", "Nobody knows that.", ["Cages", "Breeding"], f"{B} {C} Nobody knows that."),
        (f"{A} {B} {C}", f"{C} {A} Nobody said {B}", ["Breeding"], f"{A} Nobody said {B} {C}"),
        (f"- {A}\n- {B}\n", f"- {A}\n- {C}\n- {B}\n- More.\n", ["Breeding"], f"- {A}\n- {B}\n- More.\n"),
        (f"- {A}\n- {B}\n- {C}", f"- {A} Oh no.\n- {C}", ["Cages"], f"- {A} Oh no.\n- {B}\n- {C}"),
        (f"1. {A}\n2. {B}", f"1. {A}\n2. {C}\n3. {B}\n4. More.", ["Breeding"], f"1. {A}\n2. {B}\n3. More."),
        (f"1. {A}\n2. {B}\n3. {C}", f"1. {A}\n2. {C}\n3. Oh.", ["Cages"], f"1. {A}\n2. {B}\n3. {C}\n4. Oh."),
        (f"{A} {B}", f"Points:\n\n- {A}\n- {C}\n- {B}", ["Breeding"], f"Points:\n\n- {A}\n- {B}"),
        (f"{A} {B}", f"- {C}\n- {A}\n- {B} More.", ["Breeding"], f"- {A}\n- {B} More."),
        (f"{A} {B}", f"- {C} {A}\n- {B} More.", ["Breeding"], f"- {A}\n- {B} More."),
        (f"{A}\r\n\r\n{B}", f"{A}\r\n\r\n{C}\r\n\r\n{B} Oh no.", ["Breeding"], f"{A}\r\n\r\n{B} Oh no."),
        ("動物很好。", "動物很好。人不好。天很大。", ["人"], "動物很好。天很大。"),
    ],
)  # fmt: skip
def test_what_is_left_keeps_its_layout(before: str, after: str, undo: list[str], wanted: str) -> None:
    assert rebuilt(before, after, *undo) == wanted


@each("before, after, undo, wanted", [
        ("Zoos may teach a child.", "Zoos may teach an old child, now.", "Zoos/0", "Zoos may teach a child, now."),
        ("Zoos do teach children.", "However, zoos do teach ill children.", "Zoos/0", "Zoos do teach ill children."),
        ("Zoos do teach children.", "Zoos, the bad, do teach ill children.", "Zoos/0", "Zoos do teach ill children."),
        ("Some of the zoos do teach.", "The zoos do not teach.", "Some/0", "Some of the zoos do not teach."),
        ("Zoos do not teach small men.", "Zoos do teach ill men.", "Zoos/0", "Zoos do not teach ill men."),
        ("He, as we know, taught and did.", "He taught and so did.", "He/0", "He, as we know, taught and so did."),
    ],)  # fmt: skip
def test_words_are_put_back_with_their_spaces(before: str, after: str, undo: str, wanted: str) -> None:
    assert rebuilt(before, after, undo) == wanted


def test_a_moved_sentence_goes_back_and_a_split_one_is_joined() -> None:
    assert rebuilt(f"{A} {B} {C}", f"{B} {C} {A} Oh no.", "Zoos") == f"{A} {B} {C} Oh no."
    whole = "Supporters say that zoos teach children a lot, and that breeding saves rare species."
    parts = "Supporters say that zoos teach children a lot. Breeding saves rare species. Oh no."
    assert rebuilt(whole, parts, "Supporters") == f"{whole} Oh no."
