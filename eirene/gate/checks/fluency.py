"""Fluency check: in English words in an order that is no sentence, a beginning cut off; in all languages a torn end.

Beginnings, ends and neighbouring words that a source has are no fault of the edit, and a sentence that is as odd as the
one it replaces is no objection either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from eirene.gate.checks.base import EditCase, Objection
from eirene.text.cancellation import check_cancelled
from eirene.text.edits import SentenceEdit
from eirene.text.fluency import (
    ANY,
    STRANGE,
    TIDY,
    Boundaries,
    Pairs,
    Torn,
    boundaries_of,
    broken_at,
    is_readable,
    is_torn,
    pairs_of,
    strangeness_of,
)
from eirene.text.language import other_language
from eirene.text.sentences import split_sentences

MARGIN = 0.6
"""By so much a sentence must be stranger than the one it replaces."""
STRANGE_ORDER, BROKEN_ORDER = -2.0, 1.2
"""As `STRANGE` and `BROKEN`, for the joints of a sentence that has the same words in another order."""
SHORT, SHORT_MARGIN = 8, 0.6
"""Words under which a new sentence must be stranger by so much: few joints say little."""
SAME_WORDS = 0.85
"""Share of words that two sentences have in common from which one is the other in another order."""

_LONGEST = 20_000
"""Characters of a new sentence that are read."""
_NO_PROSE = re.compile(r"^(?: {4}|\t|\s*(?:[|>]|\$\$|```|~~~|#{1,6}\s))|[{}\\<>]|\|.*\||\w\(\)|\w_\w")


# What ends a sentence in some script, and the marks that may close it.
_ENDED = re.compile(r"[.!?…:;。！？｡．：；؟۔؛।॥։።፧។။][\"'”’“)\]»›«」』）】》*_\u200e\u200f]*$")
_MARKER = re.compile(r"\s*(?:[-*+•]|\(?\w{1,3}[.)、])\s")
_LETTERS, _TAIL = 6, 24
"""Least letters of a sentence that tells how its text ends sentences; characters quoted of a torn end."""
_NO_SENTENCE = "words in an order that is no sentence"


def fluency(case: EditCase) -> Iterator[Objection]:
    """Objects to new sentences whose words make none, that break off or that begin in the middle."""
    known: Pairs | None = None
    bounds: Torn | None = None
    for n, edit in case.changed():
        new = case.new(edit)[:_LONGEST] if edit.kind != "removed" else ""
        if not new or _NO_PROSE.search(new):
            continue
        if known is None or bounds is None:
            known, bounds = _known(case), TIDY if _is_tidy(case.before) else ANY
        unended = _breaks_off(case, n, new)
        is_foreign = unended is not None and other_language(case.after) is not None
        for objection in _objections(case, n, new, known, bounds) if not is_foreign else ():
            # Asked last, for it takes longest.
            if other_language(new) is None and other_language(case.after) is None:
                yield objection
        if unended is not None and is_foreign:
            yield unended


def _breaks_off(case: EditCase, n: int, new: str) -> Objection | None:
    """The objection to a new sentence without a mark at its end, where all of the text before end with one."""
    last = new.rstrip()
    old = case.old(case.edits[n])
    if _ENDED.search(last) or (old and not _ENDED.search(old.rstrip())) or _MARKER.match(last):
        return None
    before = [s.text for s in split_sentences(case.before[:_LONGEST]) if sum(map(str.isalpha, s.text)) >= _LETTERS]
    if not before or not all(map(_ENDED.search, before)):
        return None
    if any(line.rstrip().endswith(last) for source in case.sources[1:] for line in source.splitlines()):
        return None  # a heading or a note that stands so in what was given
    return Objection(n, f'a sentence that breaks off after "{_short(last[-_TAIL:])}"')


def _known(case: EditCase) -> Pairs:
    found: set[tuple[str, str]] = set()
    for source in case.sources:
        found |= pairs_of(source)
    return found


def _objections(case: EditCase, n: int, new: str, known: Pairs, bounds: Torn) -> Iterator[Objection]:
    """At most one: the first fault of the first sentence that has one."""
    check_cancelled()
    edit, at = case.edits[n], 0
    old = case.old(edit)[:_LONGEST]
    for piece in split_sentences(new):
        sentence = piece.text
        at = new.find(sentence, at)
        joints = boundaries_of(sentence)
        if joints is None:
            continue
        start = at + (edit.after[0] if edit.after else 0)
        why = _disorder(joints, known, old) if is_readable(joints) else None
        if why is not None:
            yield Objection(n, f'{why}: "{_short(sentence)}"', _few_words(edit, joints, known, start))
            return
        torn = is_torn(sentence, known, bounds)
        if torn is not None and not (old and is_torn(old, bounds=bounds)):
            yield Objection(n, f"a sentence that {torn}")
            return
        place = broken_at(sentence, known)
        if place is not None and not (old and broken_at(old) is not None):
            quoted = sentence[joints.spans[max(0, place - 2)][0] : joints.spans[place : place + 2][-1][1]]
            words = _touching(edit, joints, [place], start)
            yield Objection(n, f'words that do not belong together: "{_short(quoted)}"', words)
            return


def _disorder(joints: Boundaries, known: Pairs, old: str) -> str | None:
    """Why a sentence's words are in no order; None where they are."""
    strange = strangeness_of(joints.odds[joints.novel(known)])
    before = boundaries_of(old) if old else None
    if before is None or not is_readable(before):
        return _NO_SENTENCE if strange > STRANGE + (SHORT_MARGIN if joints.words < SHORT else 0.0) else None
    lost = before.odds[before.novel(set(joints.pairs()))]
    usual = max(strangeness_of(lost), strangeness_of(before.odds))
    if strange > max(STRANGE, usual + MARGIN):
        return _NO_SENTENCE
    new = joints.odds[joints.novel(set(before.pairs()))]
    if joints.words < 4 or len(new) < 2 or not _same_words(joints, before):
        return None
    is_broken = max(new[1:-1], default=-9.0) > BROKEN_ORDER + 0.6 * np.log(len(new)) and new.max() > before.odds.max()
    is_strange = strangeness_of(new) > STRANGE_ORDER
    return f"the same {_NO_SENTENCE}" if (is_broken or is_strange) and strangeness_of(new) > usual + MARGIN else None


