"""Calibration of detectors on labelled answers: scores them, a journal row each, and fits weights and thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eirene.agent.experiments.detectors import Evaluated, EvaluateOptions, OnRow, aevaluate_detectors
from eirene.eval.base import Detector, case_of
from eirene.eval.calibration.file import Calibration
from eirene.eval.calibration.report import CalibrationPlan, calibrate
from eirene.eval.datasets import Labelled
from eirene.eval.metrics.detectors import ScoredCases, row_key


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    """A calibration, the scored rows behind it, and how many answers are left out since a detector failed on them."""

    calibration: Calibration
    scored: Evaluated
    n_failed: int


async def acalibrate(
    data: Sequence[Labelled],
    detectors: Sequence[Detector],
    *,
    out: str | Path,
    plan: CalibrationPlan | None = None,
    work: EvaluateOptions | None = None,
    on_row: OnRow | None = None,
) -> CalibrationRun:
    """Scores the answers by the detectors, in a folder as `aevaluate_detectors` does, and fits what these scores allow.

    An answer on which a detector failed is left out: a failure is no value to be fitted. One that a detector cannot
    score (nothing was given, say) is a value of its own. Raises what `aevaluate_detectors` and `calibrate` raise.
    """
    plan = CalibrationPlan() if plan is None else plan
    plan.check()
    work = EvaluateOptions(seed=plan.seed) if work is None else work
    found = await aevaluate_detectors(data, detectors, out=out, work=work, on_row=on_row)
    whole = _without_failures(found, detectors, seed=work.seed)
    made = calibrate(whole, {d.name: d.version for d in detectors}, plan)
    failed = len(data) - len(whole.cases)
    if failed:
        made = made.model_copy(update={"figures": {**made.figures, "failed": failed}})
    return CalibrationRun(made, replace(found, data=whole), failed)


def _without_failures(found: Evaluated, detectors: Sequence[Detector], *, seed: int) -> ScoredCases:
    def is_whole(case: Labelled) -> bool:
        asked = case_of(case.item)
        return not any(found.rows[row_key(asked, d, seed=seed)].failed for d in detectors)

    kept = [i for i, case in enumerate(found.data.cases) if is_whole(case)]
    scores = {name: [by_case[i] for i in kept] for name, by_case in found.data.scores.items()}
    return ScoredCases([found.data.cases[i] for i in kept], scores)
