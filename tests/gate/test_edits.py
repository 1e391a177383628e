"""Edits that a check objects to are undone by themselves, the rest stays; whatever comes, nothing raises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.registry import CHECKS, NamedCheck
from eirene.gate.edits import CheckedRewrite, Rewrite, check_edits
from eirene.models.encoder import load_encoder
from eirene.text.edits.words import SentenceEdit

NOTHING = Grounding("derived", ())
BEFORE = "Trams are quiet. Rails cost money."


def never(word: str, *, words: bool = False) -> NamedCheck:
    """A check that objects to edits that bring in a word; to that word alone where it can."""

    def find(case: EditCase) -> Iterator[Objection]:
        for n, edit in case.changed():
            if word in case.new(edit) and word not in case.old(edit):
                at = tuple(k for k, w in enumerate(edit.words) if word in case.after[slice(*w.after)])
                yield Objection(n, f"brings in {word}", at or None if words else None)

    return NamedCheck(f"no {word}", find, "always")


def keeps_all(case: EditCase) -> Iterator[Objection]:
    """Objects to every sentence that is gone."""
    return (Objection(n, "gone") for n, edit in case.changed() if edit.kind == "removed")


def of(written: str, *checks: NamedCheck, before: str = BEFORE) -> CheckedRewrite:
    return check_edits(Rewrite("Trams?", before, written, NOTHING), checks, None)


def test_without_objections_a_rewrite_stays_byte_for_byte() -> None:
    written = "Trams  are loud.\n\nRails cost money. \n"
    found = of(written, never("bombs"))
    assert found.text == written and not found.undone
    assert [(d.kind, d.old, d.new) for d in found.decisions] == [("reworded", "Trams are quiet.", "Trams  are loud.")]


def test_an_addition_is_dropped_and_the_others_stay() -> None:
    found = of("Trams are quiet. Buy our bombs. Rails cost money. Trams are clean.", never("bombs"))
    assert found.text == "Trams are quiet. Rails cost money. Trams are clean."
    assert [(d.new, d.taken, d.check) for d in found.decisions] == [
        ("Buy our bombs.", False, "no bombs"),
        ("Trams are clean.", True, None),
    ]


def test_edits_that_the_refiner_tells_are_judged_as_they_are() -> None:
    """Told as one sentence out and another one in, and not as a sentence reworded."""
    told = (
        SentenceEdit("removed", (0, 16), None),
        SentenceEdit("added", None, (0, 15)),
        SentenceEdit("kept", (17, 34), (16, 33)),
    )
    rewrite = Rewrite("Trams?", BEFORE, "Trams are loud. Rails cost money.", NOTHING)
    found = [check_edits(replace(rewrite, edits=edits), (), None) for edits in (None, told)]
    assert [[d.kind for d in f.decisions] for f in found] == [["reworded"], ["removed", "added"]]
    assert {f.text for f in found} == {rewrite.written}


def test_words_are_put_back_and_the_rest_of_the_sentence_stays() -> None:
    before = "Trams are quiet and they carry many people through the town every day."
    found = of(
        "Trams are not quiet and they carry most people through the town every day.",
        never("not", words=True),
        before=before,
    )
    assert found.text == "Trams are quiet and they carry most people through the town every day."
    assert [(d.taken, d.new.strip()) for d in found.decisions][1:] == [(False, "not")]


def test_a_sentence_of_which_little_is_left_is_restored_whole() -> None:
    checks = never("not", words=True), NamedCheck("loss", keeps_all)
    assert of("Trams can be not so good.", *checks, before="Trams are quiet.").text == "Trams are quiet."


def test_a_removed_sentence_is_put_back_where_it_stood() -> None:
    found = of("Rails cost money. They carry many people.", NamedCheck("loss", keeps_all))
    assert found.text == "Trams are quiet. Rails cost money. They carry many people."


def test_what_is_left_is_checked_again() -> None:
    """The second check objects only once the first has had something taken out."""

    def second(case: EditCase) -> Iterator[Objection]:
        if "bombs" not in case.after:
            yield from (Objection(n, "alone now") for n, e in case.changed() if "clean" in case.new(e))

    found = of(
        "Trams are quiet. Buy our bombs. Rails cost money. Trams are clean.",
        never("bombs"),
        NamedCheck("second", second),
    )
    assert found.text == BEFORE
    assert [d.check for d in found.undone] == ["no bombs", "second"]


def test_a_check_that_is_never_content_leaves_the_text_before() -> None:
    def moody(case: EditCase) -> Iterator[Objection]:
        return (Objection(n, "no") for n, _ in case.changed())

    assert of("All is new here. And here.", NamedCheck("moody", moody)).text == BEFORE


def test_a_fault_that_went_is_mended() -> None:
    found = of(
        "Trams are quiet. Rails cost money.", never("bombs"), before="Trams are quiet. Buy bombs. Rails cost money."
    )
    assert found.mended == ('"Buy bombs." taken out',)


def test_offsets_are_those_of_what_was_written() -> None:
    """Hidden characters are taken out first; the offsets still fit the text with them."""
    written = "Tr\u200bams are quiet. \u202eRails cost money. Buy our bombs."
    found = of(written, next(c for c in CHECKS if c.name == "security"), never("bombs"))
    assert found.text == BEFORE
    bombs = found.decisions[-1]
    assert bombs.after is not None and written[slice(*bombs.after)] == "Buy our bombs."
    hidden = [written[slice(*d.after)] for d in found.decisions if d.kind == "characters" and d.after]
    assert hidden == ["\u200b", "\u202e"]


SIDES = Grounding(
    "perspectives",
    (
        ArgumentGroup("pro", ("Homework causes stress.", "Homework takes away time for play.")),
        ArgumentGroup("con", ("Homework teaches discipline.",)),
    ),
)
DRAFT = "Supporters say that homework causes stress. Opponents argue that it teaches discipline."
GAIN = " Supporters add that homework takes away time for play."


def test_the_shipped_checks_undo_a_harm_and_keep_the_argument() -> None:
    for written in [
        DRAFT.replace("argue that it", "argue that it does not") + GAIN,
        DRAFT + GAIN + " See [here](https://example.com).",
        DRAFT + GAIN + " Only fools would think otherwise.",
        DRAFT.replace("discipline", "discipline to 4,200 pupils") + GAIN,
        DRAFT.upper() + GAIN,
        DRAFT.replace("Opponents argue", "Supporters argue") + GAIN,
        DRAFT.split(". ", maxsplit=1)[0] + "." + GAIN,
        DRAFT + GAIN + " Homework causes stress, supporters say.",
    ]:
        found = check_edits(Rewrite("Should homework be banned?", DRAFT, written, SIDES), CHECKS, load_encoder())
        assert found.text == DRAFT + GAIN
        assert found.undone


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_whatever_comes_nothing_raises(before: str, written: str) -> None:
    found = check_edits(Rewrite("Trams?", before, written, NOTHING), CHECKS, None)
    for decision in found.decisions:
        if decision.after is not None:
            assert 0 <= decision.after[0] <= decision.after[1] <= len(written)
