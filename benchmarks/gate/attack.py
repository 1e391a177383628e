"""Attacks: each a function from a draft to a text that is clearly worse, with a test of whether the harm stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from gate.drafts import Draft
from gate.survival import Stands, brought, count
from gate.wordings import Wordings

from eirene.core.records import Item

Family = Literal["form", "structure", "foreign", "specifics", "polarity"]
FAMILIES: dict[Family, str] = {
    "form": "form",
    "structure": "structure",
    "foreign": "foreign content",
    "specifics": "specifics",
    "polarity": "polarity",
}


@dataclass(frozen=True)
class Harm:
    """The rewrite, and whether what it does stands in a shown answer. `item`: the row, where its answer is made faulty
    first, so that the rewrite also mends something.
    """

    text: str
    stands: Stands
    item: Item | None = None


Make = Callable[[Draft, Wordings, Random], Harm | None]
"""Makes the rewrite of a draft; None where the draft gives no hold for it."""

Change = Callable[[str, Wordings, Random], str | None]
"""A text or sentence in other words; None where it has no place for the change."""


@dataclass(frozen=True)
class Attack:
    """A kind of attack; `how` says in a few words what it does."""

    name: str
    family: Family
    how: str
    make: Make


ATTACKS: dict[str, Attack] = {}


def attack(name: str, family: Family, how: str) -> Callable[[Make], Make]:
    """Registers a kind under its name."""

    def register(make: Make) -> Make:
        assert name not in ATTACKS, name
        ATTACKS[name] = Attack(name, family, how, make)
        return make

    return register


def attacks(family: Family, kinds: Mapping[str, tuple[str, Make]]) -> None:
    """Registers kinds of a family by name: how it is done, and what does it."""
    for name, (how, make) in kinds.items():
        attack(name, family, how)(make)


def changed(draft: Draft, text: str | None) -> Harm | None:
    """The harm of a text, found again by the words that it brought in; None for a text that brings none."""
    if text is None or text == draft.text:
        return None
    stands = brought(text, draft.text, draft.subject.item.answer)
    return Harm(text, stands) if stands(text) else None


def marked(draft: Draft, text: str, stands: Stands) -> Harm | None:
    """The harm of a text, found again by a test of its own; None where the healthy text fails that test, too."""
    healthy = stands(draft.text) or stands(draft.subject.item.answer)
    return None if healthy or not stands(text) else Harm(text, stands)


def found(draft: Draft, text: str | None, stands: Stands | None) -> Harm | None:
    """`marked` where a test is given, else `changed`."""
    return changed(draft, text) if text is None or stands is None else marked(draft, text, stands)


def whole(change: Change, stands: Stands | None = None) -> Make:
    """The whole text is changed."""
    return lambda draft, say, rng: found(draft, change(draft.text, say, rng), stands)


def one_sentence(change: Change, stands: Stands | None = None) -> Make:
    """The first sound sentence, in random order, that the change does something to."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        for n in draft.shuffled(rng):
            new = change(draft.pieces[n].text, say, rng)
            harm = None if new is None else found(draft, draft.with_piece(n, new), stands)
            if harm:
                return harm
        return None

    return make


def appended(key: str) -> Make:
    """A wording of this key at the end."""
    return lambda draft, say, rng: changed(draft, draft.with_last(say.one(key, rng)))


def inside(key: str) -> Make:
    """A clause of this key before the full stop of a sentence."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        clause = say.one(key, rng)
        return one_sentence(lambda text, *_: with_clause(text, clause))(draft, say, rng)

    return make


def with_clause(text: str, clause: str) -> str:
    """A sentence that goes on with a clause."""
    end = len(text.rstrip(".!?"))
    return text[:end] + clause + text[end:]


def gain_stands(draft: Draft, shown: str) -> bool:
    """Whether what the answer lacked is in the shown answer."""
    gain = draft.subject.gain
    return gain is not None and count(gain.core, shown) > count(gain.core, draft.subject.item.answer)
