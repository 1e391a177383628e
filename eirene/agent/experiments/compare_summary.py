"""The figures of a comparison as plain JSON: a pure function of its rows and judgements.

Each figure of an answer is a `Measure`; the rows become a table with a column a measure, NaN where a row has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from eirene._version import __version__
from eirene.agent.experiments.compare import CompareRow, JudgedText
from eirene.core.records import STATUSES, VOTED_MODES, WITHOUT_FAULT, Status
from eirene.core.scores import number
from eirene.core.usage import Usage
from eirene.eval.detectors.judge import Judgement
from eirene.eval.metrics.bootstrap import (
    DRAWS,
    LEVEL,
    Array,
    Estimate,
    Resamples,
    error_correction,
    holm,
    mcnemar,
    paired_differences,
)

Json = dict[str, Any]
Side = Literal["before", "after"]
Kind = Literal["share", "score", "penalty", "price"]
Judgements = Mapping[tuple[str, str], JudgedText]
ERRORS = ("hallucination", "coverage")
FEWEST_ITEMS = 6
"""Nothing is called better or worse on fewer: of five that all agree, a sign test says p = 0.06."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of an answer, read from its row before or after the run; None where the row has none.

    Measures of one `kind` share a scale: shares of the answers, error scores (both in [0, 1]), penalties, prices.
    `lower_is_better` is None where neither is. `advisory` ones are shown and decide nothing.
    """

    name: str
    label: str
    kind: Kind
    read: Callable[[CompareRow, Side], float | None]
    lower_is_better: bool | None = True
    advisory: bool = False


def _outcome(*statuses: Status) -> Callable[[CompareRow, Side], float | None]:
    return lambda row, _: None if row.record.status == "failed" else float(row.record.status in statuses)


OUTCOMES = (
    Measure("accepted", "accepted", "share", _outcome("accepted"), None),  # a mode that lets all through is no better
    Measure("without_fault", "without a fault found", "share", _outcome(*WITHOUT_FAULT), None),
)
SPENT = (
    Measure("input_tokens", "input tokens", "price", lambda row, _: row.record.usage.input_tokens),
    Measure("output_tokens", "output tokens", "price", lambda row, _: row.record.usage.output_tokens),
    Measure("seconds", "seconds", "price", lambda row, _: row.record.usage.seconds),
    Measure("cost_usd", "cost (US dollars)", "price", lambda row, _: row.record.usage.cost_usd),
)


def detector_measures(rows: Sequence[CompareRow]) -> list[Measure]:
    """The errors of each detector that any row knows, in the order of their first appearance, advisory ones last.

    An error that a detector gives in no row, while it gives the other, is none of its errors.
    """
    found: dict[str, dict[str, bool]] = {}
    for row in rows:
        for side in (row.record.scores.original, row.record.scores.final):
            for name, scores in side.items():
                given = found.setdefault(name, dict.fromkeys(ERRORS, False))
                for error in ERRORS:
                    given[error] |= number(getattr(scores, error)) is not None
    advisory = {name for row in rows for name in row.record.advisory}
    return [
        Measure(f"{name}.{error}", f"{name}: {error}{said}", "score", _score(name, error), advisory=bool(said))
        for name, given in sorted(found.items(), key=lambda entry: entry[0] in advisory)
        for said in [" (advisory)" if name in advisory else ""]
        for error in ERRORS
        if given[error] or not any(given.values())
    ]


def _score(detector: str, error: str) -> Callable[[CompareRow, Side], float | None]:
    def read(row: CompareRow, side: Side) -> float | None:
        scores = row.record.scores.original if side == "before" else row.record.scores.final
        if row.record.status == "failed" or detector not in scores:
            return None
        return number(getattr(scores[detector], error))

    return read


def judge_measures(judgements: Judgements) -> tuple[Measure, Measure]:
    """Whether the judge found an error in an answer, and the penalty."""

    def judged(row: CompareRow, side: Side) -> Judgement | None:
        found = judgements.get((row.id, row.record.original if side == "before" else row.record.answer))
        is_there = row.record.status != "failed" and found is not None and isinstance(found.judgement, Judgement)
        return found.judgement if is_there else None  # type: ignore[union-attr,return-value]  # as was just asked

    def error(row: CompareRow, side: Side) -> float | None:
        found = judged(row, side)
        return None if found is None else float(found.has_error)

    def penalty(row: CompareRow, side: Side) -> float | None:
        found = judged(row, side)
        return None if found is None else found.penalty

    return (
        Measure("error", "answers with an error (judge)", "share", error),
        Measure("penalty", "penalty (judge)", "penalty", penalty),
    )


def _table(rows: Sequence[CompareRow], measures: Sequence[Measure], side: Side) -> Array:
    """(rows, measures); NaN where a row has no such figure."""
    values = [[np.nan if (v := m.read(row, side)) is None else v for m in measures] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(measures))


def errors_by_row(rows: Sequence[CompareRow], judgements: Judgements) -> list[tuple[Measure, Array, Array]]:
    """Each measure of an error with every row's value before and after; NaN where a row was not scored."""
    measures = [*detector_measures(rows), *(judge_measures(judgements)[1:] if judgements else ())]
    before, after = (_table(rows, measures, side) for side in get_args(Side))
    return [(measure, before[:, i], after[:, i]) for i, measure in enumerate(measures)]


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
    known = {} if judgements is None else judgements
    resamples = Resamples(draws=draws, seed=seed)
    groups: dict[str, list[CompareRow]] = {}
    for row in rows:
        groups.setdefault(row.mode, []).append(row)
    seeds = sorted({row.seed for row in rows})
    # The later mode minus the earlier: those that are told more are named last.
    pairs = [_pair(groups[b], groups[a], known, resamples) for a, b in combinations(groups, 2)]
    _correct(pairs)
    judged = {text.key: text.usage for text in known.values()}.values()
    return {
        "items": len({row.id for row in rows}),
        "rows": len(rows),
        "seeds": seeds,
        "modes": list(groups),
        "judge": judge,
        "judge_usage": _total(judged) if judge else None,
        "signatures": {mode: _signature(group, seeds) for mode, group in groups.items()},
        "statistics": f"bootstrap:{draws}/{LEVEL:g}/items|tests:mcnemar-exact/holm|stat-seed:{seed}|v:{__version__}",
        "per_mode": {m: _mode(group, known, resamples, has_judge=judge is not None) for m, group in groups.items()},
        "pairs": pairs,
    }


