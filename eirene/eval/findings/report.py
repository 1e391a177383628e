"""Figures of findings against annotations: per kind precision, recall and F1, mean F1, binary, spans; edit gain.

FAVA, section 3.2. The paper's equation 1 as printed counts every sentence on which prediction and annotation agree,
also where both see nothing, in the numerator; true positives are meant, and only they give values of at most 1. The
figures are by true positives; those by the printed formula stand beside them under `as_printed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eirene.critique import Finding
from eirene.eval.bootstrap import Array, Estimate, Metric, Resamples, ratio
from eirene.eval.findings.base import Annotated
from eirene.eval.findings.counts import ALARMS, HITS, MISSES, CaseCounts, Counts, class_names, count_case
from eirene.eval.findings.taxonomy import Taxonomy
from eirene.eval.statistics import clusters_of


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in an annotated answer: the findings, or why there is no usable critique.

    `gain` has for each detector its error score before less that after the edits, or None where it gave none: with
    f = 1 - error this is f(after) - f(before), in [-1, 1], above 0 where the edits helped.
    """

    case: Annotated
    findings: tuple[Finding, ...] | None
    unscored: str | None = None
    gain: Mapping[str, float | None] | None = None


def findings_report(found: Sequence[Found], taxonomy: Taxonomy, *, draws: int = 2000, seed: int = 0) -> dict[str, Any]:
    """All figures in plain JSON; intervals by bootstrap over clusters (questions or sources).

    Answers without a usable critique are in no figure and are counted with their reasons.
    """
    scored = [f for f in found if f.findings is not None]
    resamples = Resamples(draws=draws, seed=seed)
    reasons: dict[str, int] = {}
    for one in found:
        if one.findings is None:
            why = one.unscored or "no critique"
            reasons[why] = reasons.get(why, 0) + 1
    report: dict[str, Any] = {
        "set": taxonomy.name,
        "answers": len(found),
        "scored": len(scored),
        "unscored": reasons,
        "classes": {kind: sorted(kinds) for kind, kinds in taxonomy.classes.items()},
        "draws": draws,
        "seed": seed,
    }
    if scored:
        counts = [count_case(f.case, f.findings or (), taxonomy) for f in scored]
        size, numbers = clusters_of([f.case.cluster for f in scored])
        report["clusters"] = size
        report["sentences"] = _level(_summed(counts, "sentences", size, numbers), taxonomy, resamples)
        report["characters"] = _level(_summed(counts, "characters", size, numbers), taxonomy, resamples)
        report["gain"] = _gains(scored, size, numbers, resamples)
    return report


def _summed(counts: Sequence[CaseCounts], level: str, size: int, numbers: Any) -> Counts:
    """The counts of each cluster, [clusters, classes, 4]."""
    cases = np.stack([getattr(one, level) for one in counts])
    total = np.zeros((size, *cases.shape[1:]))
    np.add.at(total, numbers, cases)
    return total


def _level(counts: Counts, taxonomy: Taxonomy, resamples: Resamples) -> dict[str, Any]:
    clusters, classes, _ = counts.shape
    found = resamples.estimate(clusters, _measures(counts))
    whole = counts.sum(axis=0)
    names = class_names(taxonomy)
    report: dict[str, Any] = {}
    for i, name in enumerate(names):
        hits, alarms, misses, right = (int(v) for v in whole[i])
        n = hits + alarms + misses + right
        precision, recall, f1 = (replace(found[m * classes + i], n=n).of_clusters(clusters).to_json() for m in range(3))
        report[name] = {
            "marked": hits + misses, "predicted": hits + alarms, "agreed": hits, "of": n,
            "precision": precision, "recall": recall, "f1": f1,
            "as_printed": as_printed(hits=hits, alarms=alarms, misses=misses, right=right),
        }  # fmt: skip
    kinds = sum("value" in report[name]["f1"] for name in names[:-1])
    report["mean_f1"] = {**replace(found[3 * classes], n=kinds).of_clusters(clusters).to_json(), "kinds": kinds}
    return report


def _measures(counts: Counts) -> Metric:
    """Precision, recall and F1 of each class, and the mean F1 over the kinds that occur: [resamples, 3 classes + 1].

    F1 is 2 TP / (2 TP + FP + FN): 0 for a kind that is marked and never found, undefined where it is neither.
    """
    clusters, classes, _ = counts.shape
    table = counts.reshape(clusters, -1)

    def metric(weights: Array) -> Array:
        drawn = (weights @ table).reshape(len(weights), classes, 4)
        hits, alarms, misses = drawn[..., HITS], drawn[..., ALARMS], drawn[..., MISSES]
        f1 = ratio(2 * hits, 2 * hits + alarms + misses)
        of_kinds = f1[:, :-1]
        there = ~np.isnan(of_kinds)
        mean = ratio(np.where(there, of_kinds, 0.0).sum(axis=1), there.sum(axis=1).astype(float))
        return np.concatenate([ratio(hits, hits + alarms), ratio(hits, hits + misses), f1, mean[:, None]], axis=1)

    return metric


def as_printed(*, hits: int, alarms: int, misses: int, right: int) -> dict[str, float | None]:
    """Precision and recall by equation 1 as it is printed, with agreeing negatives in the numerator; may exceed 1."""
    agreeing = hits + right
    predicted, marked = hits + alarms, hits + misses
    precision = agreeing / predicted if predicted else None
    recall = agreeing / marked if marked else None
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _gains(scored: Sequence[Found], size: int, numbers: Any, resamples: Resamples) -> dict[str, Any]:
    """The mean gain of each detector over the answers that it scored before and after."""
    names = dict.fromkeys(name for one in scored for name in one.gain or {})
    report: dict[str, Any] = {}
    for name in names:
        values = np.array([_number((one.gain or {}).get(name)) for one in scored])
        there = ~np.isnan(values)
        table = np.zeros((size, 2))
        np.add.at(table, numbers[there], np.stack([values[there], np.ones(there.sum())], axis=1))
        (estimate,) = resamples.estimate(size, _quotient(table)) if there.any() else [Estimate(None)]
        report[name] = {
            **replace(estimate, n=int(there.sum())).of_clusters(size).to_json(),
            "better": int((values[there] > 0).sum()), "worse": int((values[there] < 0).sum()),
            "without": int((~there).sum()),
        }  # fmt: skip
    return report


def _quotient(table: Array) -> Metric:
    return lambda weights: ratio(weights @ table[:, 0], weights @ table[:, 1])


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
