"""Metrics of detectors: every figure of `eirene evaluate detectors`, as a pure function of rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eirene.core.errors import InputError, MissingExtraError
from eirene.core.extras import importing
from eirene.core.scores import Scores, Unscored
from eirene.core.signature import digest, rng_for
from eirene.core.usage import Usage
from eirene.core.validation import FrozenModel
from eirene.eval.base import Case, Detector, only_computes
from eirene.eval.datasets.base import Labelled
from eirene.eval.metrics.bootstrap import (
    Array,
    Estimate,
    Metric,
    Resamples,
    clusters_of,
    holm,
    interval,
    two_sided_p,
)
from eirene.eval.metrics.levels import CountedText, LabelLevel, levels
from eirene.eval.metrics.ranking import Flags, best_threshold, curve, ranked, roc_auc, spearman, thresholded
from eirene.prompts.history import history_key

Json = dict[str, Any]
DEV_SHARE = 0.3
CURVE_POINTS = 300


@dataclass(frozen=True, slots=True)
class ScoredCases:
    """Labelled answers and, for each detector, the scores of each of them in the same order."""

    cases: Sequence[Labelled]
    scores: Mapping[str, Sequence[Scores]]


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """How figures are made: resamples, their seed, and what thresholds are chosen on.

    Without a development set of its own, `dev_share` of the clusters are set aside for it by the seed.
    """

    draws: int = 2000
    seed: int = 0
    dev_share: float = DEV_SHARE

    def check(self) -> None:
        """Raises `InputError` for what cannot be measured, before anything is spent."""
        Resamples(draws=self.draws, seed=self.seed)
        if not 0 < self.dev_share < 1:
            raise InputError(f"dev-share must lie between 0 and 1, got {self.dev_share}", field="dev-share")


def detector_report(data: ScoredCases, dev: ScoredCases | None, *, plan: EvaluationPlan) -> Json:
    """Figures at every level at which there are labels, in plain JSON.

    Areas and average precision are of all answers of `data`. F1 is that of a threshold chosen on the development part,
    on the answers outside it. Floors (counts) take the direction that is better on the development part.
    """
    resamples = Resamples(draws=plan.draws, seed=plan.seed)
    set_aside = set() if dev is not None else dev_clusters(data.cases, plan)
    for_dev = {} if dev is None else {(x.error, x.name): x for x in levels(dev.cases, dev.scores)}
    found = []
    for level in levels(data.cases, data.scores):
        if dev is None:
            inside = np.array([data.cases[i].cluster in set_aside for i in level.cases], dtype=bool)
            choosing = _Choosing(level, inside, ~inside)
        else:
            choosing = _Choosing(for_dev.get((level.error, level.name)), None, np.ones(len(level.labels), dtype=bool))
        found.append(_level_report(level, choosing, resamples))
    return {
        "answers": len(data.cases),
        "clusters": len({case.cluster for case in data.cases}),
        "development_clusters": len(set_aside) if dev is None else len({case.cluster for case in dev.cases}),
        "levels": found,
        "graded": graded(data, resamples),
    }


GRADED = ("spearman", "kendall", "given_length", "within_systems")


def graded(data: ScoredCases, resamples: Resamples) -> Json:
    """Rank correlations of each detector's hallucination score with the answers' grades, by detector and by `GRADED`.

    `given_length`: Spearman's, the number of words of the answer taken out. `within_systems`: Spearman's without what
    the mean scores and grades of the systems explain, as FRANK does (Pagnoni et al. 2021, section 4.2). Kendall's tau
    is unscored where scipy is not installed. Without grades it is empty.
    """
    known = [i for i, case in enumerate(data.cases) if case.grade is not None]
    found: Json = {}
    for name, scores in data.scores.items() if known else ():
        at = [i for i in known if not isinstance(scores[i].hallucination, Unscored)]
        if at:
            values = np.array([[data.cases[i].grade, scores[i].hallucination] for i in at], dtype=np.float64)
            found[name] = _correlations(values, [data.cases[i] for i in at], resamples)
    return found


def _correlations(values: Array, cases: Sequence[Labelled], resamples: Resamples) -> Json:
    """Of grades and scores, (rows, 2)."""
    count, numbers = clusters_of([case.cluster for case in cases])
    systems = clusters_of([case.system or "" for case in cases])[1]
    sizes = np.bincount(systems)[systems]
    means = np.stack([np.bincount(systems, part)[systems] / sizes for part in values.T], axis=1)
    rest = np.round(values - means, 9)  # equal ones stay equal
    words = np.array([CountedText(case).of_answer()["words"] for case in cases], dtype=np.float64)

    def estimate(made: Callable[[], Metric]) -> Json:
        try:
            metric = made()
            return resamples.estimate(count, lambda w: metric(w[:, numbers]), n=len(values))[0].to_json()
        except MissingExtraError as error:
            return Estimate(None, n=len(values), unscored=str(error)).to_json()

    grades, scores = values.T
    made: tuple[Callable[[], Metric], ...] = (
        lambda: spearman(grades, scores), lambda: kendall(grades, scores), lambda: spearman(grades, scores, words),
        lambda: spearman(*rest.T),
    )  # fmt: skip
    return {name: estimate(one) for name, one in zip(GRADED, made, strict=True)}


def kendall(x: Array, y: Array) -> Metric:
    """(weights) -> (resamples, 1): Kendall's tau-b of the rows as they were drawn; NaN where one does not vary.

    Needs scipy, which the extra `calibrate` brings.
    """
    with importing("scipy"):
        from scipy.stats import kendalltau

    def metric(weights: Array) -> Array:
        drawn = (np.arange(len(x)).repeat(counts) for counts in weights.astype(int))
        return np.array([[kendalltau(x[rows], y[rows], method="asymptotic").statistic] for rows in drawn])

    return metric


def relative_to_best(areas: Mapping[str, float]) -> dict[str, float]:
    """Each ROC AUC less 0.5 as a share of the highest (ChainPoll, table 5, note e); empty where none is above 0.5."""
    best = max(areas.values(), default=0.5) - 0.5
    return {name: (area - 0.5) / best for name, area in areas.items()} if best > 0 else {}


def dev_clusters(cases: Sequence[Labelled], plan: EvaluationPlan) -> set[str]:
    """The clusters that thresholds are chosen on: a share of them, drawn by the seed; none where there is but one."""
    names = sorted({case.cluster for case in cases})
    count = min(math.ceil(plan.dev_share * len(names)), len(names) - 1)
    drawn = rng_for(plan.seed, "development part").permutation(len(names))[:count]
    return {names[i] for i in drawn}


@dataclass(frozen=True, slots=True)
class _Choosing:
    """The level that thresholds are chosen on, the part of it that counts (None: all), and where F1 is measured."""

    level: LabelLevel | None
    inside: Flags | None
    measured: Flags

    def on(self, values: Mapping[str, Array], name: str) -> tuple[Flags, Array] | None:
        """Labels and scores of the development part; None where there are not both classes."""
        if self.level is None or name not in values:
            return None
        scores = values[name]
        there = ~np.isnan(scores) if self.inside is None else ~np.isnan(scores) & self.inside
        labels = self.level.labels[there]
        return (labels, scores[there]) if labels.any() and not labels.all() else None


def _level_report(level: LabelLevel, choosing: _Choosing, resamples: Resamples) -> Json:
    dev = choosing.level
    entries: Json = {}
    drawn: dict[str, Compared] = {}
    for name, values in level.values.items():
        there = ~np.isnan(values)
        entries[name] = {"scored": int(there.sum()), "unscored": dict(level.reasons[name])}
        if there.any():
            chosen = None if dev is None else choosing.on(dev.values, name)
            figures, draws = _figures(level, values, chosen, choosing.measured, resamples)
            entries[name] |= figures
            drawn[name] = Compared(values, there, draws)
    areas = {name: entry["auc"]["value"] for name, entry in entries.items() if "value" in entry.get("auc", {})}
    for name, share in relative_to_best(areas).items():
        entries[name]["relative"] = share
    floors = {}
    for name, counts in level.floors.items():
        chosen = None if dev is None else choosing.on(dev.floors, name)
        sign = -1.0 if chosen is not None and roc_auc(*chosen) < 0.5 else 1.0
        turned = None if chosen is None else (chosen[0], sign * chosen[1])
        figures, _ = _figures(level, sign * counts, turned, choosing.measured, resamples)
        floors[name] = {"direction": "more" if sign > 0 else "fewer", **figures}
    return {
        "error": level.error,
        "level": level.name,
        "n": len(level.labels),
        "errors": int(level.labels.sum()),
        "clusters": level.clusters[0],
        "detectors": entries,
        "floors": {"all": _majority(level, choosing.measured), **floors},
        "pairs": compared(level, drawn, resamples),
    }


def _figures(
    level: LabelLevel, values: Array, chosen: tuple[Flags, Array] | None, measured: Flags, resamples: Resamples
) -> tuple[Json, Array]:
    """AUC and average precision of what is scored, F1 outside the development part; and the areas drawn."""
    count, numbers = level.clusters
    there = ~np.isnan(values)
    found = ranked(level.labels[there], values[there], (count, numbers[there]), resamples)
    shown: Json = {"auc": found.auc.to_json(), "ap": found.ap.to_json()}
    if chosen is None:
        why = "the development part has not both errors and others"
        return {**shown, "f1": Estimate(None, unscored=why).to_json()}, found.auc_draws
    threshold = best_threshold(*chosen)
    here = there & measured
    f1 = thresholded(level.labels[here], values[here], (count, numbers[here]), resamples, threshold=threshold)
    return {**shown, "f1": f1.to_json(), "threshold": threshold}, found.auc_draws


def _majority(level: LabelLevel, measured: Flags) -> Json:
    """What calling everything an error gives, and, for the areas, a random order."""
    share, outside = float(level.labels.mean()), level.labels[measured]
    rate = float(outside.mean()) if len(outside) else 0.0
    return {"auc": {"value": 0.5}, "ap": {"value": share}, "f1": {"value": 2 * rate / (1 + rate)}}


def curves(data: ScoredCases) -> list[Json]:
    """The ROC and precision-recall curves of every level, with at most `CURVE_POINTS` points each."""
    found = []
    for level in levels(data.cases, data.scores):
        drawn = {}
        for name, values in level.values.items():
            there = ~np.isnan(values)
            labels = level.labels[there]
            if labels.any() and not labels.all():
                drawn[name] = _points(labels, values[there])
        found.append(
            {"error": level.error, "level": level.name, "rate": float(level.labels.mean()), "detectors": drawn}
        )
    return found


def _points(labels: Flags, scores: Array) -> Json:
    whole = curve(labels, scores)
    at = np.unique(np.linspace(0, len(whole.threshold) - 1, CURVE_POINTS).round().astype(int))
    roc = np.concatenate([[0], at + 1])
    return {
        "fpr": whole.fpr[roc].tolist(),
        "tpr": whole.tpr[roc].tolist(),
        "recall": whole.recall[at].tolist(),
        "precision": whole.precision[at].tolist(),
    }


def costs(rows: Sequence[DetectorRow]) -> Json:
    """What each detector cost, and on how many answers it failed, by detector: from distinct rows."""
    found: Json = {}
    for name in dict.fromkeys(row.detector for row in rows):
        own = [row for row in rows if row.detector == name]
        seconds = np.array([row.usage.seconds for row in own])
        priced = [row.usage.cost_usd for row in own if row.usage.cost_usd is not None]
        found[name] = {
            "version": own[0].version,
            "answers": len(own),
            "failed": sum(row.failed for row in own),
            "failures": dict(Counter(str(row.scores.hallucination) for row in own if row.failed).most_common(5)),
            "seconds": {
                "total": float(seconds.sum()),
                "median": float(np.median(seconds)),
                "p95": float(np.quantile(seconds, 0.95)),
            },
            "calls": sum(row.usage.calls for row in own),
            "retries": sum(row.usage.retries for row in own),
            "input_tokens": sum(row.usage.input_tokens for row in own),
            "output_tokens": sum(row.usage.output_tokens for row in own),
            "cost_usd": sum(priced) if len(priced) == len(own) else None,
        }
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A detector's scores [P] (NaN where there is none), which are there [P], and its areas on the resamples."""

    values: Array
    there: Flags
    draws: Array