def _same_words(a: Boundaries, b: Boundaries) -> bool:
    ours, theirs = (Counter(t for t in j.tokens if t[0].isalnum()) for j in (a, b))
    return (ours & theirs).total() >= SAME_WORDS * max(ours.total(), theirs.total())


def _is_tidy(text: str) -> bool:
    """Whether all but a tenth of a text's longer sentences begin with a capital letter and end with a mark."""
    long = [s.text for s in split_sentences(text[:_LONGEST]) if s.text.count(" ") > 2]
    tidy = sum(s[0].isupper() and s[-1] in ".!?\"')”’:]" for s in long)
    return bool(long) and tidy >= 0.9 * len(long)


def _few_words(edit: SentenceEdit, joints: Boundaries, known: Pairs, start: int) -> tuple[int, ...] | None:
    """The changed words at the odd places, where most of the sentence is the old one."""
    novel = joints.novel(known)
    places = [i for i in range(1, len(joints.tokens)) if novel[i] and joints.odds[i] > -1.0]
    return _touching(edit, joints, places, start) if 2 * novel.sum() < len(novel) else None


def _touching(edit: SentenceEdit, joints: Boundaries, places: list[int], start: int) -> tuple[int, ...] | None:
    """The changed words at some joints of a sentence that begins at `start`; None where there are none."""
    at = [(start + joints.spans[i - 1][0], start + joints.spans[i][1]) for i in places]
    found = [i for i, w in enumerate(edit.words) if any(w.after[0] <= b and a <= w.after[1] for a, b in at)]
    return tuple(found) or None


def _short(text: str) -> str:
    text = " ".join(text[:200].split())
    return text if len(text) <= 80 else text[:77] + "..."
