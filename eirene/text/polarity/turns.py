"""Polarity: what was turned between two English sentences that otherwise say the same, and whether one contradicts.

A turn is a negation, an opposite, a quantifier, a hedge, a judged verb of saying or a condition gained or lost, or two
parts that changed places around a verb. A negation counts at the word that it governs, so that "is not safe" for "is
dangerous" is no turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from eirene.text.english import AUXILIARIES, is_third_person, looks_like_base
from eirene.text.matching import Span
from eirene.text.polarity.marks import MarkedSentence, PolarityMark, SentenceWord, read_marks
from eirene.text.polarity.pairing import Pairing, Sign, pair_words, strict_signs, sure_signs
from eirene.text.quoting import quoted
from eirene.text.remembered import memoised
from eirene.text.words import word_set

TurnKind = Literal[
    "negation",
    "opposite",
    "quantifier",
    "certainty",
    "report",
    "condition",
    "intent",
    "quotation",
    "attribution",
    "roles",
]


@dataclass(frozen=True, slots=True)
class PolarityTurn:
    """What was turned: its words in both sentences, "" where it was put in or left out, with their offsets."""

    kind: TurnKind
    old: str
    new: str
    before: Span | None
    after: Span | None

    @property
    def why(self) -> str:
        """What was turned, in a few words."""
        if self.kind == "roles":
            return f"who does what to whom is exchanged: {quoted(self.new, 40)} for {quoted(self.old, 40)}"
        if self.old and self.new:
            return f"{quoted(self.new, 40)} for {quoted(self.old, 40)}"
        return f"a {quoted(self.new, 40)} too many" if self.new else f"{quoted(self.old, 40)} is gone"


SHARED = 0.7
"""Least share of the shorter sentence's content words that the other one has, for the two to say the same otherwise."""
_SHORT = 2000
"""Characters of two sentences whose comparison is kept: each is asked for several times in a round."""
_LEVELS: tuple[TurnKind, ...] = ("quantifier", "certainty", "report", "condition", "intent", "quotation")


def contradicts(premise: str, claim: str, /) -> PolarityTurn | None:
    """What of `claim` contradicts `premise` by words alone; None where nothing does, or where they say other things.

    Both are single sentences. Only what a paraphrase would not do counts: a negation or an opposite at a word that both
    have, some or many that became all, a hedge that became certain, a verb of saying that is judged.
    """
    a, b, pairing = _paired(premise, claim)
    if pairing.share < SHARED or pairing.shared < 2:
        return None
    signs = _as_turns(a, b, sure_signs(a, b, pairing))
    return next(chain(signs, _stronger(a, b, pairing), _roles(a, b)), None)


def likeness(one: str, other: str) -> float:
    """How many content words two sentences share, opposites included, in [0, 1]: the mean share of the one that has
    fewer of them and of both.
    """
    _, _, pairing = _paired(one, other)
    return (pairing.share + pairing.closeness) / 2 if pairing.shared > 1 else 0.0


def sign_turns(premise: str, claim: str) -> tuple[PolarityTurn, ...]:
    """The negations and opposites turned at words that both sentences have, however much else they share."""
    a, b, pairing = _paired(premise, claim)
    return tuple(_as_turns(a, b, sure_signs(a, b, pairing)))


def turns(before: str, after: str) -> tuple[PolarityTurn, ...]:
    """Everything that was turned from one sentence to its rewording; every mark counts.

    Meant for sentences that share most of their words.
    """
    a, b, pairing = _paired(before, after)
    found = [*_as_turns(a, b, strict_signs(a, b, pairing)), *_levels(a, b)]
    if a.is_attributed and not b.opening and not b.is_attributed and not any(t.kind == "report" for t in found):
        found.append(PolarityTurn("attribution", a.text[: _opening_end(a)].strip(), "", (0, _opening_end(a)), None))
    return (*found, *_roles(a, b))


def _opening_end(reading: MarkedSentence) -> int:
    return reading.words[reading.opening].start if reading.opening < len(reading.words) else len(reading.text)


@memoised(1024, small=lambda one, other: len(one) + len(other) <= _SHORT)
def _paired(one: str, other: str) -> tuple[MarkedSentence, MarkedSentence, Pairing]:
    a, b = read_marks(one), read_marks(other)
    return a, b, pair_words(a, b)


def _as_turns(a: MarkedSentence, b: MarkedSentence, signs: Iterable[Sign]) -> Iterator[PolarityTurn]:
    for before, after in signs:
        kind: TurnKind = "opposite" if before and after else "negation"
        yield PolarityTurn(
            kind, a.text[slice(*before)] if before else "", b.text[slice(*after)] if after else "", before, after
        )


