"""Fits a calibration: logistic regression over detectors' scores, and the threshold of least loss (scikit-learn)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.core.signature import derive_seed
from eirene.eval.calibration.file import DIGITS, Criterion, Fitted, Weighed, logit
from eirene.eval.calibration.losses import best_cut
from eirene.eval.statistics.bootstrap import Array, Ints
from eirene.eval.statistics.ranking import Flags

PER_WEIGHT = 10
LEAST = 20
"""Answers of each class that a fit needs: `LEAST`, and `PER_WEIGHT` for each detector."""
FEWEST_UNSCORED = 5
"""Answers that a detector must leave unscored for "unscored" to have a weight; with fewer, these are left out."""
_STRENGTH = 1.0  # C of scikit-learn's L2 penalty, on standardised log odds


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

    def column(self, i: int) -> dict[str, float | None]:
        """The scores of one answer."""
        return {name: None if np.isnan(found[i]) else float(found[i]) for name, found in self.values.items()}


def check_enough(data: LabelledScores, *, folds: int, error: str) -> None:
    """Raises `InputError` that says how many labels there are and how many are needed."""
    errors, wanted = int(data.labels.sum()), max(LEAST, PER_WEIGHT * len(data.values))
    others = len(data.labels) - errors
    groups = [len(np.unique(data.clusters[flags])) for flags in (data.labels, ~data.labels)]
    if min(errors, others) < wanted:
        raise InputError(
            f"too few labels to fit {error}: {errors} answers with the error and {others} without, "
            f"{wanted} of each are needed for {len(data.values)} detectors",
            field="data",
        )
    if min(groups) < folds:
        raise InputError(
            f"too few questions to fit {error} in {folds} folds: the error is in answers to {groups[0]} of them, its "
            f"absence in {groups[1]}, {folds} of each are needed",
            field="data",
        )


def fit(data: LabelledScores, criterion: Criterion) -> tuple[Fitted | None, dict[str, str]]:
    """The fit, and why detectors have no part in it; None where none has one.

    A detector whose score falls where there are errors is left out: a gate that took worse for better would be the
    result. Unscored answers have a weight of their own.
    """
    left_out = {}
    names = []
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
            threshold = round(best_cut(log_odds(found, used), used.labels, criterion), DIGITS)
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


def log_odds(found: Fitted, data: LabelledScores) -> Array:
    """The log odds of each answer [P]; NaN where it has none."""
    rows = (found.log_odds(data.column(i)) for i in range(len(data.labels)))
    return np.array([np.nan if isinstance(value, str) else value for value in rows])


def _regress(data: LabelledScores, names: Sequence[str]) -> tuple[dict[str, float], Fitted]:
    """The weights, signs as they come, and the fit without a threshold, in which none is under 0."""
    with importing("sklearn"):
        from sklearn.linear_model import LogisticRegression
    logits = {name: np.array([np.nan if np.isnan(v) else logit(v) for v in data.values[name]]) for name in names}
    centres = {name: float(np.nanmean(logits[name])) for name in names}
    spreads = {name: float(np.nanstd(logits[name])) or 1.0 for name in names}
    gaps = {name: np.isnan(logits[name]) for name in names}
    columns = [np.nan_to_num((logits[name] - centres[name]) / spreads[name], nan=0.0) for name in names]
    with_gaps = [name for name in names if gaps[name].any()]
    columns += [gaps[name].astype(np.float64) for name in with_gaps]
    model = LogisticRegression(C=_STRENGTH, tol=1e-10, max_iter=10_000).fit(np.stack(columns, axis=1), data.labels)
    weights = dict(zip(names, model.coef_[0], strict=False))
    unscored = dict(zip(with_gaps, model.coef_[0][len(names) :], strict=True))
    inputs = tuple(
        Weighed(
            detector=name,
            weight=round(max(0.0, float(weights[name]) / spreads[name]), DIGITS),
            centre=round(centres[name], DIGITS),
            unscored=round(float(unscored[name]), DIGITS) if name in unscored else None,
        )
        for name in names
    )
    fitted = Fitted(
        inputs=inputs, intercept=round(float(model.intercept_[0]), DIGITS), threshold=0.0, answers=len(data.labels),
        errors=int(data.labels.sum()),
    )  # fmt: skip
    return weights, fitted


def folds_of(data: LabelledScores, *, folds: int, seed: int) -> list[Ints]:
    """The answers of each fold: whole clusters, drawn by the seed, with about the same share of errors."""
    with importing("sklearn"):
        from sklearn.model_selection import StratifiedGroupKFold
    drawn = StratifiedGroupKFold(folds, shuffle=True, random_state=derive_seed(seed, "folds") % 2**32)
    return [test for _, test in drawn.split(np.zeros((len(data.labels), 1)), data.labels, groups=data.clusters)]


def cross_validated(data: LabelledScores, criterion: Criterion, *, folds: int, seed: int) -> Array:
    """For each answer [P] 1 or 0, whether a fit on the other folds calls it faulty; NaN where it cannot tell."""
    called = np.full(len(data.labels), np.nan)
    for test in folds_of(data, folds=folds, seed=seed):
        training = np.ones(len(data.labels), dtype=bool)
        training[test] = False
        found, _ = fit(data.part(training), criterion)
        if found is None:  # nothing to go by: the more frequent class
            called[test] = float(data.labels[training].mean() >= 0.5)
            continue
        values = log_odds(found, data.part(test))
        called[test] = np.where(np.isnan(values), np.nan, (values >= found.threshold).astype(np.float64))
    return called
