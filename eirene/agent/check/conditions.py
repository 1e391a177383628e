"""Conditions of a check: `worse > 2%`, `contradicted > 0`, `alignment.coverage > 0.3`, read and judged.

Every quantity but `better` counts something bad and has an upper limit, `better` a lower one: a condition that good
answers meet is a slip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from fractions import Fraction
from operator import ge, gt, le, lt

from eirene.core.errors import InputError
from eirene.core.quality import Condition, ConditionOutcome, Figure, Operator, Unit

COMPARED = ("worse", "better", "net")
"""Quantities of rows compared with the baseline's."""
ROWS = (*COMPARED, "unsupported", "contradicted", "incomplete", "unscored", "lost", "missing", "new")
"""Quantities that count rows."""
NEEDS_BASELINE = frozenset({*COMPARED, "lost", "missing", "new"})
ERRORS = ("hallucination", "coverage")

NONE_LOST = Condition("lost", ">", Fraction(0), "rows")
"""Holds beside those that are named, where none of them is about lost rows: what nobody judged has not passed."""

_FORM = re.compile(
    r"\s*+(?P<quantity>[A-Za-z][\w-]*+(?:\.\w++)?)\s*+(?P<operator>>=|<=|>|<)\s*+"
    r"(?P<limit>[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*+(?P<percent>%?)\s*+",
    re.ASCII,
)
_COMPARE: dict[Operator, Callable[[Fraction, Fraction], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}


def parse_condition(text: str, detectors: Collection[str], *, has_baseline: bool) -> Condition:
    """The condition that a text states; `detectors` are those whose means it may name.

    Raises `InputError` for another form, an unknown quantity, a limit outside its range, a comparison in the wrong
    direction, and for a quantity that needs a baseline where there is none.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise _error(
            f"must be QUANTITY > LIMIT, such as 'worse > 2%', 'contradicted > 3' or 'alignment.coverage > 0.3', "
            f"got {text[:200]!r}"
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
        raise _error(f"{name} compares with a baseline; name one with --baseline, or write one with --write-baseline")
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
    return InputError(f"--fail-if: {said}", field="fail-if")


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
