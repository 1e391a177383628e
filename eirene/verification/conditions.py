"""Conditions: whether a given sentence says a statement plainly, or under a condition, at another time, or until later.

"The shop is open until noon" does not say that it is open. By words alone; in doubt there is a condition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from eirene.text.polarity.marks import read_marks
from eirene.text.words import stem, stems
from eirene.verification.mend_proposals import MendKind

_LIMITS = frozenset(
    ["until", "till", "but", "formerly", "previously", "originally", "initially", "last", "next", "planned", "due"]
)
_WHILES = frozenset(["when", "whenever", "while", "whilst", "once", "before", "after", "during", "since", "outside"])
"""A thing that is so by habit is so at these times alone; what happened once happened."""
_PREPOSITIONS = frozenset(
    ["in", "on", "at", "from", "to", "for", "by", "with", "of", "under", "over", "above", "through", "within"]
)
_BREAKS = frozenset(["and", "which", "who", "because", "so", ";"])
_BE, _WAS = frozenset(["is", "are", "has", "have"]), frozenset(["was", "were", "had"])
_TURNED = re.compile(
    r"\b(?:later|earlier|longer|since\s+(?:then|\w+(?:ed|en))|instead|however|actually|after\s+that"
    r"|(?:this|next)\s+(?:year|month|week|season|spring|summer|autumn|winter)|(?:do|does|did|has|have|is|are)\s+too)\b"
    r"|\A\W*(?:but|yet|so\s+(?:do|does|did|has|is|are))\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\b(?:now|today|currently|nowadays|at\s+present)\b", re.IGNORECASE)
_REFERS = re.compile(r"\W*(?:it|its|this|that|they|these|he|she|all|every|so|but|yet|in|since|then)\b", re.IGNORECASE)


def is_said_plainly(statement: str, given: str, following: str, kind: MendKind) -> bool:
    """Whether a given sentence says a statement under no condition of its own, and the `following` one turns nothing.

    `kind`: what is turned round ("relation") hangs on any circumstance ("vegan without the butter"); a value
    ("entity") on fewer.
    """
    own, theirs = _words(statement), _words(given)
    shared = _shared_part(theirs, own)
    is_past = _is_past(shared)
    if _is_past(own) is not is_past or _has_marks_besides(given, statement):
        return False
    limits = _LIMITS | _WHILES if kind == "relation" or not is_past else _LIMITS
    if not limits.isdisjoint(set(theirs) - set(own)):
        return False
    if kind == "relation" and Counter(w for w in shared if w in _PREPOSITIONS) - Counter(own):
        return False
    return not _turns(following, statement, is_past=is_past)


def _words(text: str) -> list[str]:
    return [word.word for word in read_marks(text).words]


def _is_past(words: Sequence[str]) -> bool:
    """Whether the first verb that shows its tense by form is past; a participle behind "is" or "has" shows none."""
    verb = next((w for w in words if w in _BE | _WAS or (w.endswith("ed") and len(w) > 4)), "is")
    return verb not in _BE


def _has_marks_besides(given: str, statement: str) -> bool:
    """Whether a given sentence has a denial, a condition, a hedge or an amount that the statement has not."""
    has, own = (Counter((m.kind, m.level) for m in read_marks(text).marks) for text in (given, statement))
    return bool(has - own)


def _shared_part(given: Sequence[str], statement: Sequence[str]) -> Sequence[str]:
    """The words of a given sentence up to the end of what a statement says too: "and", "which" begin something else."""
    shared = {stem(word) for word in statement}
    last = max((n for n, word in enumerate(given) if stem(word) in shared and word[0].isalnum()), default=0)
    return given[: next((n for n in range(last + 1, len(given)) if given[n] in _BREAKS), len(given))]


def _turns(following: str, statement: str, *, is_past: bool) -> bool:
    """Whether the next sentence goes on about the same, and tells of another time or of others."""
    if not _REFERS.match(following) and set(stems(following)).isdisjoint(stems(statement)):
        return False
    return _TURNED.search(following) is not None or (not is_past and _NOW.search(following) is not None)
