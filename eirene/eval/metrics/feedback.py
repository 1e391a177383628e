"""Metrics of feedback models, as pure functions of rows: sentences, votes, consistencies, whole answers.

All intervals are bootstraps over answers. Rows without a vote are counted and enter no figure; where there are many,
the figures are those of the answers on which the model agreed with itself.

Exact, adjacent, different: the EIR paper's accuracy (section 5.1, table 3). The first sentence that is called
incomplete decides: *exact* if it is incomplete, *adjacent* if only a neighbour of it is, else *different*. No sentence
called incomplete is exact where none is, else different (the paper does not say).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from eirene.core.critique import Critique, Sample, Tag, incomplete_shares
from eirene.core.scores import Probability
from eirene.core.usage import Usage
from eirene.core.validation import FrozenModel
from eirene.eval.datasets.base import FeedbackCase
from eirene.eval.metrics.bootstrap import DRAWS, Array, Metric, Resamples, f1_precision_recall, means, ratio
from eirene.eval.metrics.ranking import auc_and_ap, spearman
from eirene.text.words import stems

Json = dict[str, Any]
Outcome = Literal["exact", "adjacent", "different"]
OUTCOMES: tuple[Outcome, ...] = ("exact", "adjacent", "different")
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Edges of the consistency bins; EIR (section 5.1) speaks of consistencies above and below 0.80."""
MIN_CLASS = 5
"""Fewer answers than this of one kind, and whether a model tells the kinds apart is not measured."""


class FeedbackRow(FrozenModel):
    """One answer. `scored` rows have a vote; `abstained` (no quorum, or under the floor) and `failed` ones say why not.

    `gold` are the true tags, None where only the answer as a whole is labelled (`lacks`: it lacks information).
    `shares`: how surely each sentence is Incomplete (`incomplete_shares`); `share_any`: the share of the valid samples
    that call any so.
    `tags` and the consistencies are those of the selected critique. `reason_overlap` in [0, 1]: how much its reasons
    say what the annotators' do, where both find fault. `samples_invent`: the share of the valid samples whose reasons
    name a reference that is not given (`strange_references`), and `vote_invents` whether the selected critique does.
    """

    id: str
    key: str
    signature: str
    n_sentences: int
    gold: tuple[Tag, ...] | None
    lacks: bool
    status: Literal["scored", "abstained", "failed"]
    why: str | None = None
    shares: tuple[Probability, ...] = ()
    share_any: Probability | None = None
    tags: tuple[Tag, ...] = ()
    tag_consistency: Probability | None = None
    reason_consistency: Probability | None = None
    reason_overlap: Probability | None = None
    samples_invent: Probability | None = None
    vote_invents: bool | None = None
    n_drawn: int = 0
    n_valid: int = 0
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _scored_rows_are_whole(self) -> Self:
        if self.status == "scored" and not (len(self.tags) == len(self.shares) == self.n_sentences):
            raise ValueError("a scored row needs a tag and a share for every sentence")
        if self.status != "scored" and (self.tags or not self.why):
            raise ValueError("a row that is not scored has no tags and says why")
        if self.gold is not None and len(self.gold) != self.n_sentences:
            raise ValueError("`gold` must have a tag for every sentence")
        return self


def scored_row(
    case: FeedbackCase, samples: Sequence[Sample], critique: Critique, *, key: str, signature: str, usage: Usage
) -> FeedbackRow:
    """The row of an answer on whose critique the samples agreed."""
    shares, valid = incomplete_shares(samples), [s for s in samples if s.is_valid]
    return FeedbackRow(
        id=case.item.id,
        key=key,
        signature=signature,
        n_sentences=len(case.sentences),
        gold=case.tags,
        lacks=case.lacks,
        status="scored",
        shares=shares,
        share_any=fmean("Incomplete" in s.tags for s in valid),
        tags=tuple(s.tag for s in critique.sentences),
        tag_consistency=critique.tag_consistency,
        reason_consistency=critique.reason_consistency,
        reason_overlap=reason_overlap(critique, case),
        samples_invent=fmean(bool(strange_references(s.reasons, case)) for s in valid),
        vote_invents=bool(strange_references((s.reason for s in critique.sentences), case)),
        n_drawn=critique.n_drawn,
        n_valid=critique.n_valid,
        usage=usage,
    )


