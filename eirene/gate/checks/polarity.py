"""Polarity check: a negation, antonym, quantifier, comparative, hedge or reporting verb gained or lost.

In a reworded sentence every turned mark is objected to, unless it was asked for or the given text has it the new way.
An added sentence is compared with the given sentence that it is closest to.
"""

from __future__ import annotations

from collections.abc import Iterator

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.polarity_warrant import is_asked, is_given, is_weaker
from eirene.text.clauses import clause_spans
from eirene.text.edits import SentenceEdit
from eirene.text.language import other_language
from eirene.text.polarity import Contradicts, PolarityTurn, contradicts, likeness, turns
from eirene.text.polarity.marks import read_marks
from eirene.text.polarity.nearest import Nearest, nearest_index

_ALIKE = 0.45
"""Least likeness of a reworded sentence to the one before: below, it is another sentence, judged as an added one."""
_LEVELS = ("quantifier", "certainty", "report")
_CLAUSE = 3
"""Content words more on one side of a change than on the other: a clause came in or went, with marks of its own."""
_MARGIN = 0.1
"""Given sentences that are alike within this much are equally near: one that agrees is enough."""


def polarity(case: EditCase, *, contradicts: Contradicts = contradicts) -> Iterator[Objection]:
    """Objects to turned marks. `contradicts` tells whether a sentence contradicts another; by words unless given."""
    if other_language(case.after):
        return
    index: Nearest | None = None
    for number, edit in case.changed():
        if edit.after is None:
            continue
        old, new = case.old(edit), case.new(edit)
        if old and likeness(old, new) >= _ALIKE:
            if old != new:
                yield from _in_reworded(case, number, edit)
            continue
        index = index or nearest_index((*case.given_texts, *(() if case.has_given else (case.before,))))
        why = _against(index, new, contradicts)
        if why:
            yield Objection(number, why, falsifies=True)


def _in_reworded(case: EditCase, number: int, edit: SentenceEdit) -> Iterator[Objection]:
    old, new = case.old(edit), case.new(edit)
    found = [(turn, _words(edit, turn)) for turn in turns(old, new)]
    weaker = {n for turn, words in found for n in words if is_weaker(case, old, new, turn)}
    for turn, words in found:
        if turn.kind in _LEVELS and words and weaker.issuperset(words):
            continue
        if turn.kind == "attribution" and case.has_given:  # whose argument it is, the given text says
            continue
        if _is_in_clause(case, edit, words, turn) or is_asked(case, edit, turn) or is_given(case, old, new, turn):
            continue
        yield Objection(number, f"{turn.why}; nothing asked for it", words or None, falsifies=True)


def _words(edit: SentenceEdit, turn: PolarityTurn) -> tuple[int, ...]:
    """The changed words that hold a turn's marks."""
    assert edit.before is not None and edit.after is not None
    found = set()
    for n, change in enumerate(edit.words):
        if turn.before and _meet(change.before, turn.before, edit.before[0]):
            found.add(n)
        if turn.after and _meet(change.after, turn.after, edit.after[0]):
            found.add(n)
    return tuple(sorted(found))


def _meet(change: tuple[int, int], mark: tuple[int, int], offset: int) -> bool:
    return change[0] < mark[1] + offset and mark[0] + offset < change[1]


def _is_in_clause(case: EditCase, edit: SentenceEdit, words: tuple[int, ...], turn: PolarityTurn) -> bool:
    """Whether a mark came, or went, with a clause of its own: that is no turn of what stood there."""
    if turn.kind in ("roles", "attribution") or (turn.old and turn.new) or not words:
        return False
    change = edit.words[words[0]]
    gone, come = (_content(case.before[slice(*change.before)]), _content(case.after[slice(*change.after)]))
    return abs(come - gone) >= _CLAUSE


def _content(text: str) -> int:
    return sum(w.is_content for w in read_marks(text).words)


def _against(index: Nearest, new: str, contradicts: Contradicts) -> str | None:
    """What of a new sentence contradicts the sentence that it is closest to."""
    opening = _judged(index, new)
    if opening:
        return f'"{opening}", which nothing given says'
    for start, end in clause_spans(new):
        claim = new[start:end]
        found = index.nearest(claim)
        near = [text for share, text in found if share >= found[0][0] - _MARGIN]
        against = [contradicts(text, claim) for text in near]
        if against and all(against):
            turn = against[0]
            assert turn is not None
            return f'{turn.why}, against "{near[0][:60]}"'
    return None


def _judged(index: Nearest, new: str) -> str | None:
    """Words of an opening that judge what is said ("falsely", "a proven fact"), where no given text has them."""
    reading = read_marks(new)
    behind = reading.words[reading.opening].start if reading.opening < len(reading.words) else len(new)
    for mark in reading.marks:
        if mark.kind == "report" and mark.level != "shown" and mark.end <= behind:
            word = new[mark.start : mark.end]
            if not index.holds(word):
                return word
    return None
