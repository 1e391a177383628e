"""Calibration from answers to a file: rows in a journal; an answer on which a detector failed is no value of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from eirene.agent.experiments.detectors import acalibrate
from eirene.core.errors import BackendError
from eirene.core.records import Item
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need
from eirene.eval.calibration_fit import CalibrationPlan
from eirene.eval.datasets import Labelled

PLAN = CalibrationPlan(draws=50)
DATA = [
    Labelled(
        Item(id=str(n), question=f"Q{n}?", answer=f"Wrong {n}." if n % 2 else f"Right {n}."), f"Q{n}?", bool(n % 2)
    )
    for n in range(60)
]


class Sometimes:
    """Ranks errors first, far under 0.5; cannot score every tenth answer, and fails on two."""

    name, version = "sometimes", "7"
    needs: frozenset[Need] = frozenset({"judge"})
    asked = 0

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        self.asked += 1
        n = int(case.question[1:-1])
        if n in (4, 5):
            raise BackendError("the server is gone")
        if n % 10 == 0:
            return Scores.none("nothing to go by")
        return Scores(hallucination=0.2 + n / 1000 if n % 2 else 0.1, coverage=Unscored(unscored="not asked"))


def test_failures_are_left_out_and_what_cannot_be_scored_counts(tmp_path: Path) -> None:
    detector = Sometimes()
    found = asyncio.run(acalibrate(DATA, [detector], out=tmp_path, plan=PLAN))
    part = found.calibration.errors["hallucination"]
    figures = found.calibration.figures["errors"]["hallucination"]
    assert found.n_failed == 2 and figures["answers"] == 58 and figures["unscored"] == {"sometimes": 6}
    # Only this detector is there: where it has no score, nobody can tell, and the fit is made without these.
    assert part.answers == 52 and figures["loss"]["n"] == 52 and figures["loss"]["high"] < 0.5
    assert found.calibration.detectors == {"sometimes": "7"}


def test_a_rerun_asks_nothing_and_writes_the_same(tmp_path: Path) -> None:
    texts = []
    for asked in (60, 0):
        detector = Sometimes()
        found = asyncio.run(acalibrate(DATA, [detector], out=tmp_path, plan=PLAN))
        texts.append(found.calibration.to_text())
        assert detector.asked == asked
    assert texts[0] == texts[1]
