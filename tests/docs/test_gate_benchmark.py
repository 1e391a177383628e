"""The benchmark of the gate: a harm is found again in the shown answer by its own words, and by nothing else."""

from __future__ import annotations

import sys
from random import Random

import pytest

from eirene.core.records import Item

from .pages import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))  # its scripts import each other as plain modules

from gate.attack import changed, gain_stands
from gate.drafts import Gain, Piece, Subject
from gate.kinds import ATTACKS
from gate.survival import brought, count, lost, shouts
from gate.wordings import DEV, Wordings, load_wordings

PRO = Piece("Supporters say that trams are quiet and can carry many people.", side="pro", sound=True, once=True,
            parts=("trams are quiet and can carry many people",), arguments=("p",))  # fmt: skip
CON = Piece("Opponents argue that the tracks take 7 years to build in most.", side="con", sound=True, once=True,
            parts=("the tracks take 7 years to build in most",), arguments=("c",))  # fmt: skip
GAIN = Gain("They also say that shops gain customers.", "shops gain customers", 0, "pro")
SUBJECT = Subject(
    "trams", "clean", Item(question="Trams?", answer=f"{PRO.text} {CON.text}"), (PRO, CON), GAIN,
    ("Trams are quiet", "Shops gain customers", "Tracks take years"), ("Shops gain customers",),
    (("other", "cats sleep for most of the day"), ("same", "drivers of trams earn too little")),
)  # fmt: skip


def test_a_run_of_words_that_was_brought_in_is_found_and_an_undone_one_is_not() -> None:
    stands = brought("Trams are not quiet at all.", "Trams are quiet at all.")
    assert stands("So trams are not quiet.") and not stands("Trams are quiet at all.")


def test_a_second_copy_stands_where_one_of_its_sentences_does() -> None:
    once = "One thing is so. Another is not so."
    assert brought(f"{once} {once}", once)(f"{once} Another is not so.") and not brought(f"{once} {once}", once)(once)


def test_words_are_counted_without_case_and_marks() -> None:
    assert count("the cat", "The cat, the CAT; the cats") == 2
    assert count("", "anything") == 0


def test_what_was_lost_is_lost_until_all_of_it_is_back() -> None:
    assert lost(["a b", "c d"])("a b") and not lost(["a b", "c d"])("C d. A b!")


def test_shouting_is_a_sentence_in_capitals() -> None:
    assert shouts("ALL OF THIS IS LOUD.") and not shouts("The WHO and the UN met.")


def test_every_kind_does_harm_that_the_healthy_text_has_not() -> None:
    """Most kinds find a hold."""
    wrong, say = [], load_wordings()
    for with_gain in (False, True):
        draft = SUBJECT.draft(with_gain=with_gain)
        made = {kind: attack.make(draft, say, Random(0)) for kind, attack in ATTACKS.items()}
        for kind, harm in made.items():
            if harm and (not harm.stands(harm.text) or harm.stands(draft.text) or harm.stands(SUBJECT.item.answer)):
                wrong.append((kind, with_gain))
    assert wrong == []
    assert sum(harm is not None for harm in made.values()) > 0.8 * len(ATTACKS)


def test_the_gain_stands_where_its_words_do() -> None:
    draft = SUBJECT.draft(with_gain=True)
    assert gain_stands(draft, draft.text) and not gain_stands(draft, SUBJECT.item.answer)


def test_a_text_that_changes_nothing_is_no_harm() -> None:
    draft = SUBJECT.draft(with_gain=False)
    assert changed(draft, draft.text) is None and changed(draft, draft.text + "!") is None


def test_wordings_with_a_missing_key_are_refused() -> None:
    with pytest.raises(ValueError, match=r"missing .*'form\.torn'"):
        Wordings({})
    assert load_wordings(DEV).one("torn", Random(0))
