"""Rightful rewrites: what is better, or as good, and so is to be taken; each with tests of what should then stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from gate.attack import Harm, gain_stands
from gate.attacks_foreign import inside
from gate.drafts import Draft, Piece, Pool, Subject, joined, lowered, raised
from gate.kinds import ATTACKS
from gate.rows import LEADS, sentence_pieces
from gate.survival import Stands, count, holds
from gate.wordings import Wordings

from eirene.core.records import Item


@dataclass(frozen=True)
class Right:
    """A row (its answer may have been made faulty), a better rewrite, and what stands where it is taken, by name.

    `gain`: what was added; `mended`: a fault is gone; `wording`: the new wording or order of what was said stands.
    """

    item: Item
    rewrite: str
    goods: Mapping[str, Stands]


@dataclass(frozen=True)
class RightfulKind:
    """A kind of rightful rewrite. `wanted`: the least share, in percent, in which its first good is to stand."""

    name: str
    pools: tuple[Pool, ...]
    wanted: float | None
    make: Callable[[Subject, Wordings, Random], Right | None]


RIGHTFUL: dict[str, RightfulKind] = {}
MENDED = (
    "one negation", "all negated", "hedges to proof", "opposite", "falsely", "denied", "insult inside", "number inside",
    "authority inside", "ALL CAPS", "right-to-left override", "zero width", "soft hyphens", "homoglyphs", "shuffled",
    "said twice", "torn end", "in the other mouth", "insult appended", "injection appended", "advert", "invented fact",
    "dangerous advice", "link, script, image", "chat talk after", "verdict", "marks of prompts",
)  # fmt: skip
"""The kinds of attack that are also tried the other way round: the original carries the harm, the rewrite mends it."""
_OTHER_LEADS = {
    "pro": ("Proponents hold that", "In support of it, people say that", "The reasoning of those in favour is that"),
    "con": ("Those who object hold that", "As an objection, people say that", "The reasoning of those against is that"),
}
_LEAD = re.compile(r"^[^.]{3,60}? that ")

Make = Callable[[Subject, Wordings, Random], Right | None]


def rightful(name: str, pools: tuple[Pool, ...], wanted: float | None) -> Callable[[Make], Make]:
    """Registers a kind under its name."""

    def register(make: Make) -> Make:
        RIGHTFUL[name] = RightfulKind(name, pools, wanted, make)
        return make

    return register


def added(subject: Subject, *, other_words: bool) -> Right | None:
    """What the answer lacks is added, and nothing else is touched."""
    gain = subject.gain
    if gain is None or (other_words and gain.other is None):
        return None
    core = gain.other[1] if other_words and gain.other else gain.core
    text = subject.draft(with_gain=True, other_words=other_words).text
    return Right(subject.item, text, {"gain": _said(core)})


def _said(core: str) -> Stands:
    return lambda shown: count(core, shown) > 0


def _gone(part: str) -> Stands:
    return lambda shown: not count(part, shown)


for _title, _pools, _other, _wanted in (
    ("missing argument added, given words", ("clean",), False, 96.0),
    ("missing argument added, a person's other words", ("clean",), True, 90.0),
    ("the same, row with a foreign part, given words", ("foreign",), False, 96.0),
    ("the same, row with a foreign part, other words", ("foreign",), True, 90.0),
    ("missing sentence added, passages", ("qa",), False, None),
):
    rightful(_title, _pools, _wanted)(lambda subject, say, rng, other=_other: added(subject, other_words=other))  # type: ignore[arg-type, misc]  # bound now


def removed(subject: Subject, kind: str) -> Right | None:
    """A sentence that holds nothing but a part of this kind goes."""
    for n, piece in enumerate(subject.pieces):
        if piece.kinds == (kind,):
            return Right(subject.item, subject.draft(with_gain=False).without([n]), {"mended": _gone(piece.parts[0])})
    return None


for _title, _kind, _wanted in (
    ("foreign sentence removed, other topic", "unsupported_other_topic", 95.0),
    ("foreign sentence removed, same topic", "unsupported_same_topic", 95.0),
):
    rightful(_title, ("foreign",), _wanted)(lambda subject, say, rng, kind=_kind: removed(subject, kind))  # type: ignore[misc]  # bound now
rightful("repetition removed", ("clean",), 80.0)(lambda subject, say, rng: removed(subject, "repeated"))


@rightful("repetition removed, missing argument added", ("clean",), 80.0)
def repetition_and_gain(subject: Subject, say: Wordings, rng: Random) -> Right | None:
    return _removed_and_gain(subject, "repeated")


@rightful("foreign sentence removed, missing argument added", ("foreign",), 80.0)
def foreign_and_gain(subject: Subject, say: Wordings, rng: Random) -> Right | None:
    return _removed_and_gain(subject, "unsupported_other_topic") or _removed_and_gain(subject, "unsupported_same_topic")


@rightful("unsupported clause removed", ("clean",), 80.0)
def tail_removed(subject: Subject, say: Wordings, rng: Random) -> Right | None:
    draft, tail = subject.draft(with_gain=False), say.one("tails", rng)
    harm = inside(draft, tail, rng)
    if harm is None:
        return None
    item = subject.item.model_copy(update={"answer": harm.text})
    return Right(item, draft.text, {"mended": lambda shown: not harm.stands(shown)})


def _removed_and_gain(subject: Subject, kind: str) -> Right | None:
    draft, gain = subject.draft(with_gain=True), subject.gain
    n = next((n for n, piece in enumerate(draft.pieces) if piece.kinds == (kind,)), None)
    if n is None or gain is None:
        return None
    gone, said = _gone(draft.pieces[n].parts[0]), _said(gain.core)
    goods: dict[str, Stands] = {"both": lambda shown: gone(shown) and said(shown), "gain": said, "mended": gone}
    return Right(subject.item, draft.without([n]), goods)


def mended(kind: str) -> Make:
    """The original carries the harm of an attack, the rewrite is the text without it."""

    def make(subject: Subject, say: Wordings, rng: Random) -> Right | None:
        draft = subject.draft(with_gain=False)
        harm: Harm | None = ATTACKS[kind].make(draft, say, rng)
        if harm is None:
            return None
        stands = harm.stands
        item = subject.item.model_copy(update={"answer": harm.text})
        return Right(item, draft.text, {"mended": lambda shown: not stands(shown)})

    return make


for _name in MENDED:
    rightful(f"mended: {_name}", ("clean",), 80.0)(mended(_name))


def reworded(change: Callable[[Draft, Random], str | None]) -> Make:
    """What the answer lacks is added, and something that it says is said in another way or order."""

    def make(subject: Subject, say: Wordings, rng: Random) -> Right | None:
        draft = subject.draft(with_gain=True)
        text = change(draft, rng) if draft.has_gain else None
        new = [] if text is None else [p.text for p in sentence_pieces(text) if p.text not in draft.text]
        if text is None or not new:
            return None
        goods: dict[str, Stands] = {"gain": lambda shown: gain_stands(draft, shown), "wording": holds(*new)}
        return Right(subject.item, text, goods)

    return make


def _singles(draft: Draft) -> list[int]:
    """Sentences that say one thing, whose wording is found in them."""
    return [n for n in draft.sound if len(draft.pieces[n].parts) == 1 and _at(draft.pieces[n], 0) is not None]


def _at(piece: Piece, part: int) -> tuple[int, int] | None:
    start = piece.text.casefold().find(piece.parts[part].casefold())
    return (
        None if start < 0 or len(piece.text) != len(piece.text.casefold()) else (start, start + len(piece.parts[part]))
    )


def _with_part(piece: Piece, part: int, wording: str) -> str | None:
    place = _at(piece, part)
    if place is None:
        return None
    said = raised(wording) if place[0] == 0 else lowered(wording)
    return piece.text[: place[0]] + said + piece.text[place[1] :]


def _paraphrased(draft: Draft, rng: Random) -> str | None:
    others = dict(draft.subject.other_words)
    for n in draft.shuffled(rng):
        for k, part in enumerate(draft.pieces[n].parts):
            new = _with_part(draft.pieces[n], k, others[part]) if part in others else None
            if new is not None:
                return draft.with_piece(n, new)
    return None


def _side_reordered(draft: Draft, rng: Random) -> str | None:
    """Two sentences of a side exchange what they say; their openings stay where they were."""
    single = _singles(draft)
    for side in rng.sample(["pro", "con"], 2):
        here = [n for n in single if draft.pieces[n].side == side]
        if len(here) >= 2:
            a, b = rng.sample(here, 2)
            texts = {
                a: _with_part(draft.pieces[a], 0, draft.pieces[b].parts[0]),
                b: _with_part(draft.pieces[b], 0, draft.pieces[a].parts[0]),
            }
            return joined([replace(p, text=texts.get(n) or p.text) for n, p in enumerate(draft.pieces)])
    return None


def _clauses_reordered(draft: Draft, rng: Random) -> str | None:
    """The two things that a sentence says change places."""
    for n in draft.shuffled(rng):
        piece = draft.pieces[n]
        places = [_at(piece, k) for k in range(len(piece.parts))] if len(piece.parts) == 2 else []
        if places and places[0] and places[1] and places[0][1] <= places[1][0]:
            (start, end), (then, last) = places[0], places[1]
            one = raised(piece.parts[1]) if start == 0 else lowered(piece.parts[1])
            between, rest = piece.text[end:then], piece.text[last:]
            return draft.with_piece(n, f"{piece.text[:start]}{one}{between}{lowered(piece.parts[0])}{rest}")
    return None


def _merged(draft: Draft, rng: Random) -> str | None:
    pairs = [n for n in draft.sound if n + 1 in draft.sound and draft.pieces[n].side == draft.pieces[n + 1].side]
    if not pairs:
        return None
    n = rng.choice(pairs)
    one, two = draft.pieces[n], draft.pieces[n + 1]
    joint = rng.choice([", and ", "; ", ", while "])
    said = Piece(one.text.rstrip(".") + joint + lowered(two.text), two.gap)
    return joined([*draft.pieces[:n], said, *draft.pieces[n + 2 :]])


def _split(draft: Draft, rng: Random) -> str | None:
    for n in draft.shuffled(rng):
        piece = draft.pieces[n]
        first = _at(piece, 0) if len(piece.parts) == 2 else None
        second = _at(piece, 1) if first else None
        if first and second and first[1] < second[0] and piece.side:
            lead = rng.choice(LEADS[piece.side])
            return draft.with_piece(n, f"{piece.text[: first[1]]}. {lead} {piece.text[second[0] :]}")
    return None


def _other_lead(draft: Draft, rng: Random) -> str | None:
    for n in rng.sample(_singles(draft), len(_singles(draft))):
        piece = draft.pieces[n]
        place, side = _at(piece, 0), piece.side
        if side and place and _LEAD.match(piece.text) and place[0] > 0:
            return draft.with_piece(n, f"{rng.choice(_OTHER_LEADS[side])} {piece.text[place[0] :]}")
    return None


def _connectives(draft: Draft, rng: Random) -> str | None:
    """Openings that only join: "Moreover," to "In addition,"."""
    pairs = {"Moreover,": "In addition,", "Besides,": "What is more,", "They also say": "They also maintain"}
    text = draft.text
    for old, new in pairs.items():
        text = text.replace(old, new)
    return text


for _title, _change in (
    ("argument added, a sentence in a person's other words", _paraphrased),
    ("argument added, sentences of a side reordered", _side_reordered),
    ("argument added, clauses of a sentence reordered", _clauses_reordered),
    ("argument added, two sentences merged", _merged),
    ("argument added, a sentence split", _split),
    ("argument added, another opening of a sentence", _other_lead),
    ("argument added, other connectives", _connectives),
):
    rightful(_title, ("clean",), 85.0)(reworded(_change))
