"""The edit refiner: carries out the edits of a critique's findings, and leaves the rest byte for byte."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eirene.core.critique import Finding
from eirene.core.findings.edits import Removal, apply_findings
from eirene.core.findings.kinds import is_hallucination
from eirene.core.usage import Meter
from eirene.refiners.base import RefineTask


class EditRefiner:
    """Applies the voted edits without another model call, for mode `edit`.

    Entity and relation are replaced; the other kinds go, or with `removal="mark"` stay with their kind in brackets
    after them; joints are mended (`eirene.core.findings.edits`). After a rejection of the same text the next, more
    careful proposal is made: all edits; replacements alone; removals alone. Where no edit is known, or no proposal is
    left, the text comes back unchanged.
    """

    name = "edit"

    def __init__(self, *, removal: Removal = "remove") -> None:
        self._removal: Removal = removal

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The edited answer; nothing goes on `meter`, since nothing is called."""
        findings = _edits(task)
        rejected = {r.candidate.strip() for r in task.rejections} | {task.answer.strip()}
        replacements = [f for f in findings if f.edit]
        removals = [f for f in findings if not f.edit]
        for chosen in (findings, replacements, removals)[len(task.rejections) :]:
            candidate = apply_findings(task.answer, chosen, removal=self._removal).text
            if candidate.strip() not in rejected:
                return candidate
        return task.answer


def _edits(task: RefineTask) -> Sequence[Finding]:
    """What can be carried out on the text as it stands: hallucinations, and what a critic would have dropped.

    A critique that speaks of another text than `task.answer` asks for nothing. What is missing or misplaced takes
    words of its own to say, and so a refiner that writes.
    """
    if task.critique is None or any(task.answer[s.start : s.end] != s.text for s in task.critique.sentences):
        return ()
    found = [f for s in task.critique.sentences for f in s.findings if f.edit is not None and f.end <= len(task.answer)]
    return [f for f in found if is_hallucination(f) or (f.kind in ("unsupported", "repeated") and not f.edit)]


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `new`: a deletion where `new` is empty, an insertion where `start == end`."""

    start: int
    end: int
    new: str = ""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Insertions at one place keep their order and stand before a replacement there.

    Raises ValueError where two edits overlap or one lies outside the text.
    """
    pieces, at = [], 0
    for edit in sorted(edits, key=_place):
        if not at <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start} to {edit.end} overlaps another or lies outside {len(text)} characters")
        pieces += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*pieces, text[at:]])


def compatible(edits: Iterable[Edit]) -> list[Edit]:
    """Those edits that overlap none before them in the list, in the order of the text."""
    kept: list[Edit] = []
    spans: list[tuple[int, int]] = []  # of the kept edits that replace something, in order, never overlapping
    points: list[int] = []  # of the kept insertions
    for edit in edits:
        at = bisect_left(spans, (edit.start, edit.end))
        if any(edit.start < end and start < edit.end for start, end in spans[max(at - 1, 0) : at + 1]):
            continue
        if edit.start == edit.end:
            insort(points, edit.start)
        elif bisect_right(points, edit.start) < bisect_left(points, edit.end):
            continue
        else:
            spans.insert(at, (edit.start, edit.end))
        kept.append(edit)
    return sorted(kept, key=_place)


def _place(edit: Edit) -> tuple[int, bool]:
    return edit.start, edit.end > edit.start
