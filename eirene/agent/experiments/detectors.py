"""Evaluation and calibration of detectors on labelled answers: a journal row for each answer and detector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eirene.agent.batch.rows import RowJournal, RowKind
from eirene.core.errors import InputError
from eirene.core.scores import Scores
from eirene.core.signature import signature
from eirene.core.usage import Usage
from eirene.data.output import make_folder
from eirene.eval.base import Case, Detector, case_of, unmet
from eirene.eval.calibration import Calibration
from eirene.eval.calibration_fit import CalibrationPlan, calibrate
from eirene.eval.datasets import Labelled
from eirene.eval.metrics.detectors import (
    DetectorRow,
    EvaluationPlan,
    ScoredCases,
    costs,
    detector_report,
    row_key,
)
from eirene.eval.scoring import DetectorOutcome, Scorer, workers_for
from eirene.models.limits import DEFAULT_CONCURRENCY

ROWS = "rows.jsonl"

OnRow = Callable[[DetectorRow], None]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The rows by key, from disk or new, and where each set of answers finds its own.

    `n_from_journal`: rows that were there before; `n_left_out`: rows in the journal that this evaluation does not ask
    for.
    """

    rows: Mapping[str, DetectorRow]
    data: ScoredCases
    dev: ScoredCases | None
    n_from_journal: int
    n_left_out: int


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How rows are made. `concurrency` bounds a model's calls and, with it, the answers under way; `seed` is that of
    the detectors' draws. `retry_failed` makes rows again whose detector failed.
    """

    seed: int = 0
    concurrency: int = DEFAULT_CONCURRENCY
    retry_failed: bool = False


async def aevaluate_detectors(
    data: Sequence[Labelled],
    detectors: Sequence[Detector],
    *,
    out: str | Path,
    dev: Sequence[Labelled] | None = None,
    work: EvaluateOptions | None = None,
    on_row: OnRow | None = None,
) -> Evaluated:
    """Makes the rows that the folder `out` does not have yet; a rerun after any end does only what is missing.

    Equal answers are scored once. A row whose detector fails is a `failed` row; an error that every row would meet (no
    access, no credit) ends the evaluation and is raised. Raises `InputError` for a folder that another run holds or
    that holds something else.
    """
    work = EvaluateOptions() if work is None else work
    if work.concurrency < 1:
        raise InputError(f"concurrency must be at least 1, got {work.concurrency}", field="concurrency")
    every = [*data, *(dev or ())]
    cases = [case_of(labelled.item) for labelled in every]
    keys = [{d.name: row_key(case, d, seed=work.seed) for d in detectors} for case in cases]
    scorer = Scorer(detectors)

    async def make(key: str, pair: tuple[str, Case, Detector]) -> DetectorRow:
        name, case, detector = pair
        outcome = await _score(scorer, detector, case)
        if outcome.hopeless is not None:
            raise outcome.hopeless
        return DetectorRow(
            key=key, id=name, detector=detector.name, version=detector.version, scores=outcome.scores,
            usage=outcome.usage, failed=outcome.failed,
        )  # fmt: skip

    pairs = [
        (by_name[d.name], (labelled.item.id, case, d))
        for labelled, case, by_name in zip(every, cases, keys, strict=True)
        for d in detectors
    ]
    workers = workers_for(detectors, work.concurrency)
    with RowJournal(make_folder(out) / ROWS, _ROWS) as journal:
        made = await journal.make(
            pairs, make, concurrency=1 if workers == 1 else workers * len(detectors), retry_failed=work.retry_failed,
            on_row=on_row,
        )  # fmt: skip
    rows = {row.key: row for row in made.rows}
    half = len(data)
    parts = [_part(every[:half], keys[:half], rows, detectors)]
    parts += [] if dev is None else [_part(every[half:], keys[half:], rows, detectors)]
    return Evaluated(rows, parts[0], None if dev is None else parts[1], made.n_from_journal, made.n_left_out)


_ROWS = RowKind(model=DetectorRow, name="rows of detectors", is_failed=lambda row: row.failed, place="folder")


async def _score(scorer: Scorer, detector: Detector, case: Case) -> DetectorOutcome:
    """The outcome; what needs given text is not asked about an answer to which nothing was given."""
    if "given" in detector.needs and case.given.source == "derived":
        return DetectorOutcome(Scores.none(unmet("given")), Usage())
    return await scorer.score_by(detector, case)


def summarise(found: Evaluated, plan: EvaluationPlan) -> dict[str, Any]:
    """Every figure of an evaluation in plain JSON, with the settings that made it."""
    from eirene._version import __version__

    report = detector_report(found.data, found.dev, plan=plan)
    line = signature(
        n=report["answers"],
        k=report["clusters"],
        dev=report["development_clusters"],
        draws=plan.draws,
        seed=plan.seed,
        v=__version__,
    )
    return {"signature": line, **report, "costs": costs(list(found.rows.values()))}


def _part(
    cases: Sequence[Labelled],
    keys: Sequence[Mapping[str, str]],
    rows: Mapping[str, DetectorRow],
    detectors: Sequence[Detector],
) -> ScoredCases:
    scores: dict[str, Any] = {d.name: [rows[by_name[d.name]].scores for by_name in keys] for d in detectors}
    return ScoredCases(tuple(cases), scores)


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
    cases = [case_of(labelled.item) for labelled in data]
    kept = [
        i for i, case in enumerate(cases)
        if not any(found.rows[row_key(case, d, seed=work.seed)].failed for d in detectors)
    ]  # fmt: skip
    scores = {name: [by_case[i] for i in kept] for name, by_case in found.data.scores.items()}
    whole = ScoredCases([data[i] for i in kept], scores)
    made = calibrate(whole, {d.name: d.version for d in detectors}, plan)
    failed = len(data) - len(kept)
    if failed:
        made = made.model_copy(update={"figures": {**made.figures, "failed": failed}})
    return CalibrationRun(made, replace(found, data=whole), failed)