def reason_overlap(critique: Critique, case: FeedbackCase) -> float | None:
    """F1 of the stems of content words in the critique's reasons and the annotators'; the mean over the sentences that
    both call incomplete, None where there is none.
    """
    if case.tags is None:
        return None
    found = []
    for sentence, reason in zip(critique.sentences, case.reasons, strict=True):
        if sentence.tag == "Incomplete" and reason:
            said, meant = set(stems(sentence.reason or "")), set(stems(reason))
            if said or meant:
                found.append(2 * len(said & meant) / (len(said) + len(meant)))
    return fmean(found) if found else None


_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"'()\[\]]+", re.IGNORECASE)
_BEFORE_HOST = re.compile(r"(?:https?://)?(?:www\.)?", re.IGNORECASE)


def strange_references(reasons: Iterable[str | None], case: FeedbackCase) -> set[str]:
    """The web addresses in the reasons that neither the question, the answer, its passages nor the annotators name.

    EIR (section 4.1) speaks of invented web references and does not say how they were told; no page is opened here, so
    that a real one counts as well, unless it was given.
    """

    def addresses(texts: Iterable[str | None]) -> set[str]:
        links = (link for text in texts for link in _LINK.findall(text or ""))
        return {_BEFORE_HOST.sub("", link, count=1).rstrip("/.,;:!?").lower() for link in links}

    item = case.item
    return addresses(reasons) - addresses([item.question, item.answer, *(item.context or []), *case.reasons])


def outcome(predicted: Sequence[Tag], gold: Sequence[Tag]) -> Outcome:
    """Where the first sentence that is predicted incomplete lies; both sequences are of one answer."""
    if "Incomplete" not in predicted:
        return "different" if "Incomplete" in gold else "exact"
    return _at(list(predicted).index("Incomplete"), gold)


def random_outcomes(gold: Sequence[Tag], rate: float) -> list[float]:
    """The chances of exact, adjacent and different when each sentence is called incomplete with probability `rate`."""
    chances = dict.fromkeys(OUTCOMES, 0.0)
    none_so_far = 1.0
    for first in range(len(gold)):
        chances[_at(first, gold)] += none_so_far * rate
        none_so_far *= 1 - rate
    chances["different" if "Incomplete" in gold else "exact"] += none_so_far
    return [chances[name] for name in OUTCOMES]


def always(which: Literal["first", "last"]) -> Callable[[int], list[Tag]]:
    """A prediction for `n` sentences that calls the first, or the last, incomplete and no other."""

    def predict(n: int) -> list[Tag]:
        tags: list[Tag] = ["Complete"] * n
        tags[0 if which == "first" else n - 1] = "Incomplete"
        return tags

    return predict


def _at(first: int, gold: Sequence[Tag]) -> Outcome:
    if gold[first] == "Incomplete":
        return "exact"
    return "adjacent" if "Incomplete" in gold[max(0, first - 1) : first + 2] else "different"


def feedback_report(rows: Sequence[FeedbackRow], *, draws: int = DRAWS, seed: int = 0) -> Json:
    """All figures as JSON, by part (`counts`, `sentences`, `paper` ...); estimates are objects."""
    resamples = Resamples(draws=draws, seed=seed)
    scored = [r for r in rows if r.status == "scored"]
    tagged = [r for r in scored if r.gold is not None]
    return {
        "counts": counts(rows),
        "sentences": sentence_figures(tagged, resamples),
        "paper": paper_figures(tagged, resamples),
        "calibration": calibration(tagged, resamples),
        "references": reference_figures(scored, resamples),
        "answers": answer_figures(scored, resamples),
        "interval": {"level": 0.95, "draws": draws, "seed": seed, "over": "answers"},
    }


