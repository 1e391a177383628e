"""The figures of a comparison as plain JSON: a pure function of its rows and judgements.

Each figure of an answer is a `Measure`; the rows become a table with a column a measure, NaN where a row has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from eirene._version import __version__
from eirene.agent.experiments.compare import CompareRow, JudgedText
from eirene.core.records import STATUSES, WITHOUT_FAULT, Status
from eirene.core.scores import ERRORS, Scores, Side, number
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
    paired_differences,
    sign_flip_p,
)

Json = dict[str, Any]
Kind = Literal["share", "score", "penalty", "price"]
Values = list[float | None]
Judgements = Mapping[tuple[str, str], JudgedText]
FEWEST_ITEMS = 6
"""Nothing is called better or worse on fewer: of five that all agree, a sign test says p = 0.06."""
LEAST = 0.001
"""Nearer to 0 no end of an interval shows its side: figures have three decimals, and intervals are rounded outwards."""


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
                    given[error] |= _error(row, scores, error) is not None
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
        return _error(row, scores[detector], error)

    return read


def _error(row: CompareRow, scores: Scores, error: str) -> float | None:
    """An error of an answer. An answer need not say what all passages say: that they are not covered is none."""
    return None if error == "coverage" and row.given == "context" else number(getattr(scores, error))


def judge_measures(judgements: Judgements) -> tuple[Measure, ...]:
    """Whether the judge found an error in an answer, the penalty, and the penalty of an error (EIR's score)."""

    def judged(row: CompareRow, side: Side) -> Judgement | None:
        found = judgements.get((row.id, row.record.original if side == "before" else row.record.answer))
        is_there = row.record.status != "failed" and found is not None and isinstance(found.judgement, Judgement)
        return found.judgement if is_there else None  # type: ignore[union-attr,return-value]  # as was just asked

    def of(figure: Callable[[Judgement], float | None]) -> Callable[[CompareRow, Side], float | None]:
        return lambda row, side: None if (found := judged(row, side)) is None else figure(found)

    return (
        Measure("error", "answers with an error (judge)", "share", of(lambda found: float(found.has_error))),
        Measure("penalty", "penalty (judge)", "penalty", of(lambda found: found.penalty)),
        Measure("hallucination_score", "hallucination score (judge)", "penalty", of(lambda f: f.hallucination_score)),
    )


def _table(rows: Sequence[CompareRow], measures: Sequence[Measure], side: Side) -> Array:
    """(rows, measures); NaN where a row has no such figure."""
    values = [[np.nan if (v := m.read(row, side)) is None else v for m in measures] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(measures))


def errors_by_row(rows: Sequence[CompareRow], judgements: Judgements) -> Iterator[tuple[str, bool, Values, Values]]:
    """Each error's label, whether it is advisory, and every row's value before and after; None where it has none."""
    for measure in (*detector_measures(rows), *(judge_measures(judgements)[1:] if judgements else ())):
        before, after = ([measure.read(row, side) for row in rows] for side in get_args(Side))
        yield measure.label, measure.advisory, before, after


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
    modes: differences on the rows that all modes have, so that three modes cannot beat each other in a circle, with
    percentile intervals over items (a row for each seed is one cluster) and randomization tests. One measure is the
    primary one, named by what was given before any difference is looked at; Holm's correction is over its pairs, and
    apart over all other tests. What is undefined is named, never a number.
    """
    known = {} if judgements is None else judgements
    resamples = Resamples(draws=draws, seed=seed)
    groups: dict[str, list[CompareRow]] = {}
    for row in rows:
        groups.setdefault(row.mode, []).append(row)
    seeds = sorted({row.seed for row in rows})
    pairs = _pairs(groups, known, resamples)
    primary = _primary(groups, known)
    _conclude(pairs, primary)
    judged = {text.key: text.usage for text in known.values()}.values()
    return {
        "items": len({row.id for row in rows}),
        "rows": len(rows),
        "seeds": seeds,
        "modes": list(groups),
        "judge": judge,
        "judge_usage": _total(judged) if judge else None,
        "primary": primary,
        "signatures": {mode: _signature(group, seeds) for mode, group in groups.items()},
        "statistics": f"bootstrap:{draws}/{LEVEL:g}/items|tests:sign-flip/holm|stat-seed:{seed}|v:{__version__}",
        "per_mode": {m: _mode(group, known, resamples, has_judge=judge is not None) for m, group in groups.items()},
        "pairs": pairs,
    }


def _mode(rows: Sequence[CompareRow], judgements: Judgements, resamples: Resamples, *, has_judge: bool) -> Json:
    usage = _total(row.record.usage for row in rows)
    return {
        "rows": len(rows),
        "status": {s: sum(row.record.status == s for row in rows) for s in STATUSES},
        "rewritten": sum(
            any(r.candidate not in (None, row.record.original) for r in row.record.rounds) for row in rows
        ),
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


def _pairs(groups: Mapping[str, list[CompareRow]], judgements: Judgements, resamples: Resamples) -> list[Json]:
    """Each mode minus each one before it, measure by measure on the rows (item, seed) that all modes have.

    The later minus the earlier: those that are told more are named last. A mode in which a measure is nowhere scored
    takes no row from the others.
    """
    by_pair = {mode: {row.pair: row for row in rows} for mode, rows in groups.items()}
    common = [pair for pair in next(iter(by_pair.values()), ()) if all(pair in rows for rows in by_pair.values())]
    rows = {mode: [found[pair] for pair in common] for mode, found in by_pair.items()}
    judged = judge_measures(judgements) if judgements else ()
    measures = [*OUTCOMES, *detector_measures([r for found in rows.values() for r in found]), *judged, *SPENT]
    tables = {mode: _comparable(found, measures) for mode, found in rows.items()}
    missing = [np.isnan(table) & ~np.isnan(table).all(axis=0) for table in tables.values()]
    for table in tables.values():
        table[np.any(missing, axis=0)] = np.nan
    items = [item for item, _ in common]
    return [
        {"a": a, "b": b, "rows": len(common), "differences": _lines(measures, tables[a], tables[b], items, resamples)}
        for b, a in combinations(groups, 2)
    ]


def _lines(measures: Sequence[Measure], a: Array, b: Array, items: Sequence[str], resamples: Resamples) -> list[Json]:
    found = paired_differences(a, b, items, resamples)
    tests = sign_flip_p(a, b, items, resamples)
    return [
        {
            "measure": m.name,
            "label": m.label,
            "kind": m.kind,
            "lower_is_better": m.lower_is_better,
            "advisory": m.advisory,
            "difference": estimate.to_json(),
            "unscored": len(items) - estimate.n,
            **({"p": p} if m.lower_is_better and m.kind != "price" and estimate.n else {}),
        }
        for m, estimate, p in zip(measures, found, tests, strict=True)
    ]


def _comparable(rows: Sequence[CompareRow], measures: Sequence[Measure]) -> Array:
    """Without scores against what a critique gave: another mode's critique gives another."""
    table = _table(rows, measures, "after")
    derived = [row.given == "derived" for row in rows]
    table[np.ix_(derived, [m.kind == "score" for m in measures])] = np.nan
    return table


def _primary(groups: Mapping[str, list[CompareRow]], judgements: Judgements) -> Json | None:
    """The measure that the verdict is about: the judge's errors; else an error of the first detector that decides.

    Of arguments of sides that is how far they are said, of anything else how far the answer is supported. One that
    less than half as many rows have comes after the others. None where no two modes share one.
    """
    judged = judge_measures(judgements)[:1] if judgements else ()
    found = [*judged, *detector_measures([row for rows in groups.values() for row in rows])]
    measures = [measure for measure in found if not measure.advisory]
    there = [~np.isnan(_comparable(rows, measures)) for rows in groups.values()]
    n = np.sum([table.sum(axis=0) for table in there], axis=0)
    modes = np.sum([table.any(axis=0) for table in there], axis=0)
    order = list(dict.fromkeys(measure.name.rpartition(".")[0] for measure in measures))

    def rank(i: int) -> tuple[bool, bool, int, bool]:
        detector, _, error = measures[i].name.rpartition(".")
        return 2 * n[i] < max(n), measures[i].kind == "score", order.index(detector), error != "coverage"

    best = min((i for i in range(len(measures)) if modes[i] >= min(2, len(groups))), key=rank, default=None)
    return None if best is None else {"measure": measures[best].name, "label": measures[best].label}


def _conclude(pairs: Sequence[Json], primary: Json | None) -> None:
    """Adds Holm's adjusted p-value to every test and what the first mode is by it: `better`, `worse` or `open`.

    The primary measure's tests are a family of their own, and all others one. None where neither mode can be better.
    """
    lines = [d for pair in pairs for d in pair["differences"]]
    for of_primary in (True, False):
        named = None if primary is None else primary["measure"]
        tests = [d for d in lines if "p" in d and (d["measure"] == named) == of_primary]
        for test, adjusted in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = adjusted
    for d in lines:
        d["verdict"] = _verdict(d) if "p" in d else None


def _verdict(found: Json) -> str:
    """`better` or `worse` where the test says so and the interval, rounded outwards, leaves out 0; else `open`."""
    difference = found["difference"]
    low, high = difference.get("low"), difference.get("high")
    if low is None or difference["clusters"] < FEWEST_ITEMS or found["p_holm"] > 1 - LEVEL:
        return "open"
    return "better" if high <= -LEAST else "worse" if low >= LEAST else "open"


def _signature(rows: Sequence[CompareRow], seeds: Sequence[int]) -> str:
    """The mode's settings as one line, with all its seeds."""
    own = rows[0].record
    return own.signature.replace(f"|seed:{own.seed}|", f"|seed:{','.join(map(str, seeds))}|")
