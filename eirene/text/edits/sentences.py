"""Sentence edits: each sentence of two texts kept, reworded, added, removed or moved.

Sentences are paired (`eirene.text.edits.pairing`); inside a reworded one the changed words are edits of their own, so
that one of them can be undone alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eirene.text.edits.base import SentenceEdit
from eirene.text.edits.pairing import SentencePair, paired
from eirene.text.edits.pieces import piece_spans, spaced
from eirene.text.edits.words import word_edits
from eirene.text.form import is_form
from eirene.text.matching import Span


def sentence_edits(before: str, after: str) -> tuple[SentenceEdit, ...]:
    """The edits that turn one text into the other, in reading order; a removed sentence stands where it stood.

    Every sentence that is not blank is in exactly one edit. One that differs only in white space is kept, unless it is
    structure. Of a sentence that is said twice the first is kept, or reworded, and the second added, or removed. Past
    some thousand changed sentences all that differ are removed and added.
    """
    a, b = piece_spans(before), piece_spans(after)
    pairs = paired([before[slice(*s)] for s in a], [after[slice(*s)] for s in b])
    return edits_of_pairs(before, after, pairs)


def edits_of_pairs(before: str, after: str, pairs: Sequence[SentencePair]) -> tuple[SentenceEdit, ...]:
    """The same for two texts whose sentences are paired already, by their place among those that are not blank."""
    return tuple(_in_reading_order(before, after, (piece_spans(before), piece_spans(after)), pairs))


def _in_reading_order(
    before: str, after: str, spans: tuple[Sequence[Span], Sequence[Span]], pairs: Sequence[SentencePair]
) -> Iterator[SentenceEdit]:
    a, b = spans
    moved_away = {pair.first_before for pair in pairs if pair.is_moved}
    moved_here = {pair.first_after: pair for pair in pairs if pair.is_moved}
    at_a = at_b = 0
    for pair in [*(p for p in pairs if not p.is_moved), None]:
        i, j = (pair.first_before, pair.first_after) if pair else (len(a), len(b))
        yield from (SentenceEdit("removed", a[n], None) for n in range(at_a, i) if n not in moved_away)
        for n in range(at_b, j):
            moved = moved_here.get(n)
            yield _edit(before, after, spans, moved) if moved else SentenceEdit("added", None, b[n])
        if pair:
            yield _edit(before, after, spans, pair)
            at_a, at_b = pair.last_before + 1, pair.last_after + 1


def _edit(before: str, after: str, spans: tuple[Sequence[Span], Sequence[Span]], pair: SentencePair) -> SentenceEdit:
    a, b = spans
    old = a[pair.first_before][0], a[pair.last_before][1]
    new = b[pair.first_after][0], b[pair.last_after][1]
    was, now = before[slice(*old)], after[slice(*new)]
    if was == now or (spaced(was) == spaced(now) and not is_form(was)):
        return SentenceEdit("moved" if pair.is_moved else "kept", old, new)
    return SentenceEdit("moved" if pair.is_moved else "reworded", old, new, word_edits(before, after, old, new))
