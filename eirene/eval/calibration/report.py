"""Calibrates detectors on labelled answers, and measures what that gains over the default threshold by fold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.core.errors import InputError
from eirene.core.signature import check_seed, digest, signature
from eirene.eval.calibration.file import ERRORS, Calibration, Criterion, Error, Fitted
from eirene.eval.calibration.fit import LabelledScores, check_enough, cross_validated, fit
from eirene.eval.calibration.losses import SAID, counts_of, difference, loss_of, measure
from eirene.eval.metrics.detectors import ScoredCases
from eirene.eval.metrics.levels import LabelLevel, levels
from eirene.eval.statistics.bootstrap import Array, Resamples
from eirene.eval.statistics.ranking import Flags

Json = dict[str, Any]
DEFAULT = 0.5
ANY = "any of them"


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """How weights and thresholds are fitted and measured. `errors`: which are fitted, of those that have labels."""

    criterion: Criterion = "balanced"
    folds: int = 5
    seed: int = 0
    draws: int = 2000
    errors: Sequence[Error] = ERRORS

    def check(self) -> None:
        """Raises `InputError` for what cannot be done, before anything is spent."""
        if self.criterion not in SAID:
            raise InputError(f"criterion must be one of {', '.join(SAID)}, got {self.criterion!r}", field="criterion")
        if not 2 <= self.folds <= 100:
            raise InputError(f"folds must be from 2 to 100, got {self.folds}", field="folds")
        unknown = next((name for name in self.errors if name not in ERRORS), None)
        if unknown is not None or not self.errors:
            raise InputError(f"errors are {' and '.join(ERRORS)}, got {unknown or 'none'}", field="errors")
        check_seed(self.seed)
        Resamples(draws=self.draws, seed=self.seed)

    @property
    def signature(self) -> str:
        """The settings behind the figures, as one line."""
        return signature(criterion=self.criterion, folds=self.folds, seed=self.seed, draws=self.draws)


def check_calibratable(names: Iterable[str]) -> None:
    """Raises `InputError` where one of the detectors is itself a calibration."""
    if "calibrated" in names:
        raise InputError("a calibration is fitted to other detectors than `calibrated`; name these", field="detectors")


def calibrate(data: ScoredCases, versions: Mapping[str, str], plan: CalibrationPlan | None = None) -> Calibration:
    """Weights and a threshold for each error with enough labels, from scored answers.

    `versions`: that of each detector. The file's `figures` have the losses by fold and why errors or detectors have no
    part. Raises `InputError` where nothing can be fitted, with the numbers; `MissingExtraError` without scikit-learn.
    """
    plan = CalibrationPlan() if plan is None else plan
    plan.check()
    check_calibratable(data.scores)
    fitted: dict[Error, Fitted] = {}
    figures: Json = {"settings": plan.signature, "loss": SAID[plan.criterion], "errors": {}, "not_fitted": {}}
    known = {x.error: x for x in levels(data.cases, data.scores) if x.name == "answer"}
    for error in plan.errors:
        if error not in known:
            figures["not_fitted"][error] = "no labels"
            continue
        try:
            fitted[error], figures["errors"][error] = _one(known[error], plan)
        except InputError as reason:
            figures["not_fitted"][error] = str(reason)
    if not fitted:
        raise InputError("; ".join(f"{why}" if error in why else f"{error}: {why}"
                                   for error, why in figures["not_fitted"].items()), field="data")  # fmt: skip
    used = sorted({i.detector for found in fitted.values() for i in found.inputs})
    return Calibration(
        criterion=plan.criterion, seed=plan.seed, folds=plan.folds, data=_digest(data, plan.errors),
        detectors={name: versions[name] for name in used}, errors=fitted, figures=figures,
    )  # fmt: skip


def _one(level: LabelLevel, plan: CalibrationPlan) -> tuple[Fitted, Json]:
    data = LabelledScores(level.labels, level.clusters[1], level.values)
    check_enough(data, folds=plan.folds, error=level.error)
    found, left_out = fit(data, plan.criterion)
    if found is None:
        why = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise InputError(f"no detector says anything of {level.error}: {why}", field="detectors")
    called = cross_validated(data, plan.criterion, folds=plan.folds, seed=plan.seed)
    rows = {f"0.5 of {name}": called for name, called in _defaults(level.values).items()}
    rows[_constant_name(level.labels, plan.criterion)] = _constant(level.labels, plan.criterion)
    return found, {
        "answers": len(level.labels), "errors": int(level.labels.sum()),
        "clusters": len(np.unique(level.clusters[1])),
        "unscored": {name: int(np.isnan(values).sum()) for name, values in level.values.items()},
        "left_out": left_out, **_compared(called, rows, level, plan),
    }  # fmt: skip


def _defaults(values: Mapping[str, Array]) -> dict[str, Array]:
    """What each detector calls faulty at 0.5 [P], and, of several, any of them; NaN where it has no score."""
    called = {name: np.where(np.isnan(v), np.nan, (v >= DEFAULT).astype(np.float64)) for name, v in values.items()}
    there = {name: found for name, found in called.items() if not np.isnan(found).all()}
    if len(there) > 1:
        every = np.stack(list(there.values()))
        unscored = np.isnan(every).all(axis=0)
        there[ANY] = np.where(unscored, np.nan, (np.nan_to_num(every) > 0).any(axis=0).astype(np.float64))
    return there


def _constant(labels: Flags, criterion: Criterion) -> Array:
    """The better of calling every answer faulty and calling none so."""
    losses = [np.nan_to_num(loss_of(counts_of(np.full(len(labels), c), labels).sum(axis=0), criterion), nan=1.0)
              for c in (False, True)]  # fmt: skip
    return np.full(len(labels), float(losses[1] < losses[0]))


def _constant_name(labels: Flags, criterion: Criterion) -> str:
    return f"calling {'every answer' if _constant(labels, criterion)[0] else 'no answer'} faulty"


def _compared(called: Array, rows: Mapping[str, Array], level: LabelLevel, plan: CalibrationPlan) -> Json:
    """The fit's loss beside each other row's, and the difference on what both can tell; `better` than which of them."""
    resamples = Resamples(draws=plan.draws, seed=plan.seed)
    count, numbers = level.clusters

    def figures(found: Array) -> Json:
        there = ~np.isnan(found)
        loss, wrong = measure(found[there] > 0, level.labels[there], (count, numbers[there]), plan.criterion, resamples)
        return {"loss": loss.to_json(), "wrong": wrong.to_json()}

    shown: Json = {"fitted": figures(called), "others": {}, "better_than": [], "worse_than": [], "not_shown": []}
    for name, found in rows.items():
        both = ~np.isnan(found) & ~np.isnan(called)
        apart = difference(
            (called[both] > 0, found[both] > 0), level.labels[both], (count, numbers[both]), plan.criterion, resamples
        )
        shown["others"][name] = {**figures(found), "difference": apart.to_json()}
        shown[_side(apart.low, apart.high)].append(name)
    return shown


def _side(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "not_shown"
    return "better_than" if high < 0 else "worse_than" if low > 0 else "not_shown"


def _digest(data: ScoredCases, errors: Sequence[str]) -> str:
    """16 hex digits of the texts and labels that were fitted on."""
    rows = [
        [case.item.model_dump(mode="json", exclude={"id", "meta"}), case.cluster, *(getattr(case, e) for e in errors)]
        for case in data.cases
    ]
    return digest(rows)[:16]
