"""What spans to be removed take with them: sentences, clauses with their joints, or just the words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from eirene.clauses import Unit
from eirene.openings import opening_length
from eirene.refiners.answer_text import AnswerText
from eirene.refiners.edits import Edit
from eirene.refiners.layout import Layout

_NEAR = 200
"""Characters before an offset that tell whether a sentence goes on there."""


@dataclass(slots=True)
class Removed:
    """Whole sentences that go (by index), and edits for the clauses and words that go from others."""

    sentences: set[int] = field(default_factory=set)
    clauses: list[Edit] = field(default_factory=list)

    @classmethod
    def of(cls, text: AnswerText, spans: Sequence[tuple[int, int]]) -> Removed:
        result = cls()
        for i, here in text.spans_by_sentence(spans).items():
            atoms = text.atoms[i]
            covered = _Covered(here)
            dropped = [u for u in atoms if covered.holds(text.answer, u)]
            if len(dropped) == len(atoms):
                result.sentences.add(i)
            elif dropped:
                result.clauses += _clause_edits(text.answer, atoms, dropped)
            else:
                result.clauses += [_literal(text.answer, a, b) for a, b in here]
        return result

    def every_claim(self, text: AnswerText, claims: Callable[[int], bool]) -> bool:
        """Whether no sentence that `claims` something stays, whole or in part; where none does, whether none stays."""
        stays = [i for i, s in enumerate(text.sentences) if s.text and i not in self.sentences]
        return not stays or (bool(self.sentences) and not any(map(claims, stays)) and any(map(claims, self.sentences)))


class _Covered:
    """How much of a text spans hold; what two of them hold counts twice."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._starts, self._ends = _Below(start for start, _ in spans), _Below(end for _, end in spans)

    def holds(self, answer: str, unit: Unit) -> bool:
        """Whether the spans hold at least half of what a unit says, its opening left out."""
        start, end = unit.start + opening_length(answer[unit.start : unit.end]), unit.end
        return 2 * (self._before(end) - self._before(start)) >= max(end - start, 1)

    def _before(self, offset: int) -> int:
        return self._starts.distances(offset) - self._ends.distances(offset)


class _Below:
    """How far an offset is past those that lie before it, in all."""

    def __init__(self, offsets: Iterable[int]) -> None:
        self._sorted = sorted(offsets)
        self._sums = [0, *accumulate(self._sorted)]

    def distances(self, offset: int) -> int:
        n = bisect_left(self._sorted, offset)
        return n * offset - self._sums[n]


def _clause_edits(answer: str, atoms: Sequence[Unit], dropped: Sequence[Unit]) -> list[Edit]:
    """A clause goes with the joint before it, the first ones with the joint after them; the opening stays."""
    gone = frozenset(dropped)
    kept = [u for u in atoms if u not in gone]
    edits = []
    for before, unit in pairwise(atoms):
        if unit in gone and unit.start > kept[0].start:
            end = unit.start + len(answer[unit.start : unit.end].rstrip(" \t.!?…\"'”’)]*_"))
            edits.append(Edit(before.end, end))
    if atoms[0] in gone:
        opening = opening_length(answer[atoms[0].start : atoms[0].end])
        start = atoms[0].start + opening
        end = kept[0].start + opening_length(answer[kept[0].start : kept[0].end])
        capital = answer[end : end + 1].upper()
        needed = answer[start : start + 1].isupper() and not _goes_on(answer, start) and len(capital) == 1
        edits.append(Edit(start, end + 1, capital) if needed else Edit(start, end))
    return edits


def _goes_on(answer: str, offset: int) -> bool:
    """Whether an offset stands inside a sentence, after "that" or a comma, where no capital letter is needed."""
    before = answer[max(0, offset - _NEAR) : offset].rstrip()
    return before.endswith((",", " that", ":", ";"))


def _literal(answer: str, start: int, end: int) -> Edit:
    """A span that is less than a clause, with one of the two spaces around it."""
    if answer[end : end + 1] == " " and (start == 0 or answer[start - 1].isspace()):
        return Edit(start, end + 1)
    if start and answer[start - 1] == " " and (answer[end : end + 1] in (".", ",", ";", ":", "!", "?", "")):
        return Edit(start - 1, end)
    return Edit(start, end)


def dropped_lines(layout: Layout, start: int, end: int) -> Edit:
    """Whole lines, with one of two blank lines around them, so that paragraphs stay one blank line apart."""
    first, last = layout.line_at(start), layout.line_at(max(end - 1, start))
    a, b = layout.starts[first], layout.line_end(last)
    if layout.is_blank(first - 1) and layout.is_blank(last + 1):
        while last + 1 < len(layout.lines) and layout.is_blank(last + 1):
            last += 1
        if last + 1 < len(layout.lines) or first == 0:
            return Edit(a, layout.line_end(last))
        while first > 0 and layout.is_blank(first - 1):
            first -= 1
    if last + 1 >= len(layout.lines) and first > 0:  # at the end the line break before goes, the last one stays
        a, b = layout.content_end(first - 1), layout.content_end(layout.line_at(max(end - 1, start)))
    return Edit(a, b)
