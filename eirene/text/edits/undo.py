"""Undone edits: a text rebuilt without some of the edits that made it, and where each sentence of it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eirene.text.edits.layout import (
    TextSide,
    has_break,
    is_numbered,
    is_regular,
    joined_lead,
    lead_within,
    opening_lead,
    renumbered_leads,
    same_marker,
)
from eirene.text.edits.words import SentenceEdit
from eirene.text.matching import Span
from eirene.text.unicode import is_unspaced

Undoing = Mapping[int, tuple[int, ...] | None]
"""What is undone, by the index of the edit: the whole edit (None), or those of its changed words."""


@dataclass(frozen=True, slots=True)
class RebuiltPiece:
    """A sentence of a rebuilt text, by offsets, and the index of the edit that it comes from."""

    start: int
    end: int
    edit: int


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A text with some edits undone, and where each of its sentences comes from."""

    text: str
    pieces: tuple[RebuiltPiece, ...]


def undone(before: str, after: str, edits: Sequence[SentenceEdit], undo: Undoing) -> Rebuilt:
    """`after` with edits undone: sentences restored or put back where they stood, additions dropped, words put back.

    Nothing undone gives `after`, but that lists which counted in `before` count on, and every changed edit wholly
    undone gives `before`, byte for byte. Between, white space and list markers are those of the text that a sentence is
    taken from; paragraphs stay apart, a list item goes with its line, and numbered lists count on. A sentence all of
    whose words are put back is restored as a whole. Edits that were kept, and indices that there are not, change
    nothing.
    """
    chosen = _chosen(edits, undo)
    if not chosen and not _stops_counting(before, after, edits):
        return Rebuilt(after, _pieces((e.after, n) for n, e in enumerate(edits)))
    if all(chosen.get(n, ()) is None for n, edit in enumerate(edits) if edit.kind != "kept"):
        return Rebuilt(before, _pieces((e.before, n) for n, e in enumerate(edits)))
    return _Rebuilding(before, after, edits, chosen).done()


def _stops_counting(before: str, after: str, edits: Sequence[SentenceEdit]) -> bool:
    """Whether items went out of a list that counted one by one, and its numbers stayed: 1, 3, 5."""
    old = TextSide(before, {n: e.before for n, e in enumerate(edits) if e.before}).leads[:-1]
    new = TextSide(after, {n: e.after for n, e in enumerate(edits) if e.after}).leads[:-1]
    return is_numbered(old) and is_regular(old) and is_numbered(new) and not is_regular(new)


def _chosen(edits: Sequence[SentenceEdit], undo: Undoing) -> dict[int, tuple[int, ...] | None]:
    chosen: dict[int, tuple[int, ...] | None] = {}
    for n, words in undo.items():
        if not 0 <= n < len(edits) or edits[n].kind == "kept" or words == ():
            continue
        there = None if words is None else tuple(sorted({k for k in words if 0 <= k < len(edits[n].words)}))
        if there != ():
            is_moved = edits[n].kind == "moved"  # its words may all be put back where it stands now
            whole = there is not None and len(there) == len(edits[n].words) and not is_moved
            chosen[n] = None if whole else there
    return chosen


def _pieces(spans: Iterable[tuple[Span | None, int]]) -> tuple[RebuiltPiece, ...]:
    return tuple(RebuiltPiece(*span, n) for span, n in sorted((span, n) for span, n in spans if span))


