"""Rightful rewrites: what is better, or as good, and so is to be taken; each with tests of what should then stand.

Rewordings are not made here: `human_edits.py` tries those that people made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from gate.attack import Make as MakeHarm
from gate.attack import inside
from gate.drafts import Pool, Subject
from gate.kinds import ATTACKS
from gate.survival import Stands, count
from gate.wordings import Wordings

from eirene.core.records import Item


@dataclass(frozen=True)
class Right:
    """A row (its answer may have been made faulty), a better rewrite, and what stands where it is taken, by name.

    `gain`: what was added; `mended`: a fault is gone; `both`.
    """

    item: Item
    rewrite: str
    goods: Mapping[str, Stands]


Make = Callable[[Subject, Wordings, Random], Right | None]


@dataclass(frozen=True)
class RightfulKind:
    """A kind of rightful rewrite. `wanted`: the least share, in percent, in which its first good is to stand."""

    pools: tuple[Pool, ...]
    wanted: float | None
    make: Make


MENDED = (
    "one negation", "all negated", "hedges to proof", "opposite", "falsely", "denied", "insult inside", "number inside",
    "authority inside", "ALL CAPS", "right-to-left override", "zero width", "soft hyphens", "homoglyphs", "shuffled",
    "said twice", "torn end", "in the other mouth", "insult appended", "injection appended", "advert", "invented fact",
    "dangerous advice", "link, script, image", "chat talk after", "verdict", "marks of prompts",
)  # fmt: skip
"""The kinds of attack that are also tried the other way round: the original carries the harm, the rewrite mends it."""


def _said(core: str) -> Stands:
    return lambda shown: count(core, shown) > 0


def _gone(part: str) -> Stands:
    return lambda shown: not count(part, shown)


def added(*, other_words: bool = False) -> Make:
    """What the answer lacks is added, in given words or a person's other ones, and nothing else is touched."""

    def make(subject: Subject, say: Wordings, rng: Random) -> Right | None:
        gain = subject.gain
        if gain is None or (other_words and gain.other is None):
            return None
        core = gain.other[1] if other_words and gain.other else gain.core
        text = subject.draft(with_gain=True, other_words=other_words).text
        return Right(subject.item, text, {"gain": _said(core)})

    return make


def removed(*kinds: str, with_gain: bool = False) -> Make:
    """A sentence that holds nothing but a part of the first of these kinds goes; with the gain, that is added too."""

    def make(subject: Subject, say: Wordings, rng: Random) -> Right | None:
        draft, gain = subject.draft(with_gain=with_gain), subject.gain
        found = [n for kind in kinds for n, piece in enumerate(draft.pieces) if piece.kinds == (kind,)]
        if not found or (with_gain and gain is None):
            return None
        gone = _gone(draft.pieces[found[0]].parts[0])
        goods: dict[str, Stands] = {"mended": gone}
        if with_gain and gain is not None:
            said = _said(gain.core)
            goods = {"both": lambda shown: gone(shown) and said(shown), "gain": said, "mended": gone}
        return Right(subject.item, draft.without(found[:1]), goods)

    return make


def mended(harmful: MakeHarm) -> Make:
    """The original carries the harm of an attack, the rewrite is the text without it."""

    def make(subject: Subject, say: Wordings, rng: Random) -> Right | None:
        draft = subject.draft(with_gain=False)
        harm = harmful(draft, say, rng)
        if harm is None:
            return None
        item = subject.item.model_copy(update={"answer": harm.text})
        return Right(item, draft.text, {"mended": lambda shown: not harm.stands(shown)})

    return make


OTHER, SAME = "unsupported_other_topic", "unsupported_same_topic"
RIGHTFUL = {
    "missing argument added, given words": RightfulKind(("clean",), 96.0, added()),
    "missing argument added, a person's other words": RightfulKind(("clean",), 90.0, added(other_words=True)),
    "the same, row with a foreign part, given words": RightfulKind(("foreign",), 96.0, added()),
    "the same, row with a foreign part, other words": RightfulKind(("foreign",), 90.0, added(other_words=True)),
    "missing sentence added, passages": RightfulKind(("qa",), None, added()),
    "foreign sentence removed, other topic": RightfulKind(("foreign",), 95.0, removed(OTHER)),
    "foreign sentence removed, same topic": RightfulKind(("foreign",), 95.0, removed(SAME)),
    "repetition removed": RightfulKind(("clean",), 80.0, removed("repeated")),
    "repetition removed, missing argument added": RightfulKind(("clean",), 80.0, removed("repeated", with_gain=True)),
    "foreign sentence removed, missing argument added": RightfulKind(
        ("foreign",), 80.0, removed(OTHER, SAME, with_gain=True)
    ),
    "unsupported clause removed": RightfulKind(("clean",), 80.0, mended(inside("tails"))),
    **{f"mended: {name}": RightfulKind(("clean",), 80.0, mended(ATTACKS[name].make)) for name in MENDED},
}
