"""Opposites: whether a given sentence says another thing in the place of what a claim says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import permutations

from eirene.text.fields import Field
from eirene.text.polarity import contradicts, likeness, sign_turns
from eirene.text.values.reading import value_index
from eirene.text.words import STOP_WORDS, stem, stems

_SAME_BUT_ONE = 0.9
"""Likeness from which an opposite in a sentence contradicts it, whatever is read: of 62 such claims of other people 61
were contradicted, and one was supported."""
_STRETCH = 4
"""Words that stand in one another's place, at most."""
_JOINTS = re.compile(r"[;,]\s|(?<=\w{3})\.\s|\b(?:and|but|while|whilst|whereas)\b", re.IGNORECASE)
_TELLING = """
    not no nor only before after until again both each all any few some more most other than too under over above below
    against between during if
"""
_LIGHT = frozenset(stem(word) for word in STOP_WORDS - frozenset(_TELLING.split()))
"""Words by which a clause says no more than another one."""
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
    if (at := _crossed(claim, texts)) is not None:
        return at
    own = _bare(claim)
    others = [text for text in texts if not _inverts(text, claim)]
    if any(own <= _bare(text) or likeness(text, claim) >= _SAME_BUT_ONE for text in others):
        return None
    return next((n for n, text in enumerate(texts) if _inverts(text, claim)), None)


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


def _crossed(claim: str, texts: Sequence[str]) -> int | None:
    """Which sentence has a claim's subject with another value than the claim, whose value another subject has.

    "The hall was built by Lind", where the hall was built by Rowe, and the station by Lind; "Order 7 went on May 9"
    is said of order 8. Each clause of a claim is read beside each two given clauses that are built alike. One
    with words of both is crossed, unless it says more than they do, or another one has all of its words.
    """
    given = [(n, clause) for n, text in enumerate(texts) for clause in (_stems(text), *_clauses(text))]
    parts = [frozenset(clause) - _LIGHT for clause in _clauses(claim)]
    whole = frozenset().union(*parts)
    for (n, one), (m, other) in permutations(given, 2):
        places = _places(one, other, is_one=n == m) if whole <= {*one, *other} else ()
        if len(places) < 2 or not ({*one} & {*other}) - _LIGHT <= whole:
            continue
        is_told = all(sum(not part.isdisjoint(a | b) for a, b in places) > 1 for part in parts)
        elsewhere = [clause for k, clause in given if k not in (n, m) or clause != _stems(texts[k])]
        for part in parts if is_told else [whole]:
            if _mixes(part, places) and not any(part <= {*clause} for clause in elsewhere):
                return n
    return None


def _places(one: Sequence[str], other: Sequence[str], *, is_one: bool) -> list[tuple[frozenset[str], frozenset[str]]]:
    """The words of two clauses that stand in each other's place; none where they are not built alike. One of two
    clauses of one sentence may leave out what the other has."""
    found: list[tuple[frozenset[str], frozenset[str]]] = []
    shared = frozenset(one) & frozenset(other)
    for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if (max(b - a, d - c) > _STRETCH and tag != "equal") or (tag in ("insert", "delete") and not is_one):
            return []
        old, new = [frozenset([word]) for word in one[a:b]], [frozenset([word]) for word in other[c:d]]
        if tag == "replace" and len(old) != len(new):
            old, new = [frozenset().union(*old)], [frozenset().union(*new)]
        found += zip(old, new, strict=True) if tag == "replace" else ()
    return [(a - shared, b - shared) for a, b in found] if shared - _LIGHT else []


def _mixes(said: frozenset[str], places: Sequence[tuple[frozenset[str], frozenset[str]]]) -> bool:
    """Whether words are of the one clause at their first place, of the other one at a later, and of both at none."""
    sides = [(bool(said & a), bool(said & b)) for a, b in places]
    told = [side for side in sides if any(side)]
    return (True, True) not in told and told[:1] == [(True, False)] and (False, True) in told


def _clauses(text: str) -> list[list[str]]:
    return [words for part in _JOINTS.split(text) if (words := _stems(part))]


def _stems(text: str) -> list[str]:
    return [stem(word) for word in _plain(text)]


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
