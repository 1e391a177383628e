"""The edit refiner: carries out the edits of a critique's findings, and leaves the rest byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

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
