"""Opposites: whether a given sentence says another thing in the place of what a claim says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
_PREPOSITIONS = """
    in on at from to for by with of since near into through under over across along beside behind between during until
    without within around after before
"""
_OPENS = frozenset((_PREPOSITIONS + "if when while").split())
"""Words that begin what may stand first or last, and change no roles."""
_COPULAS = frozenset(["is", "are", "was", "were", "be", "been"])
_NOTS = frozenset(["not", "cannot", "never"])
_ONE_WAY = frozenset(["by", "than"])
"""What one is to another, the other may be to it ("is married to"); that Lind was taught by Rowe goes one way."""
_JOINS = frozenset(["while", "when", "if", "as", "and", "or", "but", "where"])
_Places = list[tuple[frozenset[str], frozenset[str]]]
"""Words of one clause, each with those of another one that stand in their place."""


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
    """Whether a claim is a given sentence but for a "not" or an opposite, or for who does what to whom."""
    turn = contradicts(given, claim)
    if turn is None or turn.kind not in ("negation", "opposite", "roles") or "," in turn.new:
        return False
    if turn.kind == "negation" and not ({*_stems(given)} ^ {*_stems(claim)}) - _LIGHT <= _NOTS:
        return False  # "unaware", "rather than" and "without" may say it in other words
    if turn.kind != "roles":
        return likeness(given, claim) >= _SAME_BUT_ONE and len(sign_turns(given, claim)) == 1
    words = _bare(claim)
    if not _COPULAS.isdisjoint(words) and _ONE_WAY.isdisjoint(words):
        return False
    stretches = [_plain(turn.old), _plain(turn.new)]
    return not any(words[0] in _OPENS or not _JOINS.isdisjoint(words) for words in stretches)


def _crossed(claim: str, texts: Sequence[str]) -> int | None:
    """Which sentence has a claim's subject with another value than the claim, whose value another subject has.

    "The hall was built by Lind", where the hall was built by Rowe, and the station by Lind; "Order 7 went on May 9"
    is said of order 8; "ploughs in the south" of the north. Each clause of a claim is read beside each two given
    clauses that are built alike. One with words of both is crossed, unless it says more than they do, or another one
    has all of its words.
    """
    given = [(n, clause) for n, text in enumerate(texts) for clause in (_stems(text), *_clauses(text))]
    parts = [frozenset(clause) - _LIGHT for clause in _clauses(claim)]
    whole = frozenset().union(*parts)
    for (n, one), (m, other) in permutations(given, 2):
        is_pair = n == m and len(parts) > 1 and not _keeps_order(claim, texts[n])
        if not whole <= {*(_stems(texts[n]) if is_pair else one), *other}:
            continue
        elsewhere = [frozenset(clause) for k, clause in given if k not in (n, m) or clause != _stems(texts[k])]
        for places in _places(one, other, whole, is_one=n == m, is_pair=is_pair):
            counts = [sum(map(any, _sides(part, places))) for part in parts]
            for part in parts if 1 not in counts else [] if is_pair else [whole]:
                if _mixes(_sides(part, places)) and not any(part <= clause for clause in elsewhere):
                    return n
    return None


def _places(
    one: Sequence[str], other: Sequence[str], whole: frozenset[str], *, is_one: bool, is_pair: bool
) -> Iterator[_Places]:
    """The words of two clauses that stand in each other's place, two places at least; none where they are not built
    alike, or what they share is not claimed.

    One of two clauses of one sentence (`is_one`) may leave out what the other has. Where a claim has clauses, too
    (`is_pair`), what is left may stand first or last, and clauses without a word of weight in both are known as alike
    by a claim of all that they say.
    """
    if whole.isdisjoint(one) or whole.isdisjoint(other):
        return
    shared = frozenset(one) & frozenset(other)
    for step in (1, -1) if is_pair else (1,):
        found = _aligned(one[::step], other[::step], is_one=is_one, is_pair=is_pair)
        places = [(a - shared, b - shared) for a, b in found][::step]
        is_told = all(not (whole.isdisjoint(a) or whole.isdisjoint(b)) for a, b in places)
        if len(places) > 1 and (shared - _LIGHT <= whole if shared - _LIGHT else is_pair and is_told):
            yield places


def _aligned(one: Sequence[str], other: Sequence[str], *, is_one: bool, is_pair: bool) -> _Places:
    found: _Places = []
    old_keys, new_keys = (["in" if is_pair and word in _OPENS else word for word in words] for words in (one, other))
    for tag, a, b, c, d in SequenceMatcher(None, old_keys, new_keys, autojunk=False).get_opcodes():
        is_edge = is_pair and tag == "replace" and (a == c == 0 or (b, d) == (len(one), len(other)))
        stretch = min(b - a, d - c) if is_edge else max(b - a, d - c)  # what both have may stand before or behind
        if (stretch > _STRETCH and tag != "equal") or (tag in ("insert", "delete") and not is_one):
            return []
        old, new = [frozenset([word]) for word in one[a:b]], [frozenset([word]) for word in other[c:d]]
        if tag == "replace" and len(old) != len(new):
            old, new = [frozenset().union(*old)], [frozenset().union(*new)]
        found += zip(old, new, strict=True) if tag == "replace" else ()
    return found


def _sides(said: frozenset[str], places: _Places) -> list[tuple[bool, bool]]:
    """For each place whether words of the one clause are said, and of the other."""
    return [(not said.isdisjoint(a), not said.isdisjoint(b)) for a, b in places]


def _mixes(sides: Sequence[tuple[bool, bool]]) -> bool:
    """Whether what is said is of the one clause at the first place, of the other at a later one, of both at none."""
    return sides[0] == (True, False) and (False, True) in sides and (True, True) not in sides


def _keeps_order(claim: str, given: str) -> bool:
    """Whether a given text has a claim's words in their order: it is then an extract of the text."""
    words = iter(_stems(given))
    return all(word in words for word in _stems(claim) if word not in _LIGHT)


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
