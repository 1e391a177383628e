"""The interface of refiners: a task in, a rewritten answer out, or several drafts of one; and the edit refiner.

The edit refiner carries out the edits of a critique's findings, and leaves the rest byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from eirene.core.critique import HALLUCINATIONS, Critique, Finding
from eirene.core.findings.edits import Removal, apply_findings
from eirene.core.loop_settings import RewriteForm
from eirene.core.records import Change, Item, Mode
from eirene.core.usage import Meter
from eirene.core.verification import NumberedEvidence


@dataclass(frozen=True, slots=True)
class Rejection:
    """What the gate found wrong with an earlier candidate of the same text, for the next try.

    `changes` are those of the patch that made it, where one did.
    """

    candidate: str
    why: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class RefineTask:
    """One rewriting job. `answer` is the best text so far; `critique` is None in the modes that use none.

    `seed` is derived for this round; the same task gives the same rewrite where the model can be seeded. `undone`:
    edits of earlier, accepted rewrites that the gate undid, each in words with its reason. `evidence`: the sentences of
    the passages that a language model is shown; None for all. `form`, `count` and `temperature` say how it is to draw:
    what it writes, how many rewrites at once, and how freely.
    """

    item: Item
    answer: str
    mode: Mode
    critique: Critique | None
    rejections: tuple[Rejection, ...]
    seed: int
    undone: tuple[str, ...] = ()
    evidence: NumberedEvidence | None = None
    form: RewriteForm = "whole"
    count: int = 1
    temperature: float | None = 0.0


@dataclass(frozen=True, slots=True)
class DrawnText:
    """One rewrite that a model drew. `changes` of its patch were made, `refused` ones were not, each with the reason.

    `unusable`: why the reply could not be read as a rewrite; `text` is then what came.
    """

    text: str
    seed: int
    form: RewriteForm = "whole"
    changes: tuple[Change, ...] = ()
    refused: tuple[str, ...] = ()
    unusable: str | None = None


class Refiner(Protocol):
    """Rewrites answers. Implementations are small classes; nobody inherits to share code.

    One that heeds a task's `form`, `count` and `temperature` says so by `draws = True`, for the signature of the run;
    one that only computes by `fixed = True`: where it changes nothing, it is not asked again.
    """

    @property
    def name(self) -> str:
        """What the record calls this refiner."""

    async def refine(self, task: RefineTask, *, meter: Meter) -> str | Sequence[DrawnText]:
        """The rewritten answer, whole, or what a model drew, at least one draft; those that draw are asked again where
        nothing new came. Returning the text unchanged means that nothing could be bettered.

        Raises `BackendError` when the model cannot be reached or gives nothing; every call goes on `meter`.
        """


class EditRefiner:
    """Applies the voted edits without another model call, for mode `edit`.

    Entity and relation are replaced; the other kinds go, or with `removal="mark"` stay with their kind in brackets
    after them; joints are mended (`eirene.core.findings.edits`). After a rejection of the same text the next, more
    careful proposal is made: all edits; replacements alone; removals alone. Where no edit is known, or no proposal is
    left, the text comes back unchanged.
    """

    name = "edit"
    fixed = True

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
    return [f for f in found if f.kind in HALLUCINATIONS or (f.kind in ("unsupported", "repeated") and not f.edit)]
