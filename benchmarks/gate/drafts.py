"""Drafts: an answer cut into pieces whose side and content are known, with or without what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Literal

from eirene.core.records import Item

Pool = Literal["clean", "foreign", "whole", "qa", "user"]
"""Where a subject is from: a row of `mixed_*` that only lacks something, that also holds something foreign, that lacks
nothing; a question with passages; the user's own."""


@dataclass(frozen=True)
class Piece:
    """A sentence, the white space after it, its side and its parts' wordings.

    `sound`: it says what was given (or, of a user's row and of a row with passages, is simply a sentence), so that a
    change of what it says is harm. `once`: nothing else says the same, so that its loss is harm, too. `arguments`: the
    ids of what it says, if known.
    """

    text: str
    gap: str = " "
    side: str | None = None
    parts: tuple[str, ...] = ()
    arguments: tuple[str | None, ...] = ()
    sound: bool = False
    once: bool = False
    is_gain: bool = False


@dataclass(frozen=True)
class Gain:
    """What the answer lacks: the sentence that adds it, the words by which it is found again, where it goes.

    `after`: the index of the piece that it follows.
    """

    sentence: str
    core: str
    after: int
    side: str | None = None


@dataclass(frozen=True)
class Subject:
    """A row with everything that attacks need.

    `stray`: sentences that are none of its arguments, by kind of origin; `rewritten`: the whole answer with the gain,
    where that is more than one sentence more.
    """

    id: str
    pool: Pool
    item: Item
    pieces: tuple[Piece, ...]
    gain: Gain | None = None
    given: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    stray: tuple[tuple[str, str], ...] = ()
    rewritten: tuple[Piece, ...] | None = None

    def draft(self, *, with_gain: bool) -> Draft:
        """The answer as it is, or with what it lacks."""
        pieces = self.pieces
        if with_gain and self.rewritten is not None:
            pieces = self.rewritten
        elif with_gain and self.gain is not None:
            pieces = inserted(pieces, self.gain.after, Piece(self.gain.sentence, side=self.gain.side, is_gain=True))
        return Draft(self, pieces)


@dataclass(frozen=True)
class Draft:
    """The text that is attacked, in pieces."""

    subject: Subject
    pieces: tuple[Piece, ...]

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return joined(self.pieces)

    @cached_property
    def has_gain(self) -> bool:
        """Whether it holds what the answer lacked."""
        return any(piece.is_gain for piece in self.pieces)

    @cached_property
    def sound(self) -> list[int]:
        """The pieces of which a change is harm, never the gain."""
        return [n for n, piece in enumerate(self.pieces) if piece.sound]

    @cached_property
    def once(self) -> list[int]:
        """The pieces of which the loss is harm."""
        return [n for n, piece in enumerate(self.pieces) if piece.sound and piece.once]

    def shuffled(self, rng: Random) -> list[int]:
        """The sound pieces in random order: the first that an attack can be made of is taken."""
        return rng.sample(self.sound, len(self.sound))

    def of_side(self, side: str) -> list[int]:
        """The sound pieces of one side."""
        return [n for n in self.sound if self.pieces[n].side == side]

    def without(self, numbers: Iterable[int]) -> str:
        """The text without some pieces."""
        left_out = set(numbers)
        return joined([p for n, p in enumerate(self.pieces) if n not in left_out])

    def with_piece(self, number: int, text: str) -> str:
        """The text with one piece in other words."""
        return joined([replace(p, text=text) if n == number else p for n, p in enumerate(self.pieces)])

    def with_after(self, number: int, sentence: str) -> str:
        """The text with one more sentence after a piece (-1: before all)."""
        return joined(inserted(self.pieces, number, Piece(sentence)))

    def with_last(self, sentence: str) -> str:
        """The text with one more sentence at its end."""
        return self.with_after(len(self.pieces) - 1, sentence)


def joined(pieces: Sequence[Piece]) -> str:
    """The pieces as one text."""
    return "".join(p.text + p.gap for p in pieces).strip()


def inserted(pieces: Sequence[Piece], after: int, piece: Piece) -> tuple[Piece, ...]:
    """The pieces with one more after the one of this index; no sentence sticks to the next."""
    before = [*pieces[: after + 1]]
    if before and not before[-1].gap:
        before[-1] = replace(before[-1], gap=" ")
    return (*before, piece, *pieces[after + 1 :])


def lowered(text: str) -> str:
    """A sentence to follow "that": its first letter small, unless the word is a name, an acronym or "I"."""
    first = text.split(" ", 1)[0]
    stays = first in ("I", "I'm") or sum(map(str.isupper, first)) > 1 or first.rstrip(".,'s") in _PROPER
    return text if stays else text[:1].lower() + text[1:]


def raised(text: str) -> str:
    """A clause as a sentence: its first letter capital."""
    return text[:1].upper() + text[1:]


_PROPER = frozenset((
    "America", "American", "Americans", "Britain", "British", "China", "Chinese", "Christian", "Christianity",
    "English", "Europe", "European", "God", "Google", "Facebook", "Muslim", "Muslims", "Islam", "Israel", "Jewish",
    "African", "Africa", "Russia", "Turkey", "Olympic", "Federal", "Iraq", "Iran", "Scotland", "India", "Western",
))  # fmt: skip


def as_clause(text: str) -> str:
    """A statement without its full stop, to stand inside a sentence."""
    return text.strip().rstrip(".!").strip()
