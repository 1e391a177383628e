"""Sentence edits: what becomes of each sentence."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from eirene.text.edits.pieces import piece_spans, spaced
from eirene.text.edits.sentences import sentence_edits
from eirene.text.form import is_form
from tests.rows import each

from .texts import TEXTS

A = "Zoos teach small children a lot about animals."
B = "Cages drive many of them mad."
C = "Breeding saves rare species in the end."


def kinds(before: str, after: str) -> list[str]:
    return [edit.kind for edit in sentence_edits(before, after)]


@given(before=TEXTS, after=TEXTS)
def test_every_sentence_is_in_exactly_one_edit(before: str, after: str) -> None:
    edits = sentence_edits(before, after)
    for text, spans in (
        (before, [e.before for e in edits if e.before]),
        (after, [e.after for e in edits if e.after]),
    ):
        ordered = sorted(spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(ordered))
        assert all(any(a <= s and e <= b for a, b in ordered) for s, e in piece_spans(text))
        assert {a for a, _ in ordered} <= {s for s, _ in piece_spans(text)}
        assert {b for _, b in ordered} <= {e for _, e in piece_spans(text)}


@given(before=TEXTS, after=TEXTS)
def test_the_kinds_say_what_is_there(before: str, after: str) -> None:
    for edit in sentence_edits(before, after):
        assert (edit.before is None) == (edit.kind == "added")
        assert (edit.after is None) == (edit.kind == "removed")
        if edit.before and edit.after:
            was, now = before[slice(*edit.before)], after[slice(*edit.after)]
            assert (spaced(was) == spaced(now)) == (not edit.words)
            same = was == now or (spaced(was) == spaced(now) and not is_form(was))  # in code white space counts
            assert edit.kind in (("kept", "moved") if same else ("reworded", "moved"))


@given(text=TEXTS)
def test_nothing_changes_between_a_text_and_itself(text: str) -> None:
    assert set(kinds(text, text)) <= {"kept"}


@each(
    "before, after, wanted",
    [
        (f"{A} {B}", f"{A} {B} {C}", ["kept", "kept", "added"]),
        (f"{A} {B} {C}", f"{A} {C}", ["kept", "removed", "kept"]),
        (f"{A} {B} {C}", f"{B} {C} {A}", ["kept", "kept", "moved"]),
        (f"{A} {B}", f"{A} {B} {A} {B}", ["kept", "kept", "added", "added"]),
        (f"{A} {B}", f"{A} {A} {B}", ["kept", "added", "kept"]),
        (f"{A} {A} {B}", f"{A} {B}", ["kept", "removed", "kept"]),
        (f"{A} {B}", f"{A} {C} {A} {B}", ["kept", "added", "added", "kept"]),
        (f"{A} {B}", f"{A.upper()} {B}", ["reworded", "kept"]),
        (f"{A} {B}", "o\u200b".join(f"{A} {B}".split("o")), ["reworded", "reworded"]),
        (f"{A}\n{B}", f"{A}   {B}", ["kept", "kept"]),
        (f"- {A}\n- {B}", f"1. {A}\n2. {C}\n3. {B}", ["kept", "added", "kept"]),
        (f"{A} {B}", f"{A.replace('small', 'young')} {B}", ["reworded", "kept"]),
        (A, C, ["removed", "added"]),
    ],
)
def test_each_sentence_is_named_by_what_became_of_it(before: str, after: str, wanted: list[str]) -> None:
    assert kinds(before, after) == wanted


def test_a_sentence_that_moved_and_was_reworded_has_its_changed_words() -> None:
    before, after = f"{A} {B} {C}", f"{B} {C} {A.replace('small', 'young')}"
    edit = sentence_edits(before, after)[-1]
    assert edit.kind == "moved"
    assert [before[slice(*w.before)] for w in edit.words] == ["small"]


def test_one_sentence_split_in_two_is_one_edit_and_so_are_two_that_are_joined() -> None:
    whole = "Supporters say that zoos teach children a lot, and that breeding saves rare species."
    parts = "Supporters say that zoos teach children a lot. Breeding saves rare species."
    (split,) = sentence_edits(whole, parts)
    (joined,) = sentence_edits(parts, whole)
    assert (split.kind, split.before, split.after) == ("reworded", (0, len(whole)), (0, len(parts)))
    assert (joined.kind, joined.before, joined.after) == ("reworded", (0, len(parts)), (0, len(whole)))


def test_the_words_of_a_frame_do_not_make_two_sentences_one() -> None:
    """What every sentence says ("Supporters say that zoos") tells nothing about which is which."""
    said = ["teach children.", "save rare species.", "fund research."]
    before = " ".join(f"Supporters say that zoos {what}" for what in [*said, "poison rivers."])
    after = " ".join(f"Supporters say that zoos {what}" for what in [*said, "bring tourists."])
    assert kinds(before, after)[-2:] == ["removed", "added"]


def test_very_long_texts_that_differ_throughout_are_replaced_whole() -> None:
    before = " ".join(f"Sentence number {n} is old." for n in range(2_000))
    assert set(kinds(before, before.replace("old", "quite new"))) == {"removed", "added"}
