"""The report of a check: quantities with their intervals, conditions such as `worse > 2%` judged, the rows behind them.

Every quantity but `better` counts something bad and has an upper limit, `better` a lower one: a condition that good
answers meet is a slip.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import ge, gt, le, lt

import numpy as np

from eirene.agent.check.baseline import TOLERANCE, Baseline, ChangeKind, RowChange, compare
from eirene.core.errors import InputError
from eirene.core.quality import (
    Condition,
    ConditionOutcome,
    Figure,
    Operator,
    QualityReport,
    QualityRow,
    RowReport,
    Unit,
)
from eirene.core.scores import ERRORS, number, wilson
from eirene.core.signature import signature
from eirene.eval.metrics.bootstrap import Resamples, mcnemar_exact, means

COMPARED = ("worse", "better", "net")
"""Quantities of rows compared with the baseline's."""
ROWS = (*COMPARED, "unsupported", "contradicted", "incomplete", "unscored", "lost", "missing", "new")
"""Quantities that count rows."""
NEEDS_BASELINE = frozenset({*COMPARED, "lost", "missing", "new"})

NONE_LOST = Condition("lost", ">", Fraction(0), "rows")
"""Holds beside those that are named, where none of them is about lost rows: what nobody judged has not passed."""

_FORM = re.compile(
    r"\s*+(?P<quantity>[A-Za-z][\w-]*+(?:\.\w++)?)\s*+(?P<operator>>=|<=|>|<)\s*+"
    r"(?P<limit>[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*+(?P<percent>%?)\s*+",
    re.ASCII,
)
_COMPARE: dict[Operator, Callable[[Fraction, Fraction], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}
_DRAWS = 2000
_FAULTS: dict[str, Callable[[QualityRow], bool | None]] = {
    "unsupported": lambda row: row.has("unsupported"),
    "contradicted": lambda row: row.has("contradicted"),
    "incomplete": lambda row: row.has("missing"),
    "unscored": lambda row: row.why is not None,
}
_WHY_NOT = {
    "unsupported": "no row has given text and an answer that claims something, both in English",
    "contradicted": "no row has passages (`context`) and an answer that claims something, both in English",
    "incomplete": "no row has perspectives to be complete by, in English as its answer is",
}


def make_report(
    rows: Sequence[QualityRow],
    conditions: Sequence[Condition],
    *,
    detectors: Sequence[str],
    versions: Mapping[str, str],
    baseline: Baseline | None = None,
    tolerance: float = TOLERANCE,
) -> QualityReport:
    """The report on rows, at least one. The same rows give the same report.

    Raises `InputError` for a tolerance outside [0, 1].
    """
    changes = list(compare(rows, {} if baseline is None else baseline.rows, tolerance=tolerance))
    figures = [*_compared(changes, baseline), *_counted(rows), *_means(rows, detectors)]
    known = {figure.quantity: figure for figure in figures}
    outcomes = tuple(judge(condition, known[condition.quantity]) for condition in conditions)
    return QualityReport(
        checked=len(rows),
        before=None if baseline is None else len(baseline.rows),
        tolerance=tolerance,
        figures=tuple(figures),
        outcomes=outcomes,
        rows=tuple(
            _shown(
                changes,
                {o.condition.quantity for o in outcomes if o.state == "holds"},
                has_baseline=baseline is not None,
            )
        ),
        notes=tuple(_notes(changes, baseline)),
        signature=signature(**versions),
    )


def _share(quantity: str, hits: int, n: int, left_out: int = 0, why: str = "") -> Figure:
    if n == 0:
        return Figure(quantity, None, n=0, left_out=left_out, why=why)
    low, high = wilson(hits / n, n)
    return Figure(quantity, hits / n, hits, n, left_out, low, high)


def _compared(changes: Sequence[RowChange], baseline: Baseline | None) -> Iterator[Figure]:
    if baseline is None:
        return
    kinds = Counter(change.kind for change in changes)
    worse, better = kinds["worse"], kinds["better"]
    n = worse + better + kinds["same"]
    left_out = kinds["lost"] + kinds["changed question"] + kinds["unscored"]
    why = "no row could be compared with the baseline" + _most(kinds)
    yield _share("worse", worse, n, left_out, why)
    yield _share("better", better, n, left_out, why)
    signs = [1.0] * worse + [-1.0] * better + [0.0] * kinds["same"]
    yield replace(_mean("net", signs, why), rows=worse - better, left_out=left_out)
    found = {change.row.id for change in changes}
    yield _share("lost", kinds["lost"], len(baseline.rows))
    yield _share("missing", sum(name not in found for name in baseline.rows), len(baseline.rows))
    yield _share("new", kinds["new"], len(changes))


def _most(kinds: Counter[ChangeKind]) -> str:
    said: dict[ChangeKind, str] = {
        "new": "their ids are not in it: does each row have an `id` of its own?",
        "changed question": "their questions or given texts are others",
        "unscored": "they could not be scored",
        "lost": "they cannot be judged any more",
    }
    found = [(count, said[kind]) for kind, count in kinds.items() if kind in said and count]
    return f": {max(found)[1]}" if found else ""


def _counted(rows: Sequence[QualityRow]) -> Iterator[Figure]:
    for quantity, told in _FAULTS.items():
        answers = [told(row) for row in rows]
        known = [answer for answer in answers if answer is not None]
        yield _share(quantity, sum(known), len(known), len(answers) - len(known), _WHY_NOT.get(quantity, ""))


def _means(rows: Sequence[QualityRow], detectors: Sequence[str]) -> Iterator[Figure]:
    for name in detectors:
        own = [row.scores[name] for row in rows if name in row.scores]
        for error in ERRORS:
            values = [value for scores in own if (value := number(getattr(scores, error))) is not None]
            figure = _mean(f"{name}.{error}", values, f"{name} gave no row a score of {error}")
            yield replace(figure, left_out=len(rows) - len(values))


def _mean(quantity: str, values: Sequence[float], why: str) -> Figure:
    if not values:
        return Figure(quantity, None, why=why)
    found = Resamples(draws=_DRAWS).estimate(len(values), means(np.array(values)))[0]
    if found.low == found.high:  # all values are one: resampling says nothing about others
        return Figure(quantity, found.value, None, len(values))
    return Figure(quantity, found.value, None, len(values), 0, found.low, found.high)


def _shown(changes: Sequence[RowChange], holding: set[str], *, has_baseline: bool) -> Iterator[RowReport]:
    """The rows that got worse or were lost, and those that a condition which holds counts.

    Without a baseline nothing is new.
    """
    known = ("worse", "lost", "better", "new") if has_baseline else ()
    for change in changes:
        counted: list[str] = [change.kind] if change.kind in known else []
        counted += [name for name, told in _FAULTS.items() if told(change.row)]
        if change.kind in ("worse", "lost") or holding & (set(counted) - {"better"}):
            faults = change.row.faults
            before = {(f.kind, f.text) for f in change.old.faults} if change.old else set()
            new = [f for f in faults if has_baseline and f.kind != "weakest" and (f.kind, f.text) not in before]
            why = change.why or change.row.why
            ordered = (*new, *(f for f in faults if f not in new))
            yield RowReport(change.row.id, tuple(counted), why, ordered, len(new))


def _notes(changes: Sequence[RowChange], baseline: Baseline | None) -> Iterator[str]:
    """What the figures leave out, and how sure the difference is."""
    reasons = Counter(change.row.why for change in changes if change.row.why is not None)
    for why, count in reasons.most_common(3):
        yield f"{_rows(count)} unscored: {why}"
    if baseline is None:
        return
    kinds = Counter(change.kind for change in changes)
    if kinds["changed question"]:
        yield f"{_rows(kinds['changed question'])} not compared: the question or the given text is another"
    lost = [c.why for c in changes if c.kind == "lost"]
    if lost:
        yield f"{_rows(len(lost))} lost, scored in the baseline and not now: {lost[0]}"
    unscored = [c.why for c in changes if c.kind == "unscored"]
    if unscored:
        yield f"{_rows(len(unscored))} not compared: {unscored[0]}"
    absent = [name for name in baseline.rows if name not in {change.row.id for change in changes}]
    if absent:
        yield f"{_rows(len(absent))} of the baseline missing: {', '.join(absent[:5])}{', ...' if absent[5:] else ''}"
    same = sum(c.old is not None and c.row.answer == c.old.answer for c in changes)
    yield f"{_rows(len(changes) - kinds['new'] - same)} with another answer than the baseline's, {same} with the same"
    if kinds["worse"] + kinds["better"]:
        p = mcnemar_exact(kinds["worse"], kinds["better"])
        yield f"{kinds['worse']} worse against {kinds['better']} better: p = {p:.2g} by the sign test"


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def parse_conditions(texts: Iterable[str], detectors: Collection[str], *, has_baseline: bool) -> list[Condition]:
    """The conditions that texts state; with a baseline `NONE_LOST` too, unless one of them is about lost rows."""
    wanted = [parse_condition(text, detectors, has_baseline=has_baseline) for text in texts]
    if has_baseline and all(condition.quantity != NONE_LOST.quantity for condition in wanted):
        wanted.append(NONE_LOST)
    return wanted


def parse_condition(text: str, detectors: Collection[str], *, has_baseline: bool) -> Condition:
    """The condition that a text states; `detectors` are those whose means it may name.

    Raises `InputError` for another form, an unknown quantity, a limit outside its range, a comparison in the wrong
    direction, and for a quantity that needs a baseline where there is none.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise _error(
            "a condition must be QUANTITY > LIMIT, such as 'worse > 2%', 'contradicted > 3' or "
            f"'alignment.coverage > 0.3', got {text[:200]!r}"
        )
    name, operator, percent = found["quantity"], found["operator"], bool(found["percent"])
    unit: Unit = "score" if "." in name else "share" if percent else "rows"
    _check_name(name, detectors)
    if unit == "score" and percent:
        raise _error(f"{name} is a mean score in [0, 1] and takes no %, got {text[:200]!r}")
    if (operator in ("<", "<=")) != (name == "better"):
        what = "good rows: it takes < or <=" if name == "better" else "errors, fewer are better: it takes > or >="
        raise _error(f"{name} counts {what}, got {text[:200]!r}")
    if name in NEEDS_BASELINE and not has_baseline:
        raise _error(f"{name!r} needs a baseline to compare with: name one, or write one first")
    limit = Fraction(found["limit"]) / (100 if percent else 1)
    if unit != "rows" and limit > 1:
        raise _error(f"the limit must be at most {'100%' if percent else '1, as scores are'}, got {text[:200]!r}")
    if unit == "rows" and limit.denominator != 1:
        raise _error(f"a count of rows is a whole number; for a share write %, got {text[:200]!r}")
    return Condition(name, operator, limit, unit)  # type: ignore[arg-type]  # one of the four, by the form


def _check_name(name: str, detectors: Collection[str]) -> None:
    detector, dot, error = name.rpartition(".")
    if not dot:
        if name not in ROWS:
            raise _error(
                f"unknown quantity {name!r}; known: {', '.join(ROWS)}, and DETECTOR.hallucination or .coverage"
            )
        return
    if error not in ERRORS:
        raise _error(f"a detector has {' and '.join(ERRORS)}, got {name!r}")
    if detector not in detectors:
        raise _error(f"the detector {detector!r} does not score here; those that do: {', '.join(detectors)}")


def _error(said: str) -> InputError:
    return InputError(said, field="fail-if")


def judge(condition: Condition, figure: Figure) -> ConditionOutcome:
    """What comes of a condition on this data; unmeasured where its quantity is."""
    if figure.value is None:
        return ConditionOutcome(condition, figure, "unmeasured", figure.why)
    if condition.unit == "score":
        value = Fraction(figure.value)
    else:
        value = Fraction(figure.rows or 0, figure.n if condition.unit == "share" else 1)
    holds = _COMPARE[condition.operator](value, condition.limit)
    return ConditionOutcome(condition, figure, "holds" if holds else "passed", _by_chance(condition, figure))


def _by_chance(condition: Condition, figure: Figure) -> str | None:
    if condition.unit == "rows" or figure.low is None or figure.high is None:
        return None
    if not figure.low < condition.limit < figure.high:
        return None
    return f"the limit lies within the 95 % interval: on {figure.n} rows chance may decide"
