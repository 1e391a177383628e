"""Fits a calibration on labelled answers, and measures by fold how often it is wrong.

A logistic regression over detectors' scores, and the threshold of least loss (scikit-learn).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.core.scores import ERRORS, Error, log_odds
from eirene.core.signature import check_seed, derive_seed, digest, signature
from eirene.eval.calibration import DIGITS, EDGE, Calibration, Fitted, Weighed
from eirene.eval.metrics.bootstrap import Array, Ints, Resamples, cluster_sums, ratio
from eirene.eval.metrics.detectors import ScoredCases
from eirene.eval.metrics.levels import levels
from eirene.eval.metrics.ranking import Flags

Json = dict[str, Any]
PER_WEIGHT = 10
LEAST = 20
"""Answers of each class that a fit needs: `LEAST`, and `PER_WEIGHT` for each detector."""
FEWEST_UNSCORED = 5
"""Answers that a detector must leave unscored for "unscored" to have a weight; with fewer, these are left out."""
_STRENGTH = 1.0  # C of scikit-learn's L2 penalty, on standardised log odds
LOSS = "mean of the share of errors that are missed and the share of others that are called errors"


@dataclass(frozen=True, slots=True)
class CalibrationPlan:
    """How weights and thresholds are fitted and measured."""

    folds: int = 5
    seed: int = 0
    draws: int = 2000

    def check(self) -> None:
        """Raises `InputError` for what cannot be done, before anything is spent."""
        if not 2 <= self.folds <= 100:
            raise InputError(f"folds must be from 2 to 100, got {self.folds}", field="folds")
        check_seed(self.seed)
        Resamples(draws=self.draws, seed=self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledScores:
    """Labels [P], clusters' numbers [P], and each detector's scores [P] with NaN where an answer is unscored."""

    labels: Flags
    clusters: Ints
    values: Mapping[str, Array]

    def part(self, inside: Flags | Ints) -> LabelledScores:
        """Some of the answers."""
        values = {name: found[inside] for name, found in self.values.items()}
        return LabelledScores(self.labels[inside], self.clusters[inside], values)

    def log_odds(self, found: Fitted) -> Array:
        """The log odds of each answer [P]; NaN where it has none."""
        rows = [
            {k: None if np.isnan(v[i]) else float(v[i]) for k, v in self.values.items()}
            for i in range(len(self.labels))
        ]
        odds = map(found.log_odds, rows)
        return np.array([np.nan if isinstance(value, str) else value for value in odds])


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
    known = {
        x.error: LabelledScores(x.labels, x.clusters[1], x.values)
        for x in levels(data.cases, data.scores)
        if x.name == "answer"
    }
    fitted: dict[Error, Fitted] = {}
    figures: Json = {}
    not_fitted: dict[str, str] = {}
    for error in ERRORS:
        try:
            if error not in known:
                raise InputError("no labels")
            _check_enough(known[error], folds=plan.folds, error=error)
            fitted[error], figures[error] = _one(known[error], plan, error)
        except InputError as reason:
            not_fitted[error] = str(reason)
    if not fitted:
        said = (why if error in why else f"{error}: {why}" for error, why in not_fitted.items())
        raise InputError("; ".join(said), field="data")
    used = sorted({i.detector for found in fitted.values() for i in found.inputs})
    settings = signature(folds=plan.folds, seed=plan.seed, draws=plan.draws)
    return Calibration(
        seed=plan.seed,
        folds=plan.folds,
        data=_digest(data),
        detectors={name: versions[name] for name in used},
        errors=fitted,
        figures={
            "settings": settings,
            "loss": LOSS,
            "errors": figures,
            "not_fitted": not_fitted,
        },
    )


def _digest(data: ScoredCases) -> str:
    """16 hex digits of the texts and labels that were fitted on."""
    rows = [
        [case.item.model_dump(mode="json", exclude={"id", "meta"}), case.cluster, *(getattr(case, e) for e in ERRORS)]
        for case in data.cases
    ]
    return digest(rows)[:16]


def _check_enough(data: LabelledScores, *, folds: int, error: str) -> None:
    """Raises `InputError` that says how many labels there are and how many are needed."""
    errors, wanted = int(data.labels.sum()), max(LEAST, PER_WEIGHT * len(data.values))
    others = len(data.labels) - errors
    groups = [len(np.unique(data.clusters[flags])) for flags in (data.labels, ~data.labels)]
    if min(errors, others) < wanted:
        said = f"too few labels to fit {error}: {errors} answers with the error and {others} without, "
        raise InputError(f"{said}{wanted} of each are needed for {len(data.values)} detectors", field="data")
    if min(groups) < folds:
        raise InputError(
            f"too few questions to fit {error} in {folds} folds: the error is in answers to {groups[0]} of them, its "
            f"absence in {groups[1]}, {folds} of each are needed",
            field="data",
        )


def _one(data: LabelledScores, plan: CalibrationPlan, error: Error) -> tuple[Fitted, Json]:
    found, left_out = fit(data)
    if found is None:
        why = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise InputError(f"no detector says anything of {error}: {why}", field="detectors")
    called = cross_validated(data, folds=plan.folds, seed=plan.seed)
    return found, {
        "answers": len(data.labels),
        "errors": int(data.labels.sum()),
        "clusters": len(np.unique(data.clusters)),
        "unscored": {name: int(np.isnan(values).sum()) for name, values in data.values.items()},
        "left_out": left_out,
        **_figures(called, data, plan),
    }


def fit(data: LabelledScores) -> tuple[Fitted | None, dict[str, str]]:
    """The fit, and why detectors have no part in it; None where none has one.

    A detector whose score falls where there are errors is left out: a gate that took worse for better would be the
    result. Unscored answers have a weight of their own.
    """
    left_out, names = {}, []
    for name, values in data.values.items():
        there = values[~np.isnan(values)]
        if len(np.unique(there)) < 2:
            left_out[name] = "has the same score for every answer" if len(there) else "has no score of any answer"
        else:
            names.append(name)
    while names:
        used = data.part(_usable(data, names))
        if used.labels.all() or not used.labels.any():
            return None, left_out | dict.fromkeys(names, "scores answers of one class alone")
        weights, found = _regress(used, names)
        worst = min(names, key=lambda name: weights[name])
        if weights[worst] > 0:
            threshold = round(best_cut(used.log_odds(found), used.labels), DIGITS)
            return found.model_copy(update={"threshold": threshold}), left_out
        left_out[worst] = "its score does not rise where there are errors, given the others"
        names.remove(worst)
    return None, left_out


def _usable(data: LabelledScores, names: Sequence[str]) -> Flags:
    """Which answers [P] some detector scores, and none leaves unscored that scores all but a few."""
    gaps = np.stack([np.isnan(data.values[name]) for name in names])
    rare = gaps.sum(axis=1) < FEWEST_UNSCORED
    usable: Flags = ~gaps.all(axis=0) & ~gaps[rare].any(axis=0)
    return usable


def _regress(data: LabelledScores, names: Sequence[str]) -> tuple[dict[str, float], Fitted]:
    """The weights, signs as they come, and the fit without a threshold, in which none is under 0."""
    with importing("sklearn"):
        from sklearn.linear_model import LogisticRegression
    odds = np.array([[np.nan if np.isnan(v) else log_odds(v, edge=EDGE) for v in data.values[name]] for name in names])
    centres, spreads, gaps = np.nanmean(odds, axis=1), np.nanstd(odds, axis=1), np.isnan(odds)
    spreads[spreads == 0] = 1.0
    has_gaps = gaps.any(axis=1)
    columns = np.concatenate([np.nan_to_num((odds - centres[:, None]) / spreads[:, None]), gaps[has_gaps]])
    model = LogisticRegression(C=_STRENGTH, tol=1e-10, max_iter=10_000).fit(columns.T, data.labels)
    weights, unscored = model.coef_[0][: len(names)], iter(model.coef_[0][len(names) :])
    inputs = tuple(
        Weighed(
            detector=name,
            weight=round(max(0.0, float(weights[i] / spreads[i])), DIGITS),
            centre=round(float(centres[i]), DIGITS),
            unscored=round(float(next(unscored)), DIGITS) if has_gaps[i] else None,
        )
        for i, name in enumerate(names)
    )
    found = Fitted(
        inputs=inputs,
        intercept=round(float(model.intercept_[0]), DIGITS),
        threshold=0.0,
        answers=len(data.labels),
        errors=int(data.labels.sum()),
    )
    return dict(zip(names, weights.tolist(), strict=True)), found


def best_cut(values: Array, labels: Flags) -> float:
    """The log odds from which to call an answer faulty for the least loss; of equal ones the nearest to even odds.

    It lies halfway between two neighbouring values, or beyond all of them.
    """
    seen = np.unique(values)
    cuts = np.concatenate([[seen[0] - 1.0], (seen[1:] + seen[:-1]) / 2, [seen[-1] + 1.0]])
    errors, others = np.sort(values[labels]), np.sort(values[~labels])
    missed = np.searchsorted(errors, cuts, side="left").astype(np.float64)
    passed = np.searchsorted(others, cuts, side="left").astype(np.float64)
    counts = np.stack([len(errors) - missed, len(others) - passed, missed, passed], axis=1)
    losses = np.nan_to_num(loss_of(counts), nan=1.0)
    best = np.flatnonzero(losses <= losses.min() + 1e-12)
    return float(cuts[best[np.argmin(np.abs(cuts[best]))]])


def loss_of(counts: Array) -> Array:
    """The loss (...) of counts (..., 4) of hits, false alarms, misses and rightly passed; NaN where undefined."""
    hit, alarm, missed, passed = np.moveaxis(counts, -1, 0)
    return (ratio(missed, hit + missed) + ratio(alarm, alarm + passed)) / 2


def counts_of(called: Flags, labels: Flags) -> Array:
    """For each answer a row (4) with a 1 under hit, false alarm, missed or rightly passed."""
    return np.stack([called & labels, called & ~labels, ~called & labels, ~called & ~labels], axis=1).astype(np.float64)


def folds_of(data: LabelledScores, *, folds: int, seed: int) -> list[Ints]:
    """The answers of each fold: whole clusters, drawn by the seed, with about the same share of errors."""
    with importing("sklearn"):
        from sklearn.model_selection import StratifiedGroupKFold
    drawn = StratifiedGroupKFold(folds, shuffle=True, random_state=derive_seed(seed, "folds") % 2**32)
    return [test for _, test in drawn.split(np.zeros((len(data.labels), 1)), data.labels, groups=data.clusters)]


def cross_validated(data: LabelledScores, *, folds: int, seed: int) -> Array:
    """For each answer [P] 1 or 0, whether a fit on the other folds calls it faulty; NaN where it cannot tell."""
    called = np.full(len(data.labels), np.nan)
    for test in folds_of(data, folds=folds, seed=seed):
        training = np.ones(len(data.labels), dtype=bool)
        training[test] = False
        found, _ = fit(data.part(training))
        if found is None:  # nothing to go by: the more frequent class
            called[test] = float(data.labels[training].mean() >= 0.5)
        else:
            odds = data.part(test).log_odds(found)
            called[test] = np.where(np.isnan(odds), np.nan, odds >= found.threshold)
    return called


def _figures(called: Array, data: LabelledScores, plan: CalibrationPlan) -> Json:
    """The loss of some calls and the share called wrongly, on what they can tell, with intervals over clusters."""
    there = ~np.isnan(called)
    names, numbers = np.unique(data.clusters[there], return_inverse=True)
    table = cluster_sums(counts_of(called[there] > 0, data.labels[there]), len(names), numbers)

    def metric(weights: Array) -> Array:
        counts = weights @ table
        return np.stack([loss_of(counts), ratio(counts[:, 1] + counts[:, 2], counts.sum(axis=1))], axis=1)

    resamples = Resamples(draws=plan.draws, seed=plan.seed)
    found = [e.of_clusters(len(names)).to_json() for e in resamples.estimate(len(names), metric, n=int(there.sum()))]
    return {"loss": found[0], "wrong": found[1]}
