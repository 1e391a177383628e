"""The figures of a comparison as plain JSON: a pure function of its rows and judgements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, get_args

import numpy as np

from eirene._version import __version__
from eirene.agent.experiments.compare_rows import (
    JUDGED,
    OUTCOMES,
    SPENT,
    CompareRow,
    Judgements,
    Measure,
    by_mode,
    comparable,
    detector_measures,
    judged,
    outcomes,
    scores_of,
    spent,
)
from eirene.core.records import VOTED_MODES, Status
from eirene.core.usage import Usage
from eirene.eval.metrics.answers import error_correction
from eirene.eval.statistics.bootstrap import DRAWS, LEVEL, Array, Estimate, Resamples, holm, mcnemar, paired_differences

Json = dict[str, Any]
FEWEST_ITEMS = 6
"""Nothing is called better or worse on fewer: of five that all agree, a sign test says p = 0.06."""


def summarise(
    rows: Sequence[CompareRow],
    judgements: Judgements | None = None,
    *,
    judge: str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Json:
    """All figures of a comparison.

    Per mode: statuses, scores before and after, the judge's errors, what became of them, and the price. Per pair of
    modes: differences on the rows that both have, with percentile intervals over items (a row for each seed is one
    cluster), McNemar's exact tests, and Holm's correction over all tests. What is undefined is named, never a number.
    """
    modes = list(dict.fromkeys(row.mode for row in rows))
    known = {} if judgements is None else judgements
    resamples = Resamples(draws=draws, seed=seed)
    groups = by_mode(rows, modes)
    seeds = sorted({row.seed for row in rows})
    signatures = {mode: _signature(groups[mode], seeds) for mode in modes}
    statistics = f"bootstrap:{draws}/{LEVEL:g}/items|tests:mcnemar-exact/holm|stat-seed:{seed}|v:{__version__}"
    # The later mode minus the earlier: those that are told more are named last.
    pairs = [_pair(groups[b], groups[a], known, resamples) for a, b in combinations(modes, 2)]
    _correct(pairs)
    return {
        "items": len({row.id for row in rows}),
        "rows": len(rows),
        "seeds": seeds,
        "modes": modes,
        "judge": judge,
        "judge_usage": _judge_usage(known) if judge else None,
        "signatures": signatures,
        "statistics": statistics,
        "per_mode": {mode: _mode(groups[mode], known, resamples, has_judge=judge is not None) for mode in modes},
        "pairs": pairs,
    }


def _mode(rows: Sequence[CompareRow], judgements: Judgements, resamples: Resamples, *, has_judge: bool) -> Json:
    measures = detector_measures(rows)
    before, after = scores_of(rows, measures, "before"), scores_of(rows, measures, "after")
    return {
        "rows": len(rows),
        "status": {s: sum(row.record.status == s for row in rows) for s in get_args(Status)},
        "outcomes": _named(OUTCOMES, _means(rows, outcomes(rows), resamples)),
        "scores": _before_after(rows, measures, before, after, resamples),
        "judged": _judged(rows, judgements, resamples) if has_judge else {"unscored": "no judge was named (--judge)"},
        "usage": _usage(rows),
        "spent": _named(SPENT, _means(rows, spent(rows), resamples)),
        "per_accepted": _per_accepted(rows),
    }


def _judged(rows: Sequence[CompareRow], judgements: Judgements, resamples: Resamples) -> Json:
    before, after = judged(rows, judgements, "before"), judged(rows, judgements, "after")
    both = ~np.isnan(before[:, 0] + after[:, 0])
    ids = [row.id for row, is_there in zip(rows, both, strict=True) if is_there]
    found = error_correction(before[both, 0] > 0, after[both, 0] > 0, clusters=ids, resamples=resamples)
    correction: Json = {name: getattr(found, name) for name in ("corrected", "introduced", "left", "clean")}
    correction |= {name: getattr(found, name).to_json() for name in ("precision", "recall", "f1")}
    correction["unscored_rows"] = int((~both).sum())
    return {"errors": _before_after(rows, JUDGED, before, after, resamples), "correction": correction}


def _before_after(
    rows: Sequence[CompareRow], measures: Sequence[Measure], before: Array, after: Array, resamples: Resamples
) -> Json:
    """Means before and after, and of the change on the rows that have both; the unscored are counted."""
    columns = np.concatenate([before, after, after - before], axis=1)
    found = _means(rows, columns, resamples)
    n = len(measures)
    missing = np.isnan(columns).sum(axis=0)
    return {
        m.name: {
            "label": m.label,
            "advisory": m.advisory,
            "before": found[i].to_json(),
            "after": found[n + i].to_json(),
            "change": found[2 * n + i].to_json(),
            "unscored_before": int(missing[i]),
            "unscored_after": int(missing[n + i]),
        }
        for i, m in enumerate(measures)
    }


def _means(rows: Sequence[CompareRow], table: Array, resamples: Resamples) -> list[Estimate]:
    """The mean of each column with its interval over items; `n` is the rows that have it."""
    # Nothing minus nothing: a paired difference to zero is the mean, counted and named the same way.
    return paired_differences(table, np.zeros_like(table), [row.id for row in rows], resamples)


def _named(measures: Sequence[Measure], found: Sequence[Estimate]) -> Json:
    return {m.name: estimate.to_json() for m, estimate in zip(measures, found, strict=True)}


def _usage(rows: Sequence[CompareRow]) -> Json:
    total = Usage()
    for row in rows:
        total = total + row.record.usage
    return total.model_dump(mode="json")


def _per_accepted(rows: Sequence[CompareRow]) -> Json:
    """What an accepted rewrite cost, the price of all other rows of the mode included."""
    accepted = sum(row.record.status == "accepted" for row in rows)
    if not accepted:
        return {"unscored": "nothing was accepted"}
    total = _usage(rows)
    cost = total["cost_usd"]
    return {
        "calls": total["calls"] / accepted,
        "input_tokens": total["input_tokens"] / accepted,
        "output_tokens": total["output_tokens"] / accepted,
        "seconds": total["seconds"] / accepted,
        "cost_usd": {"unscored": "the price is unknown"} if cost is None else cost / accepted,
    }


def _pair(a: list[CompareRow], b: list[CompareRow], judgements: Judgements, resamples: Resamples) -> Json:
    """Mode a minus mode b, on the rows (item, seed) that both have."""
    mine, theirs = {row.pair: row for row in a}, {row.pair: row for row in b}
    common = [pair for pair in mine if pair in theirs]
    left, right = [mine[p] for p in common], [theirs[p] for p in common]
    measures, columns = _columns(left, right, judgements)
    items = [row.id for row in left]
    has_vote = not VOTED_MODES.isdisjoint((a[0].mode, b[0].mode))
    found = paired_differences(columns[0], columns[1], items, resamples)
    differences = [
        {
            "measure": m.name,
            "label": m.label,
            "kind": m.kind,
            "lower_is_better": m.lower_is_better,
            "advisory": m.advisory,
            "difference": estimate.to_json(),
            "verdict": _verdict(estimate, m.lower_is_better),
            "unscored": len(common) - estimate.n,
        }
        for m, estimate in zip(measures, found, strict=True)
    ]
    return {
        "a": a[0].mode,
        "b": b[0].mode,
        "rows": len(common),
        "differences": differences,
        # Only a vote can find an answer complete: between other modes there is nothing to test.
        "tests": _tests(measures, columns, items, of=("accepted", "error", *["complete"] * has_vote)),
    }


def _verdict(difference: Estimate, lower_is_better: bool | None) -> str | None:
    """What the first mode is beyond its interval: `better` or `worse`; else `open`; None where neither can be."""
    if lower_is_better is None or difference.value is None:
        return None
    low, high, items = difference.low, difference.high, difference.clusters or 0
    if low is None or high is None or items < FEWEST_ITEMS or low <= 0 <= high:
        return "open"
    return "better" if (high < 0) == lower_is_better else "worse"


def _columns(
    left: list[CompareRow], right: list[CompareRow], judgements: Judgements
) -> tuple[list[Measure], tuple[Array, Array]]:
    detectors = detector_measures([*left, *right])
    measures = [*OUTCOMES, *detectors, *(JUDGED if judgements else ()), *SPENT]

    def table(rows: list[CompareRow]) -> Array:
        parts = [outcomes(rows), comparable(rows, scores_of(rows, detectors, "after"))]
        parts += [judged(rows, judgements, "after")] if judgements else []
        return np.concatenate([*parts, spent(rows)], axis=1)

    return measures, (table(left), table(right))


def _tests(
    measures: Sequence[Measure], columns: tuple[Array, Array], items: Sequence[str], *, of: Sequence[str]
) -> list[Json]:
    """McNemar's test on the measures named, which are a yes or no."""
    found = []
    for i, measure in enumerate(measures):
        if measure.name not in of:
            continue
        a, b = columns[0][:, i], columns[1][:, i]
        n = int((~np.isnan(a - b)).sum())
        test = mcnemar(a, b, items)
        outcome: Json = {"measure": measure.name, "label": measure.label, "n": n, "unscored": len(items) - n}
        outcome |= {"only_a": test.only_a, "only_b": test.only_b, "ties": test.ties}
        found.append({**outcome, "p": test.p} if n else {**outcome, "unscored_why": "no row is scored in both"})
    return found


def _correct(pairs: Sequence[Json]) -> None:
    """Adds Holm's adjusted p-value to every test; the family is all tests of the comparison."""
    tests = [test for pair in pairs for test in pair["tests"] if "p" in test]
    for test, adjusted in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = adjusted


def _signature(rows: Sequence[CompareRow], seeds: Sequence[int]) -> str:
    """The mode's settings as one line, with all its seeds."""
    own = rows[0].record
    return own.signature.replace(f"|seed:{own.seed}|", f"|seed:{','.join(map(str, seeds))}|")


def _judge_usage(judgements: Judgements) -> Json:
    total = Usage()
    for one in {text.key: text for text in judgements.values()}.values():
        total = total + one.usage
    return total.model_dump(mode="json")


__all__ = ["summarise"]