def over_seeds(reports: Sequence[Any]) -> Any:
    """Reports of runs that differ in their seed alone, two at least, as one of the same shape.

    A figure has its mean as `value`, as `spread` the standard deviation over the seeds (of n, as EIR's authors compute
    theirs), and `values` in their order. One that a seed does not have is unscored; numbers without an interval become
    their mean.
    """
    first = reports[0]
    if all(isinstance(report, dict) for report in reports):
        if all("value" in report for report in reports):
            values = [report["value"] for report in reports]
            n = round(fmean(report["n"] for report in reports))
            return {"value": fmean(values), "spread": pstdev(values), "values": values, "n": n}
        shared = [key for key in first if all(key in report for report in reports)]
        found = {key: over_seeds([report[key] for report in reports]) for key in shared}
        return found if len(shared) == len(first) else {"unscored": "not measured with every seed", **found}
    if isinstance(first, list):
        return [over_seeds(parts) for parts in zip(*reports, strict=False)]
    are_numbers = all(isinstance(report, int | float) for report in reports)
    return fmean(reports) if are_numbers and any(report != first for report in reports) else first


def counts(rows: Sequence[FeedbackRow]) -> Json:
    """How many answers there are, with and without a vote and why, and what they hold."""
    tagged = [r for r in rows if r.gold is not None]
    causes = Counter(r.why for r in rows if r.status != "scored")
    return {
        "answers": len(rows),
        **{status: sum(r.status == status for r in rows) for status in ("scored", "abstained", "failed")},
        "causes": [{"why": why, "answers": n} for why, n in causes.most_common(5)],
        "answers_that_lack_something": sum(r.lacks for r in rows),
        "sentences": sum(len(r.gold or ()) for r in tagged),
        "incomplete_sentences": sum((r.gold or ()).count("Incomplete") for r in tagged),
        "samples_drawn": sum(r.n_drawn for r in rows),
        "samples_valid": sum(r.n_valid for r in rows),
    }


def sentence_figures(rows: Sequence[FeedbackRow], resamples: Resamples) -> Json:
    """ROC AUC and average precision of the shares, F1 of the vote: over all sentences, and within answers.

    Within: the mean over answers of the figure inside each, where it is defined. Beside it the rows that need no model.
    """
    if not rows:
        return {"unscored": "no answer with tagged sentences has a vote"}
    base = base_rate(rows)
    return {
        "model": _figures(rows, [list(r.shares) for r in rows], [list(r.tags) for r in rows], resamples),
        "always first": _constant(rows, always("first"), resamples),
        "always last": _constant(rows, always("last"), resamples),
        "all incomplete": _constant(rows, lambda n: ["Incomplete"] * n, resamples),
        "random at base rate": {"auc": 0.5, "ap": base, "f1": base, "base_rate": base},
    }


def paper_figures(rows: Sequence[FeedbackRow], resamples: Resamples) -> Json:
    """Exact, adjacent and different (EIR, table 3) of the vote, and of the rows that need no model.

    It looks at the first sentence that is called incomplete and at nothing else, so it rewards naming the first.
    """
    if not rows:
        return {"unscored": "no answer with tagged sentences has a vote"}
    golds = [r.gold or () for r in rows]
    base = base_rate(rows)

    def shown(outcomes: Sequence[Sequence[float]]) -> Json:
        found = resamples.estimate(len(rows), means(np.array(outcomes, dtype=np.float64)))
        return {name: e.to_json() for name, e in zip(OUTCOMES, found, strict=True)}

    def one_hot(predictions: Sequence[Sequence[Tag]]) -> list[list[float]]:
        named = [outcome(p, g) for p, g in zip(predictions, golds, strict=True)]
        return [[float(name == o) for o in OUTCOMES] for name in named]

    mine = [outcome(r.tags, g) for r, g in zip(rows, golds, strict=True)]
    consistency = {}
    for name in OUTCOMES:
        own = [
            r.tag_consistency for r, m in zip(rows, mine, strict=True) if m == name and r.tag_consistency is not None
        ]
        consistency[name] = _one(resamples, len(own), means(np.array(own)))
    return {
        "model": shown(one_hot([r.tags for r in rows])),
        "always first": shown(one_hot([always("first")(len(g)) for g in golds])),
        "always last": shown(one_hot([always("last")(len(g)) for g in golds])),
        "random at base rate": shown([random_outcomes(g, base) for g in golds]),
        "consistency": consistency,
    }


