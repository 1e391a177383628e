"""Opposites: whether a given sentence says another thing in the place of what a claim says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from eirene.text.fields import Field
from eirene.text.polarity import contradicts, likeness, sign_turns
from eirene.text.values.reading import value_index
from eirene.text.words import stems

_SAME_BUT_ONE = 0.9
"""Likeness from which an opposite in a sentence contradicts it, whatever is read: of 62 such claims of other people 61
were contradicted, and one was supported."""
_STRETCH = 4
_PLAIN = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_OPENS = frozenset(
    ["in", "on", "at", "from", "to", "for", "by", "with", "of", "if", "when", "while", "after", "before", "since"]
)
"""Words that begin what may stand first or last, and change no roles."""
_COPULAS = frozenset(["is", "are", "was", "were", "be", "been"])
_ONE_WAY = frozenset(["by", "than"])
"""What one is to another, the other may be to it ("is married to"); that Lind was taught by Rowe goes one way."""
_JOINS = frozenset(["while", "when", "if", "as", "and", "or", "but", "where"])


def opposes(given: str, claim: str) -> bool:
    """Whether a given sentence says what is claimed with a "not" or an opposite too many or too few, or another figure:
    it has all other words of the claim."""
    turn = contradicts(given, claim)
    if turn is not None:
        return turn.kind in ("negation", "opposite")
    has, own = set(stems(given)), set(stems(claim))
    return len(own - has) == 1 and _has_figure(own - has) and _has_figure(has - own)


def exchanges(given: str, claim: str) -> bool:
    """Whether every value of a claim that a given text has not stands for another one there, of the same unit."""
    index = value_index(given)
    new = [m for m in value_index(claim).mentions if not (m.is_weak or index.holds(m))]
    units = {value.base for mention in index.mentions for value in mention.values}
    return bool(new) and all(any(value.base in units for value in mention.values) for mention in new)


def countered_by(claim: str, texts: Sequence[str]) -> int | None:
    """Which of some given sentences says the opposite of a claim; None where none does, or another one agrees."""
    own = _bare(claim)
    others = [text for text in texts if not _inverts(text, claim)]
    if any(own <= _bare(text) or likeness(text, claim) >= _SAME_BUT_ONE for text in others):
        return None
    return next((n for n, t in enumerate(texts) if _inverts(t, claim) or _is_crossed(claim, t, texts)), None)


def _inverts(given: str, claim: str) -> bool:
    """Whether a claim is a given sentence but for an opposite, or for who does what to whom."""
    turn = contradicts(given, claim)
    if turn is None or turn.kind not in ("opposite", "roles") or "," in turn.new:
        return False
    if turn.kind == "opposite":
        return likeness(given, claim) >= _SAME_BUT_ONE and len(sign_turns(given, claim)) == 1
    words = _bare(claim)
    if not _COPULAS.isdisjoint(words) and _ONE_WAY.isdisjoint(words):
        return False
    stretches = [_plain(turn.old), _plain(turn.new)]
    return not any(words[0] in _OPENS or not _JOINS.isdisjoint(words) for words in stretches)


def _is_crossed(claim: str, given: str, others: Sequence[str]) -> bool:
    """Whether a claim ends otherwise than a given sentence, and as another one ends that begins otherwise.

    "The hall was built by Lind", where the hall was built by Rowe, and the station by Lind.
    """
    own = _plain(claim)
    here = _only_difference(_plain(given), own)
    if here is None:
        return False
    at, gone, come = here
    for other in others:
        there = _only_difference(_plain(other), own)
        if there is not None and there[0] < at and come <= _bare(other) and there[2] <= _bare(given) and gone != come:
            return True
    return False


def _only_difference(given: Sequence[str], claim: Sequence[str]) -> tuple[int, frozenset[str], frozenset[str]] | None:
    """Where the one stretch of at most four words begins in which two sentences differ, and its words in each."""
    pairs = list(zip(given, claim, strict=False))
    start = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
    back = list(zip(reversed(given[start:]), reversed(claim[start:]), strict=False))
    end = next((n for n, (a, b) in enumerate(back) if a != b), len(back))
    old, new = given[start : len(given) - end], claim[start : len(claim) - end]
    is_one = 0 < len(old) <= _STRETCH and 0 < len(new) <= _STRETCH and start + end >= 2
    return (start, frozenset(old), frozenset(new)) if is_one else None


def _plain(text: str) -> list[str]:
    return [word for word in _PLAIN.findall(text.lower()) if word not in ("the", "a", "an")]


def _bare(text: str) -> frozenset[str]:
    return frozenset(_plain(text))


def denies(field: Field, claim: str) -> bool:
    """Whether a field has another value than a claim that speaks of its key."""
    own, value = set(stems(claim)), set(stems(field.value))
    return bool(value) and not own.isdisjoint(stems(field.key)) and own.isdisjoint(value)


def _has_figure(words: Iterable[str]) -> bool:
    return any(character.isdigit() for word in words for character in word)
