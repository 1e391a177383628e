"""Comparisons of any size, made of the records of every status with scores that a seed draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from eirene.agent.experiments.compare import CompareRow
from eirene.agent.experiments.compare_summary import errors_by_row, summarise
from eirene.core.records import BeforeAfter, Item, Mode, Record
from eirene.core.scores import Scores, Unscored
from eirene.views.comparison.page import ItemMeasure, render_comparison_page
from tests.views.records import ITEM, record

MODES: tuple[Mode, ...] = ("improve", "generic", "fine-grained")
GAINS: Mapping[Mode, float] = {"improve": 0.0, "generic": 0.02, "fine-grained": 0.3}
"""By how much the coverage error of an accepted rewrite is lower in each mode."""


@cache
def _of_status(status: str) -> Record:
    return record(status)


def compared_rows(
    n: int, *, modes: Sequence[Mode] = MODES, gains: Mapping[Mode, float] = GAINS, question: str = "Should zoos close"
) -> list[CompareRow]:
    """A row for each of `n` items and each mode; every seventh item is kept and every ninth is complete."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(n):
        before = 0.5 + 0.4 * rng.random()
        for mode in modes:
            status = "kept" if i % 7 == 1 else "complete" if i % 9 == 2 else "accepted"
            gain = (gains[mode] if status == "accepted" else 0.0) * (0.5 + rng.random())
            found.append(_row(i, mode, status, (before, max(0.0, before - gain)), question=f"{question} ({i})?"))
    return found


def _row(i: int, mode: Mode, status: str, coverage: tuple[float, float], *, question: str) -> CompareRow:
    data = _of_status(status).model_dump(mode="json")
    scores = {
        side: {"rule": Scores(hallucination=0.2, coverage=value).model_dump(mode="json")}
        for side, value in zip(("original", "final"), coverage, strict=True)
    }
    data |= {"id": f"item-{i}", "question": question, "mode": mode, "scores": scores}
    data["signature"] = f"mode:{mode}|seed:0|v:1"
    own = Record.model_validate(data)
    return CompareRow(id=own.id, mode=mode, seed=0, hash="-", given="perspectives", record=own)


def random_rows(rng: np.random.Generator) -> list[CompareRow]:
    """A table of three or four modes with any means and gaps; where a score is missing may hang on how good it is."""
    modes: Sequence[Mode] = ("improve", "generic", "fine-grained", "edit")[: rng.integers(3, 5)]
    means, spread, gaps = rng.random(len(modes)) * rng.choice([0.05, 0.6]), rng.random(), rng.random() * 0.3
    record, found = _of_status("accepted"), []
    for i in range(rng.integers(4, 30)):
        shared = rng.random() * 0.5
        for mode, mean in zip(modes, means, strict=True):
            errors = np.clip(shared + mean + spread * rng.normal(0, 0.2, size=2), 0, 1)
            kept = [float(e) if rng.random() > gaps * (0.5 + e) else Unscored(unscored="none") for e in errors]
            scores = {"rule": Scores(hallucination=kept[0], coverage=kept[1])}
            own = record.model_copy(
                update={"id": f"i{i}", "mode": mode, "scores": BeforeAfter(original=scores, final=scores)}
            )
            found.append(CompareRow.model_construct(id=own.id, mode=mode, seed=0, hash="-", given="perspectives",
                                                    record=own))  # fmt: skip
    return found


def page_of(rows: Sequence[CompareRow], *, title: str = "Comparison on zoos.jsonl") -> str:
    """The page that `eirene compare` writes of the rows."""
    measures = [ItemMeasure(*found) for found in errors_by_row(rows, {})]
    items = {row.id: Item.model_validate({**ITEM, "id": row.id}) for row in rows}
    return render_comparison_page([row.record for row in rows], measures, summary_of(rows), title=title, items=items)


def summary_of(rows: Sequence[CompareRow]) -> dict[str, Any]:
    """The figures of the rows, by few draws."""
    return summarise(rows, draws=300)
