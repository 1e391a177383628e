"""Metrics of findings against annotations: precision, recall, F1 and Cohen's kappa per kind, binary and by span.

FAVA, section 3.2. The paper's equation 1 as printed counts every sentence on which prediction and annotation agree,
also where both see nothing, in the numerator; true positives are meant, and only they give values of at most 1.

Findings laid beside annotations, by offsets in the untagged answer: agreements counted in sentences and characters.

Sentences of prediction and annotation are the same pieces of the same text, so none is paired by its place in a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eirene.core.critique import Finding
from eirene.eval.datasets.annotated import Annotated, ExpertVerdict, Taxonomy
from eirene.eval.metrics.bootstrap import (
    Array,
    Metric,
    Resamples,
    cluster_means,
    cluster_sums,
    clusters_of,
    paired_differences,
    ratio,
)
from eirene.text.sentences import Sentence


@dataclass(frozen=True, slots=True)
class CaseFindings:
    """What was found in an annotated answer: the findings, or why there is no usable critique."""

    case: Annotated
    findings: tuple[Finding, ...] | None
    unscored: str | None = None


def findings_report(
    found: Sequence[CaseFindings], taxonomy: Taxonomy, *, draws: int = 2000, seed: int = 0
) -> dict[str, Any]:
    """All figures in plain JSON; intervals by bootstrap over clusters (questions or sources).

    Answers without a usable critique are in no figure and are counted with their reasons.
    """
    scored = [f for f in found if f.findings is not None]
    resamples = Resamples(draws=draws, seed=seed)
    reasons = Counter(one.unscored or "no critique" for one in found if one.findings is None)
    report: dict[str, Any] = {
        "set": taxonomy.name,
        "answers": len(found),
        "scored": len(scored),
        "unscored": dict(reasons),
        "classes": {kind: sorted(kinds) for kind, kinds in taxonomy.classes.items()},
        "draws": draws,
        "seed": seed,
    }
    if scored:
        counts = [count_case(f.case, f.findings or (), taxonomy) for f in scored]
        size, numbers = clusters_of([f.case.cluster for f in scored])
        report["clusters"] = size
        for level in ("sentences", "characters"):  # [clusters, classes, 4]
            summed = cluster_sums(np.stack([getattr(one, level) for one in counts]), size, numbers)
            report[level] = _level(summed, taxonomy, resamples)
    answers = answer_scores([f.case for f in found], taxonomy, resamples)
    return report | ({"answer_scores": answers} if answers else {})


ASPECTS = ("factuality", "relevance", "completeness", "references", "preference", "overall", "question")


def answer_score(case: Annotated, verdict: ExpertVerdict, taxonomy: Taxonomy) -> tuple[float, ...]:
    """HaluQuestQA's scores of an answer by `ASPECTS`, each in [0, 1], higher is better (EIR, section 3.3).

    The first three: 1 - error sentences / sentences. References: 1 if none is called unhelpful; preference: 1 if
    preferred. Overall is the mean of the five; the question's (1 without a misconception) is no part of it. The columns
    that the authors published differ from their text: an answer without a reference has 0 where the other answer has
    one, and a sentence that is marked twice counts twice.
    """
    solid = np.array([not c.isspace() for c in case.item.answer], bool)
    gold = taxonomy.sorted(case.findings).values()
    shares = [1 - float(_in_sentences(own, case.sentences, solid).mean()) for own in gold]
    five = (*shares, float(verdict.helpful), float(verdict.preferred))
    return (*five, sum(five) / len(five), float(verdict.question_is_sound))


def answer_scores(cases: Sequence[Annotated], taxonomy: Taxonomy, resamples: Resamples) -> dict[str, Any]:
    """The annotators' own scores by writer, the model's less the human's, and means by field; empty without verdicts.

    `average` is the mean over the fields, as in EIR's table 1. Intervals are over questions.
    """
    judged = [(case, case.verdict) for case in cases if case.verdict is not None]
    scores = np.array([answer_score(case, verdict, taxonomy) for case, verdict in judged])
    writers = np.array([verdict.writer for _, verdict in judged])
    fields = np.array([verdict.category or "none" for _, verdict in judged])
    report: dict[str, Any] = {}
    means: dict[str, dict[str, Array]] = {}
    for writer in sorted(set(writers)):
        own = [case.cluster for case, verdict in judged if verdict.writer == writer]
        mine, of = scores[writers == writer], fields[writers == writer]
        found = resamples.estimate(*cluster_means(mine, own), n=len(own))
        by_field = {name: mine[of == name].mean(axis=0) for name in sorted(set(of))}
        by_field["average"] = np.mean([*by_field.values()], axis=0)
        report[writer] = _by_aspect(one.to_json() for one in found)
        report[writer]["fields"] = {name: _by_aspect(row.tolist()) for name, row in by_field.items()}
        means[writer] = dict(zip(own, mine, strict=True))
    both = [key for key in means.get("model", {}) if key in means.get("human", {})]
    if both:
        model, human = (np.array([means[writer][key] for key in both]) for writer in ("model", "human"))
        report["difference"] = _by_aspect(one.to_json() for one in paired_differences(model, human, both, resamples))
    return report


def _by_aspect(values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(ASPECTS, values, strict=True))


def _level(counts: Counts, taxonomy: Taxonomy, resamples: Resamples) -> dict[str, Any]:
    clusters, classes, _ = counts.shape
    found = resamples.estimate(clusters, _measures(counts))
    whole = counts.sum(axis=0)
    names = (*taxonomy.kinds, ANY)
    report: dict[str, Any] = {}
    for i, name in enumerate(names):
        hits, alarms, misses, right = (int(v) for v in whole[i])
        n = hits + alarms + misses + right
        at = (i, classes + i, 2 * classes + i, 3 * classes + 4 + i)
        precision, recall, f1, kappa = (replace(found[m], n=n).of_clusters(clusters).to_json() for m in at)
        report[name] = {
            "marked": hits + misses, "predicted": hits + alarms, "agreed": hits, "of": n,
            "precision": precision, "recall": recall, "f1": f1, "kappa": kappa,
        }  # fmt: skip
    kinds = sum("value" in report[name]["f1"] for name in names[:-1])
    report["mean_f1"] = {**replace(found[3 * classes], n=kinds).of_clusters(clusters).to_json(), "kinds": kinds}
    n = int(whole[:-1].sum())
    pooled = (replace(one, n=n).of_clusters(clusters).to_json() for one in found[3 * classes + 1 : 3 * classes + 4])
    report["pooled"] = dict(zip(("precision", "recall", "f1"), pooled, strict=True))
    return report


def _measures(counts: Counts) -> Metric:
    """Precision, recall and F1 of each class, the mean F1 over the kinds that occur, all three with the kinds' counts
    pooled, and Cohen's kappa (1960) of each class, critic and annotators being two raters: [resamples, 4 classes + 4].

    FAVA's equation 2 is the mean; the column "Avg." of its table 2 is the pooled F1 (its tables 13 and 14, "OA").
    F1 is 2 TP / (2 TP + FP + FN): 0 for a kind that is marked and never found, undefined where it is neither.
    """
    clusters, classes, _ = counts.shape
    table = counts.reshape(clusters, -1)

    def metric(weights: Array) -> Array:
        drawn = (weights @ table).reshape(len(weights), classes, 4)
        hits, alarms, misses, right = (drawn[..., which] for which in (HITS, ALARMS, MISSES, RIGHT))
        f1 = _three(hits, alarms, misses)[2]
        of_kinds = f1[:, :-1]
        there = ~np.isnan(of_kinds)
        mean = ratio(np.where(there, of_kinds, 0.0).sum(axis=1), there.sum(axis=1).astype(float))
        pooled = _three(*(part[:, :-1].sum(axis=1, keepdims=True) for part in (hits, alarms, misses)))
        by_chance = (hits + alarms) * (alarms + right) + (hits + misses) * (misses + right)
        kappa = ratio(2 * (hits * right - alarms * misses), by_chance)
        return np.concatenate([*_three(hits, alarms, misses)[:2], f1, mean[:, None], *pooled, kappa], axis=1)

    return metric


def _three(hits: Array, alarms: Array, misses: Array) -> tuple[Array, Array, Array]:
    return ratio(hits, hits + alarms), ratio(hits, hits + misses), ratio(2 * hits, 2 * hits + alarms + misses)


ANY = "any"
"""The class of findings of whatever kind: the binary task."""
HITS, ALARMS, MISSES, RIGHT = range(4)
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Counts = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class CaseCounts:
    """Of one answer: `sentences` and `characters`, each [classes, 4], the classes being the set's kinds and `ANY`.

    The four numbers are true positives, false positives, false negatives and true negatives. White space is no
    character that counts.
    """

    sentences: Counts
    characters: Counts


def count_case(case: Annotated, predicted: Iterable[Finding], taxonomy: Taxonomy) -> CaseCounts:
    """Counts one answer. Predictions of kinds that the set does not judge are passed over."""
    text, sentences = case.item.answer, case.sentences
    gold, found = taxonomy.sorted(case.findings), taxonomy.sorted(predicted)
    pairs = [(gold[kind], found[kind]) for kind in taxonomy.kinds]
    pairs.append(([f for own in gold.values() for f in own], [f for own in found.values() for f in own]))
    solid = np.array([not c.isspace() for c in text], bool)
    by_sentence = [_four(*(_in_sentences(own, sentences, solid) for own in pair)) for pair in pairs]
    by_character = [_four(*(_in_characters(own, solid)[solid] for own in pair)) for pair in pairs]
    return CaseCounts(np.array(by_sentence, float), np.array(by_character, float))


def _four(gold: Flags, found: Flags) -> list[int]:
    return [
        int((gold & found).sum()), int((~gold & found).sum()), int((gold & ~found).sum()), int((~gold & ~found).sum()),
    ]  # fmt: skip


def _in_characters(findings: Sequence[Finding], solid: Flags) -> Flags:
    found = np.zeros(len(solid), bool)
    for one in findings:
        found[one.start : one.end] = True
    return found


def _in_sentences(findings: Sequence[Finding], sentences: Sequence[Sentence], solid: Flags) -> Flags:
    """Which sentences a finding shares a character with; one without extent is in the sentence where it stands."""
    covered = _in_characters(findings, solid) & solid
    points = [f.start for f in findings if f.start == f.end]
    last = len(sentences) - 1
    found = [
        bool(covered[s.start : s.end].any()) or any(s.start <= p < s.end or (n == last and p >= s.end) for p in points)
        for n, s in enumerate(sentences)
    ]
    return np.array(found, bool)