def compared(level: LabelLevel, detectors: Mapping[str, Compared], resamples: Resamples) -> list[Json]:
    """The difference of the areas of each two detectors on what both have scored, by paired bootstrap over clusters.

    P-values are given as they are, and corrected for the number of pairs.
    """
    pairs = [_pair(level, (a, detectors[a]), (b, detectors[b]), resamples) for a, b in combinations(detectors, 2)]
    with_p = [pair for pair in pairs if "p" in pair]
    p = [pair["p"] for pair in with_p]
    for pair, adjusted in zip(with_p, holm(p), strict=True):
        pair["holm"] = adjusted
    return pairs


def _pair(level: LabelLevel, a: tuple[str, Compared], b: tuple[str, Compared], resamples: Resamples) -> Json:
    (name_a, one), (name_b, other) = a, b
    both = one.there & other.there
    labels = level.labels[both]
    shown: Json = {"a": name_a, "b": name_b, "n": int(both.sum()), "errors": int(labels.sum())}
    if not 0 < labels.sum() < len(labels):
        return {**shown, "unscored": "needs errors and others that both have scored"}
    count, numbers = level.clusters
    clusters = (count, numbers[both])
    draws = []
    for detector in (one, other):
        if np.array_equal(detector.there, both):  # drawn already, on the same resamples
            draws.append(detector.draws)
        else:
            draws.append(ranked(labels, detector.values[both], clusters, resamples).auc_draws)
    value = roc_auc(labels, one.values[both]) - roc_auc(labels, other.values[both])
    differences = draws[0] - draws[1]
    alone = len(np.unique(clusters[1])) < 2
    difference = interval(value, differences, n=int(both.sum()), alone=alone)
    p = {} if difference.low is None else {"p": two_sided_p(differences)}
    return {**shown, "difference": difference.to_json(), **p}


class DetectorRow(FrozenModel):
    """The scores of one answer by one detector. A `failed` one is unscored and says why.

    `key` is a hash of all that the scores hang on, so that equal answers share a row. `usage.seconds` is the wall time
    of this answer.
    """

    key: str
    id: str
    detector: str
    version: str
    scores: Scores
    usage: Usage = Usage()
    failed: bool = False


def row_key(case: Case, detector: Detector, *, seed: int) -> str:
    """A hash of the case, the detector and its version, and, where a model is asked, the seed."""
    given = [case.given.source, [[g.name, list(g.arguments)] for g in case.given.groups]]
    text = [case.question, case.answer, given, list(case.samples), [list(t) for t in case.token_logprobs]]
    drawn = [] if only_computes(detector) else [seed]
    return digest([[*text, *history_key(case.history)], detector.name, detector.version, *drawn])[:24]