def _mode(rows: Sequence[CompareRow], judgements: Judgements, resamples: Resamples, *, has_judge: bool) -> Json:
    usage = _total(row.record.usage for row in rows)
    return {
        "rows": len(rows),
        "status": {s: sum(row.record.status == s for row in rows) for s in STATUSES},
        "outcomes": _means_of(rows, OUTCOMES, resamples),
        "scores": _before_after(rows, detector_measures(rows), resamples),
        "judged": _judged(rows, judgements, resamples) if has_judge else {"unscored": "no judge was named (--judge)"},
        "usage": usage,
        "spent": _means_of(rows, SPENT, resamples),
        "per_accepted": _per_accepted(usage, sum(row.record.status == "accepted" for row in rows)),
    }


def _judged(rows: Sequence[CompareRow], judgements: Judgements, resamples: Resamples) -> Json:
    measures = judge_measures(judgements)
    before, after = (_table(rows, measures[:1], side)[:, 0] for side in get_args(Side))
    both = ~np.isnan(before + after)
    ids = [row.id for row, is_there in zip(rows, both, strict=True) if is_there]
    found = error_correction(before[both] > 0, after[both] > 0, clusters=ids, resamples=resamples)
    correction: Json = {name: getattr(found, name) for name in ("corrected", "introduced", "left", "clean")}
    correction |= {name: getattr(found, name).to_json() for name in ("precision", "recall", "f1")}
    correction["unscored_rows"] = int((~both).sum())
    return {"errors": _before_after(rows, measures, resamples), "correction": correction}


def _before_after(rows: Sequence[CompareRow], measures: Sequence[Measure], resamples: Resamples) -> Json:
    """Means before and after, and of the change on the rows that have both; the unscored are counted."""
    before, after = (_table(rows, measures, side) for side in get_args(Side))
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


def _means_of(rows: Sequence[CompareRow], measures: Sequence[Measure], resamples: Resamples) -> Json:
    found = _means(rows, _table(rows, measures, "after"), resamples)
    return {m.name: estimate.to_json() for m, estimate in zip(measures, found, strict=True)}


def _total(usages: Iterable[Usage]) -> Json:
    return sum(usages, Usage()).model_dump(mode="json")


def _per_accepted(total: Json, accepted: int) -> Json:
    """What an accepted rewrite cost, the price of all other rows of the mode included."""
    if not accepted:
        return {"unscored": "nothing was accepted"}
    cost = total["cost_usd"]
    shares = {name: total[name] / accepted for name in ("calls", "input_tokens", "output_tokens", "seconds")}
    return {**shares, "cost_usd": {"unscored": "the price is unknown"} if cost is None else cost / accepted}


def _pair(a: list[CompareRow], b: list[CompareRow], judgements: Judgements, resamples: Resamples) -> Json:
    """Mode a minus mode b, on the rows (item, seed) that both have."""
    mine, theirs = {row.pair: row for row in a}, {row.pair: row for row in b}
    common = [pair for pair in mine if pair in theirs]
    left, right = [mine[p] for p in common], [theirs[p] for p in common]
    judged = judge_measures(judgements) if judgements else ()
    measures = [*OUTCOMES, *detector_measures([*left, *right]), *judged, *SPENT]
    columns = _comparable(left, measures), _comparable(right, measures)
    items = [row.id for row in left]
    has_vote = not VOTED_MODES.isdisjoint((a[0].mode, b[0].mode))
    found = paired_differences(*columns, items, resamples)
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
        # Only a vote can find no fault: between other modes there is nothing to test.
        "tests": _tests(measures, columns, items, of=("accepted", "error", *["without_fault"] * has_vote)),
    }


def _comparable(rows: Sequence[CompareRow], measures: Sequence[Measure]) -> Array:
    """Without scores against what a critique gave: another mode's critique gives another."""
    table = _table(rows, measures, "after")
    derived = [row.given == "derived" for row in rows]
    table[np.ix_(derived, [m.kind == "score" for m in measures])] = np.nan
    return table


def _verdict(difference: Estimate, lower_is_better: bool | None) -> str | None:
    """What the first mode is beyond its interval: `better` or `worse`; else `open`; None where neither can be."""
    if lower_is_better is None or difference.value is None:
        return None
    low, high, items = difference.low, difference.high, difference.clusters or 0
    if low is None or high is None or items < FEWEST_ITEMS or low <= 0 <= high:
        return "open"
    return "better" if (high < 0) == lower_is_better else "worse"


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