def calibration(rows: Sequence[FeedbackRow], resamples: Resamples) -> Json:
    """Whether more consistent critiques are better ones.

    Better: the share of sentences tagged as the annotators did (for tag consistency), the overlap of the reasons with
    theirs (for reason consistency). Long answers have lower consistencies and are harder, so that the correlation is
    also given with the number of sentences taken out.
    """
    voted = [r for r in rows if r.tag_consistency is not None]
    if not voted:
        return {"unscored": "no answer with tagged sentences has a vote"}
    tags = np.array([r.tag_consistency for r in voted], dtype=np.float64)
    right = np.array([fmean(a == b for a, b in zip(r.tags, r.gold or (), strict=True)) for r in voted])
    length = np.array([float(r.n_sentences) for r in voted])
    reasoned = [r for r in voted if r.reason_overlap is not None and r.reason_consistency is not None]
    said = np.array([r.reason_consistency for r in reasoned], dtype=np.float64)
    overlap = np.array([r.reason_overlap for r in reasoned], dtype=np.float64)
    return {
        "tag_consistency": {
            "spearman": _one(resamples, len(voted), spearman(tags, right)),
            "spearman_given_length": _one(resamples, len(voted), spearman(tags, right, length)),
            "bins": _bins(tags, right, resamples),
        },
        "reason_consistency": {
            "spearman": _one(resamples, len(reasoned), spearman(said, overlap)),
            "bins": _bins(said, overlap, resamples),
        },
    }


def reference_figures(rows: Sequence[FeedbackRow], resamples: Resamples) -> Json:
    """The share of answers on which the reasons name a reference that is not given: by one sample, by the vote.

    `difference` is the vote's less one sample's, `reduction` the share of the latter that the vote takes away: EIR
    (section 4.1) has "about 20 %" before, "a 50 % reduction", and 5 to 10 % after. Of answers with several samples.
    """
    table = np.array(
        [(r.samples_invent, r.vote_invents) for r in rows if r.samples_invent is not None and r.n_valid > 1]
    )
    if not len(table):
        return {"unscored": "no answer with a vote has several samples"}

    def metric(weights: Array) -> Array:
        before, after = (weights @ table.astype(np.float64)).T / weights.sum(axis=1)
        return np.stack([before, after, after - before, ratio(before - after, before)], axis=1)

    names = ("one sample", "vote", "difference", "reduction")
    return {name: one.to_json() for name, one in zip(names, resamples.estimate(len(table), metric), strict=True)}


def answer_figures(rows: Sequence[FeedbackRow], resamples: Resamples) -> Json:
    """Whether the model tells answers that lack information from those that do not.

    Two scores: the share of samples that find any fault, and the mean share over the sentences. At the vote: F1 and
    accuracy of "the selected critique finds any fault".
    """
    labels = [r.lacks for r in rows]
    lacking = sum(labels)
    if min(lacking, len(rows) - lacking) < MIN_CLASS:
        share = f"{lacking} of the {len(rows)} answers with a vote"
        return {"unscored": f"{share} lack something; at least {MIN_CLASS} of each kind are needed"}
    says = ["Incomplete" in r.tags for r in rows]
    base = lacking / len(rows)

    def ranked(scores: list[float]) -> Json:
        auc, ap = resamples.estimate(len(rows), auc_and_ap(len(rows), range(len(rows)), scores, labels))
        return {"auc": auc.to_json(), "ap": ap.to_json()}

    right = np.array([float(s == y) for s, y in zip(says, labels, strict=True)])
    return {
        "any_fault": ranked([r.share_any or 0.0 for r in rows]),
        "mean_share": ranked([fmean(r.shares) if r.shares else 0.0 for r in rows]),
        "vote": {
            **_f1(_confusion([[s] for s in says], [[y] for y in labels]), resamples),
            "accuracy": _one(resamples, len(rows), means(right)),
        },
        "always lacking": {"auc": 0.5, "ap": base, "f1": 2 * base / (1 + base), "accuracy": base},
    }