def _levels(a: MarkedSentence, b: MarkedSentence) -> Iterator[PolarityTurn]:
    """Marks with levels (quantifiers, modals, verbs of saying, conditions) that one sentence has more often."""
    for kind in _LEVELS:
        old = [m for m in a.marks if m.kind == kind]
        new = [m for m in b.marks if m.kind == kind]
        if not old and not new:
            continue
        if kind == "quotation":
            old = [m for m in old if m.level in b.text.lower()]
            new = [m for m in new if m.level in a.text.lower()]
        gone, come = _surplus(old, new), _surplus(new, old)
        for n in range(max(len(gone), len(come))):
            yield _turn(kind, a, b, gone[n] if n < len(gone) else None, come[n] if n < len(come) else None)


def _surplus(marks: list[PolarityMark], others: list[PolarityMark]) -> list[PolarityMark]:
    left = Counter(m.level for m in others)
    found = []
    for mark in marks:
        left[mark.level] -= 1
        if left[mark.level] < 0:
            found.append(mark)
    return found


def _turn(
    kind: TurnKind, a: MarkedSentence, b: MarkedSentence, old: PolarityMark | None, new: PolarityMark | None
) -> PolarityTurn:
    return PolarityTurn(
        kind,
        a.text[old.start : old.end] if old else "",
        b.text[new.start : new.end] if new else "",
        (old.start, old.end) if old else None,
        (new.start, new.end) if new else None,
    )


_WEAK = ("some", "few", "many", "most")
_ALMOST_THE_SAME = 0.85
"""Least closeness of a sentence to another one for an "all" or an "always" of its own to be no matter of wording."""
_PROOFS = frozenset(["certainty certain", "report fact", "report doubted", "report endorsed", "report judged"])


def _stronger(a: MarkedSentence, b: MarkedSentence, pairing: Pairing) -> Iterator[PolarityTurn]:
    """Marks of `b` that claim more than `a`: all for some, certain for a hedge, proven or judged for said."""
    levels = {(m.kind, m.level) for m in a.marks}
    heads = {m.head: m for m in a.marks if m.kind == "quantifier" and m.head is not None}
    for mark in b.marks:
        if (mark.kind, mark.level) in levels:
            continue
        if f"{mark.kind} {mark.level}" in _PROOFS:
            yield _turn(mark.kind, a, b, None, mark)
        elif mark.kind == "quantifier" and mark.level == "all":
            old = heads.get(pairing.partner_back.get(-1 if mark.head is None else mark.head, -1))
            if (old is not None and old.level in _WEAK) or pairing.closeness >= _ALMOST_THE_SAME:
                yield _turn("quantifier", a, b, old, mark)


_PIVOTS = word_set("turns pivots")
_MOST = 60
"""Words between the first and the last difference; more is no exchange of two parts."""


def _roles(a: MarkedSentence, b: MarkedSentence) -> Iterator[PolarityTurn]:
    """The stretch in which two parts changed places.

    "Crime causes poverty" for "Poverty causes crime"; not "pens and books" for "books and pens", nor a passive.
    """
    one = [w for w in a.words[a.opening :] if w.word[0].isalnum() and w.word not in ("a", "an", "the")]
    two = [w for w in b.words[b.opening :] if w.word[0].isalnum() and w.word not in ("a", "an", "the")]
    old, new = [_key(w) for w in one], [_key(w) for w in two]
    if old == new or sorted(old) != sorted(new):
        return
    same = [x == y for x, y in zip(old, new, strict=True)]
    first, end = same.index(False), len(same) - same[::-1].index(False)
    x, y = one[first:end], two[first:end]
    sides = next((p for p in range(1, len(x) - 1) if old[first : first + p] == new[end - p : end]), 0)
    if not sides or len(x) > _MOST or not _has_pivot(x[sides:-1]):
        return
    if old[first + sides] == "be" and old[first + sides + 1 : end] == new[first : end - sides - 1]:
        return  # that Oslo is the capital, and that the capital is Oslo, is one thing
    before, after = (x[0].start, x[-1].end), (y[0].start, y[-1].end)
    yield PolarityTurn("roles", a.text[slice(*before)], b.text[slice(*after)], before, after)


def _key(word: SentenceWord) -> str:
    return "be" if word.word in ("is", "are", "was", "were") else word.stem


def _has_pivot(words: Sequence[SentenceWord]) -> bool:
    """Whether some words hold one with two sides, as a verb has; "Cost is the problem" has none."""
    said = [w.word for w in words if w.word not in AUXILIARIES]
    return any(w in _PIVOTS or looks_like_base(w) or is_third_person(w) or w.endswith("ed") for w in said)
