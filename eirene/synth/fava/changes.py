"""Changes that make a right text wrong, the findings that take them back, and the row of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.critique import Finding
from eirene.fava.edits import apply_findings
from eirene.fava.kinds import HallucinationKind, finding_of
from eirene.fava.tags import write_tagged
from eirene.records import Item
from eirene.retrieval.passages import Passage


@dataclass(frozen=True, slots=True)
class Change:
    """`text[start:end]` becomes `new`; an insertion where start == end."""

    kind: HallucinationKind
    start: int
    end: int
    new: str


def changed(text: str, findings: Sequence[Finding], change: Change) -> tuple[str, list[Finding]]:
    """The text with one more change, and its findings, in order: those that were there, moved, and the change's own.

    White space around what is inserted is no part of its finding. No finding may lie inside of the change.
    """
    whole = text[: change.start] + change.new + text[change.end :]
    is_insertion = change.start == change.end
    lead = len(change.new) - len(change.new.lstrip()) if is_insertion else 0
    trail = len(change.new) - len(change.new.rstrip()) if is_insertion else 0
    start, end = change.start + lead, change.start + len(change.new) - trail
    found = [(change.kind, start, end, text[change.start : change.end])]
    for f in findings:
        by = len(change.new) - (change.end - change.start) if f.start >= change.end else 0
        kind: HallucinationKind = f.kind  # type: ignore[assignment]  # findings of changes are of the six kinds
        found.append((kind, f.start + by, f.end + by, f.edit or ""))
    made = [finding_of(kind, a, b, text=whole, edit=edit) for kind, a, b, edit in found]
    return whole, sorted(made, key=lambda f: f.start)


def fault(right: str, wrong: str, findings: Sequence[Finding]) -> str | None:
    """Why a row is not worth having; None if its findings are all that keeps it from the right text."""
    if any(wrong[f.start : f.end] == f.edit for f in findings):
        return "an error that changes nothing"
    if apply_findings(wrong, findings).text.split() != right.split():
        return "its edits do not give the passage back"
    return None


def row(
    passage: Passage, right: str, wrong: str, findings: Sequence[Finding], others: Sequence[str], *, count: int,
    rng: np.random.Generator, **meta: Any,
) -> Item:  # fmt: skip
    """The row: `answer` the wrong text, `gold` the right one, `context` the passage among others in a drawn order."""
    references = [passage.shown, *(o for o in others if o != passage.shown)][:count]
    mixed = [references[i] for i in rng.permutation(len(references))]
    said = [f.model_dump(mode="json") for f in findings]
    about: dict[str, Any] = {
        "findings": said, "tagged": write_tagged(wrong, findings), "source": passage.id, "cluster": passage.id,
    }  # fmt: skip
    question = f"What is known about {passage.title}?" if passage.title else "What do the references say?"
    return Item(
        id=f"{passage.id}-errors", question=question, answer=wrong, context=mixed, gold=right, meta={**about, **meta}
    )