class _Rebuilding:
    """The work on one text: the sentences that it will have, and what stands between them."""

    def __init__(
        self, before: str, after: str, edits: Sequence[SentenceEdit], chosen: Mapping[int, tuple[int, ...] | None]
    ) -> None:
        self._before, self._after, self._edits, self._chosen = before, after, edits, chosen
        self._old = TextSide(before, {n: e.before for n, e in enumerate(edits) if e.before})
        self._new = TextSide(after, {n: e.after for n, e in enumerate(edits) if e.after})
        whole = [n for n, words in chosen.items() if words is None]
        self._returns = {n for n in whole if edits[n].kind in ("removed", "moved")}
        self._dropped = {n for n in whole if edits[n].kind in ("added", "moved")}
        self._counts = is_regular(self._old.leads[:-1]) and (
            is_regular(self._new.leads[:-1]) or _stops_counting(before, after, edits)
        )

    def done(self) -> Rebuilt:
        order = self._order()
        around: list[int | None] = [None, *order, None]
        leads = [self._lead(p, q) for p, q in pairwise(around)]
        if self._counts:
            leads = renumbered_leads(leads[:-1]) + leads[-1:]
        parts, at, pieces = [], 0, []
        for n, lead in zip(order, leads, strict=False):
            said = self._said(n)
            pieces.append(RebuiltPiece(at + len(lead), at + len(lead) + len(said), n))
            parts += [lead, said]
            at += len(lead) + len(said)
        return Rebuilt("".join([*parts, leads[-1]]), tuple(pieces))

    def _order(self) -> list[int]:
        """The edits whose sentences the text has, in its order: what returns stands after what it stood after."""
        returning: dict[int | None, list[int]] = {}
        anchor: int | None = None
        for n in self._old.order:
            if n in self._returns:
                returning.setdefault(anchor, []).append(n)
            elif self._is_in_order(n):
                anchor = n
        order = list(returning.get(None, ()))
        waiting: list[int] = []  # they begin a line, and so stand after what was added to the line before them
        for n in self._new.order:
            if n in self._dropped:
                continue
            if waiting and (self._is_in_order(n) or has_break(self._new.leads[self._new.rank[n]])):
                order += waiting
                waiting = []
            order.append(n)
            back = returning.get(n, [])
            if back and has_break(self._old.leads[self._old.rank[back[0]]]):
                waiting = back
            else:
                order += back
        return order + waiting

    def _is_in_order(self, n: int) -> bool:
        return self._edits[n].kind in ("kept", "reworded")

    def _said(self, n: int) -> str:
        edit, words = self._edits[n], self._chosen.get(n, ())
        if words:
            return _with_words_back(self._before, self._after, edit, words)
        text, span = (self._before, edit.before) if words is None else (self._after, edit.after)
        return text[slice(*span)] if span else ""

    def _lead(self, p: int | None, q: int | None) -> str:
        """What stands between two sentences; None for the beginning and the end of the text."""
        pa, qa = self._rank_after(p, -1), self._rank_after(q, len(self._new.order))
        pb, qb = self._rank_before(p, -1), self._rank_before(q, len(self._old.order))
        old, new = self._old.leads, self._new.leads
        if pa is not None and qa == pa + 1:
            return new[qa]
        over = self._over_a_gap(new[pa + 1 : qa + 1], p, q) if pa is not None and qa is not None and pa < qa else None
        if pb is not None and qb == pb + 1 and (qa is None or same_marker(old[qb], new[qa] if over is None else over)):
            return old[qb]
        if over is not None:
            return over
        if pb is not None and qb is not None and pb < qb:
            return self._over_a_gap(old[pb + 1 : qb + 1], p, q)
        own = new[qa] if qa is not None else old[qb or 0]
        opened_its_text = 0 in (qa, qb if qa is None else None)
        if p is not None and q is not None and opened_its_text:
            return lead_within(own, old[pb + 1] if pb is not None else new[(pa or 0) + 1])
        return opening_lead("", own) if p is None else own or self._space(p, q)

    def _over_a_gap(self, leads: Sequence[str], p: int | None, q: int | None) -> str:
        if q is None:
            return leads[-1]
        joined = joined_lead(leads, renumber=self._counts)
        return opening_lead(leads[0], joined) if p is None else joined or self._space(p, q)

    def _space(self, p: int, q: int | None) -> str:
        return "" if q is None or is_unspaced(self._said(p)[-1]) or is_unspaced(self._said(q)[0]) else " "

    def _rank_after(self, n: int | None, edge: int) -> int | None:
        return edge if n is None else None if n in self._returns else self._new.rank.get(n)

    def _rank_before(self, n: int | None, edge: int) -> int | None:
        if n is None:
            return edge
        return self._old.rank.get(n) if n in self._returns or self._is_in_order(n) else None


def _with_words_back(before: str, after: str, edit: SentenceEdit, words: Sequence[int]) -> str:
    """A sentence with changed words as they were, and with the white space that stood around them."""
    assert edit.before is not None and edit.after is not None
    parts, at = [], edit.after[0]
    for k in words:
        word = edit.words[k]
        start, end = _with_space(after, word.after, edit.after)
        if start >= at:
            parts += [after[at:start], before[slice(*_with_space(before, word.before, edit.before))]]
            at = end
    said = "".join([*parts, after[at : edit.after[1]]])
    opened_large = before[edit.before[0]].isupper() and after[edit.after[0]].isupper()
    capital = said[:1].upper()
    return capital + said[1:] if opened_large and len(capital) == 1 else said


def _with_space(text: str, span: Span, whole: Span) -> Span:
    start, end = span
    while start > whole[0] and text[start - 1].isspace():
        start -= 1
    while end < whole[1] and text[end].isspace():
        end += 1
    return start, end
