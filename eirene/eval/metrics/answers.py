"""Answer scores from annotations: HaluQuestQA's answer score, and the effect of a refinement on errors."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eirene.core.errors import InputError
from eirene.eval.statistics.bootstrap import Estimate, Resamples, cluster_sums, clusters_of
from eirene.eval.statistics.ranking import f1_precision_recall

SENTENCE_ASPECTS = ("factuality", "relevance", "completeness")


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """HaluQuestQA's aspect scores of one answer, in [0, 1], higher is better; `overall` is the mean of the five."""

    factuality: float
    relevance: float
    completeness: float
    references: float
    preference: float

    @property
    def overall(self) -> float:
        """The mean of the five aspects."""
        parts = (self.factuality, self.relevance, self.completeness, self.references, self.preference)
        return sum(parts) / len(parts)


def answer_score(
    *, sentences: int, errors: Mapping[str, int], references_help: bool, is_preferred: bool
) -> AnswerScore:
    """The score of one annotated answer (Sachdeva et al. 2024, section 3.4).

    `errors` maps factuality, relevance and completeness to the number of sentences (of `sentences`) with such an error;
    one left out has none. An aspect scores 1 - errors / sentences; references and preference score 0 or 1. References
    "if provided" must help: without any, `references_help` is True. A misconception in the question is no fault of the
    answer and stays out. Raises `InputError` for impossible counts.
    """
    if sentences < 1:
        raise InputError(f"sentences must be at least 1, got {sentences}", field="sentences")
    unknown = sorted(set(errors) - set(SENTENCE_ASPECTS))
    if unknown:
        raise InputError(f"unknown aspect {unknown[0]!r}; known: {', '.join(SENTENCE_ASPECTS)}", field="errors")
    for aspect, count in errors.items():
        if not 0 <= count <= sentences:
            raise InputError(f"{aspect}: {count} of {sentences} sentences cannot have an error", field="errors")
    share = {aspect: 1 - errors.get(aspect, 0) / sentences for aspect in SENTENCE_ASPECTS}
    return AnswerScore(**share, references=float(references_help), preference=float(is_preferred))


@dataclass(frozen=True, slots=True)
class ErrorCorrection:
    """What became of errors. corrected: before and not after; introduced: after and not before; left: both.

    precision = corrected / (corrected + introduced), recall = corrected / (corrected + left), F1 their harmonic mean
    (2 corrected / (2 corrected + introduced + left), which is defined where one of the two is not). A figure whose
    denominator is 0 is unscored and says so.
    """

    corrected: int
    introduced: int
    left: int
    clean: int
    precision: Estimate
    recall: Estimate
    f1: Estimate


def error_correction(
    before: Sequence[bool],
    after: Sequence[bool],
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: Resamples | None = None,
) -> ErrorCorrection:
    """Error correction over answers, with intervals by bootstrap over clusters (by default each answer is its own)."""
    if len(before) != len(after):
        raise InputError(f"before and after must be of one length, got {len(before)} and {len(after)}")
    labels = range(len(before)) if clusters is None else clusters
    had, has = np.array(before, dtype=bool), np.array(after, dtype=bool)
    table = np.stack([had & ~has, ~had & has, had & has], axis=1).astype(np.float64).reshape(-1, 3)
    count, numbers = clusters_of(labels)
    metric = f1_precision_recall(cluster_sums(table, count, numbers))
    found = (Resamples() if resamples is None else resamples).estimate(count, metric, n=len(had))
    if not count:
        found = found * 3
    f1, precision, recall = found
    corrected, introduced, left = (int(n) for n in table.sum(axis=0))
    return ErrorCorrection(
        corrected,
        introduced,
        left,
        int((~had & ~has).sum()),
        _named(precision, "no error was corrected or introduced", count),
        _named(recall, "no answer had an error before", count),
        _named(f1, "no answer had an error, before or after", count),
    )


def _named(estimate: Estimate, why: str, clusters: int) -> Estimate:
    return estimate.of_clusters(clusters) if estimate.value is not None else Estimate(None, n=estimate.n, unscored=why)