def base_rate(rows: Sequence[FeedbackRow]) -> float:
    """The share of incomplete sentences, in [0, 1]."""
    tags = [tag for r in rows for tag in r.gold or ()]
    return tags.count("Incomplete") / len(tags)


def _constant(rows: Sequence[FeedbackRow], predict: Callable[[int], list[Tag]], resamples: Resamples) -> Json:
    tags = [predict(r.n_sentences) for r in rows]
    return _figures(rows, [[float(t == "Incomplete") for t in row] for row in tags], tags, resamples)


def _figures(
    rows: Sequence[FeedbackRow], scores: Sequence[Sequence[float]], tags: Sequence[Sequence[Tag]], resamples: Resamples
) -> Json:
    gold = [[t == "Incomplete" for t in r.gold or ()] for r in rows]
    votes = [[t == "Incomplete" for t in row] for row in tags]
    row_of = [i for i, g in enumerate(gold) for _ in g]
    flat_scores, flat_gold = [s for row in scores for s in row], [g for row in gold for g in row]
    auc, ap = resamples.estimate(len(rows), auc_and_ap(len(rows), row_of, flat_scores, flat_gold), n=len(flat_gold))
    inside = np.array([_inside(s, v, g) for s, v, g in zip(scores, votes, gold, strict=True)])
    within = resamples.estimate(len(rows), means(inside))
    there = (~np.isnan(inside)).sum(axis=0)
    f1 = _f1(_confusion(votes, gold), resamples, n=len(flat_gold))
    return {
        "overall": {"auc": auc.to_json(), "ap": ap.to_json(), **f1},
        "within": {
            name: {**e.to_json(), "n": int(n)} for name, e, n in zip(("auc", "ap", "f1"), within, there, strict=True)
        },
    }


def _f1(confusion: Array, resamples: Resamples, *, n: int | None = None) -> Json:
    found = resamples.estimate(len(confusion), f1_precision_recall(confusion), n=n)
    return {name: e.to_json() for name, e in zip(("f1", "precision", "recall"), found, strict=True)}


def _inside(scores: Sequence[float], votes: Sequence[bool], gold: Sequence[bool]) -> list[float]:
    """AUC, AP and F1 inside one answer, NaN where not defined."""
    one = np.ones((1, 1))
    auc, ap = auc_and_ap(1, [0] * len(gold), scores, gold)(one)[0]
    f1 = f1_precision_recall(_confusion([votes], [gold]))(one)[0, 0]
    return [auc, ap, f1 if any(gold) else np.nan]


def _confusion(votes: Sequence[Sequence[bool]], gold: Sequence[Sequence[bool]]) -> Array:
    """True positives, false positives and misses of each row, (rows, 3)."""
    table = []
    for said, true in zip(votes, gold, strict=True):
        pairs = list(zip(said, true, strict=True))
        table.append([pairs.count((True, True)), pairs.count((True, False)), pairs.count((False, True))])
    return np.array(table, dtype=np.float64)


def _bins(by: Array, quality: Array, resamples: Resamples) -> list[Json]:
    found = []
    place = np.clip(np.digitize(by, BINS[1:-1]), 0, len(BINS) - 2)
    for at, (low, high) in enumerate(pairwise(BINS)):
        inside = place == at
        n = int(inside.sum())
        mean = float(by[inside].mean()) if n else None
        found.append(
            {"from": low, "to": high, "consistency": mean, "quality": _one(resamples, n, means(quality[inside]))}
        )
    return found


def _one(resamples: Resamples, rows: int, metric: Metric) -> Json:
    return resamples.estimate(rows, metric)[0].to_json()
