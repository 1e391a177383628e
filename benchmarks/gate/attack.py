"""Attacks: each a function from a draft to a text that is clearly worse, with a test of whether the harm stands."""

from __future__ import annotations

from collections.abc import Callable
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


def gain_stands(draft: Draft, shown: str) -> bool:
    """Whether what the answer lacked is in the shown answer."""
    gain = draft.subject.gain
    return gain is not None and count(gain.core, shown) > count(gain.core, draft.subject.item.answer)
