"""Critic and refiner alone, without vote and gate, on answers with known errors: what `fit_critic.py` chooses by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
from loop_truth import Outcome, Row, measure

from eirene.alignment.comparison import Comparison, compare
from eirene.core.critique import Critique, TaggedSentence
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.embedded.evidence import AnswerEvidence, Critic, gather
from eirene.feedback_model.embedded.faults import AnswerFault, faults_of
from eirene.models.encoder import Encoder
from eirene.refiners.base import RefineTask
from eirene.refiners.embedded.refiner import EmbeddedRefiner


def read_rows(file: Path, claims: Path | None = None) -> list[Row]:
    """The rows of a file, or those whose claim is in the JSON list `claims`."""
    wanted = None if claims is None else set(json.loads(claims.read_text(encoding="utf-8")))
    return [row for row in harness.read_rows(file) if wanted is None or row["claim_id"] in wanted]


def item_of(row: Row) -> Item:
    """A row of `mixed_*` or `cases_*` as an item with two perspectives."""
    given: list[Any] = [
        {"name": side, "arguments": [a["text"] for a in row[f"{side}_arguments"]]} for side in ("pro", "con")
    ]
    return Item(id=row["id"], question=row["query"], answer=row["response"], perspectives=given)


@dataclass(frozen=True)
class Prepared:
    """A row with everything that does not depend on the critic's constants."""

    row: Row
    item: Item
    comparison: Comparison
    evidence: AnswerEvidence
    encoder: Encoder


def prepare(rows: Iterable[Row], encoder: Encoder) -> list[Prepared]:
    """Compares every row's answer with its arguments."""
    prepared = []
    for row in rows:
        item = item_of(row)
        comparison = compare(item, item.answer, encoder)
        assert comparison is not None, "every row has arguments"
        evidence = gather(comparison, item.question, item.answer, encoder)
        prepared.append(Prepared(row, item, comparison, evidence, encoder))
    return prepared


class Outcomes:
    """Outcomes of critic and refiner alone, computed once for the same decisions on the same row."""

    def __init__(self, prepared: Sequence[Prepared]) -> None:
        self._prepared = prepared
        self._known: dict[tuple[str, tuple[str, ...]], Outcome] = {}

    def under(self, critic: Critic) -> list[Outcome]:
        """One outcome a row, every fault above its threshold acted on."""
        return [self._outcome(p, critic) for p in self._prepared]

    def _outcome(self, p: Prepared, critic: Critic) -> Outcome:
        faults = [f for f in faults_of(p.comparison, p.evidence, critic) if f.margin > 0]
        key = (p.item.id, tuple(f.reason for f in faults))
        if key not in self._known:
            self._known[key] = measure(p.row, rewritten(p, faults))
        return self._known[key]


def rewritten(p: Prepared, faults: Sequence[AnswerFault]) -> str:
    """The answer after the refiner has acted on the faults."""
    tagged = []
    for i, s in enumerate(p.comparison.alignment.sentences):
        here = [f for f in faults if f.sentence == i]
        tagged.append(
            TaggedSentence(
                n=s.n,
                text=s.text,
                start=s.text_start,
                end=s.text_end,
                tag="Incomplete" if here else "Complete",
                reason=" ".join(f.reason for f in here) or None,
                findings=tuple(finding for f in here for finding in f.findings),
            )
        )
    critique = Critique(
        sentences=tuple(tagged), tag_consistency=None, reason_consistency=None, n_drawn=0, n_valid=0, n_requested=0
    )
    task = RefineTask(p.item, p.item.answer, "fine-grained", critique, (), 0)
    return asyncio.run(EmbeddedRefiner(p.encoder).refine(task, meter=Meter()))
