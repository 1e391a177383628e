"""Every two detectors on the same things: which ranks errors better, by how much, and is that more than chance.

A row for each labelled answer and detector: what the detector said and what that cost. Figures come from rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from pydantic import ConfigDict

from eirene.core.scores import Scores
from eirene.core.signature import digest
from eirene.core.usage import Usage
from eirene.core.validation import CheckedModel
from eirene.eval.base import Case, Detector, only_computes
from eirene.eval.metrics.levels import Level
from eirene.eval.scoring import Outcome
from eirene.eval.statistics.bootstrap import Array, Resamples, bonferroni, holm, two_sided_p
from eirene.eval.statistics.roc import Flags, interval, ranked, roc_auc

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A detector's scores [P] (NaN where there is none), which are there [P], and its areas on the resamples."""

    values: Array
    there: Flags
    draws: Array


def compared(level: Level, detectors: Mapping[str, Compared], resamples: Resamples) -> list[Json]:
    """The difference of the areas of each two detectors on what both have scored, by paired bootstrap over clusters.

    P-values are given as they are, and corrected for the number of pairs.
    """
    pairs = [_pair(level, (a, detectors[a]), (b, detectors[b]), resamples) for a, b in combinations(detectors, 2)]
    with_p = [pair for pair in pairs if "p" in pair]
    p = [pair["p"] for pair in with_p]
    for pair, corrected, stepped in zip(with_p, bonferroni(p), holm(p), strict=True):
        pair |= {"bonferroni": corrected, "holm": stepped}
    return pairs


def _pair(level: Level, a: tuple[str, Compared], b: tuple[str, Compared], resamples: Resamples) -> Json:
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


class DetectorRow(CheckedModel):
    """The scores of one answer by one detector. A `failed` one is unscored and says why.

    `key` is a hash of all that the scores hang on, so that equal answers share a row. `usage.seconds` is the wall time
    of this answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

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
    return digest([text, detector.name, detector.version, *drawn])[:24]


def row_of(case_id: str, detector: Detector, outcome: Outcome, *, key: str) -> DetectorRow:
    """The row of an outcome."""
    return DetectorRow(
        key=key,
        id=case_id,
        detector=detector.name,
        version=detector.version,
        scores=outcome.scores,
        usage=outcome.usage,
        failed=outcome.failed,
    )
