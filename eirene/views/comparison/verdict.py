"""The verdict of a comparison in one sentence: which mode beats which, by how much, where nothing can be told.

A mode beats another where at least one error that decides is lower by an interval without 0, and none is higher. Errors
that decide are the judge's and those of detectors that are not advisory; neither cost nor the share of accepted
rewrites makes a mode better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eirene.views.tables import rounded

Json = Mapping[str, Any]
FEWEST_ITEMS = 6
"""On fewer, no difference is called better or worse."""
_KINDS = ("share", "penalty", "score")  # the judge's come first: they are independent of the gate
_MOST_TOLD, _MOST_OPEN = 3, 2
"""Pairs that are named; of more their number is given."""


def verdict(summary: Json) -> str:
    """The sentence; of each pair of modes it gives the largest difference, with its interval."""
    if not summary["pairs"]:
        return _alone(summary)
    if not any(_deciding(pair) for pair in summary["pairs"]):
        return (
            "No difference can be told: no error was measured that two modes share. Give perspectives or context with "
            "each item, or name a judge (--judge)."
        )
    told, open_ = _clauses(summary["pairs"])
    if not told:
        modes = summary["modes"]
        which = f"{modes[0]} and {modes[1]}" if len(modes) == 2 else f"the {len(modes)} modes"
        return f"No difference between {which} can be told{_why_open(summary)}."
    rest = len(told) - _MOST_TOLD
    more = [f"{rest} other pair{' differs' if rest == 1 else 's differ'}, too"] if rest > 0 else []
    return "; ".join([*told[:_MOST_TOLD], *more, *_open(open_)]) + "."


def _why_open(summary: Json) -> str:
    lines = [d for pair in summary["pairs"] for d in _deciding(pair)]
    most = max(d["difference"].get("clusters", summary["items"]) for d in lines)
    if most < FEWEST_ITEMS:
        return f": {most} item{'' if most == 1 else 's'} scored in both, and at least {FEWEST_ITEMS} are needed"
    return ": every interval includes 0"


def deciding(summary: Json) -> int:
    """How many intervals the verdict rests on."""
    return sum(len(_deciding(pair)) for pair in summary["pairs"])


def lead(summary: Json) -> str | None:
    """The label of the measure with the largest difference that can be told; None where there is none."""
    lines = [d for pair in summary["pairs"] for d in _deciding(pair) if d["verdict"] in ("better", "worse")]
    return max(lines, key=lambda d: abs(d["difference"]["value"]))["label"] if lines else None


def digits_of(measure: str) -> int:
    """How many decimals a measure is shown with."""
    return {"input_tokens": 1, "output_tokens": 1, "seconds": 2, "cost_usd": 5, "penalty": 2}.get(measure, 3)


def measure_name(line: Json) -> str:
    """A measure in words: "coverage error (alignment)", "answers with an error (judge)"."""
    detector, _, error = str(line["label"]).removesuffix(" (advisory)").partition(": ")
    return f"{error} error ({detector})" if error else str(line["label"])


def _deciding(pair: Json) -> list[Json]:
    return [
        d
        for d in pair["differences"]
        if d["kind"] in _KINDS and d["lower_is_better"] is not None and not d.get("advisory") and d["verdict"]
    ]


def _clauses(pairs: Sequence[Json]) -> tuple[list[str], list[str]]:
    """Who beats whom, or is better at some errors and worse at others; and the names of pairs that are open."""
    told, open_ = [], []
    for pair in pairs:
        lines, a, b = _deciding(pair), pair["a"], pair["b"]
        better, worse = ([d for d in lines if d["verdict"] == said] for said in ("better", "worse"))
        if better and worse:
            told.append(f"{a} against {b} is mixed: {_by(better, 'lower')}, but {_by(worse, 'higher')}")
        elif better or worse:
            winner, loser = (a, b) if better else (b, a)
            told.append(f"{winner} beats {loser}: {_by(better or worse, 'lower')}")
        else:
            open_.append(f"between {b} and {a}")
    return told, open_


def _by(lines: Sequence[Json], way: str) -> str:
    """The largest of the differences, as a size with its interval."""
    kind = next(kind for kind in _KINDS if any(d["kind"] == kind for d in lines))
    line = max((d for d in lines if d["kind"] == kind), key=lambda d: abs(float(d["difference"]["value"])))
    return f"{measure_name(line)} {way} by {_size(line['difference'], min(2, digits_of(line['measure'])))}"


def _size(found: Json, digits: int = 2) -> str:
    """A difference without its sign, with its interval."""
    low, high = sorted(abs(found[end]) for end in ("low", "high"))
    value, low, high = (rounded(number, digits) for number in (abs(found["value"]), low, high))
    return f"{value} [{low}, {high}]"


def _open(pairs: Sequence[str]) -> Iterator[str]:
    if len(pairs) > _MOST_OPEN:
        yield f"in the other {len(pairs)} pairs no difference can be told"
    elif pairs:
        yield f"{' and '.join(pairs)} no difference can be told"


def _alone(summary: Json) -> str:
    """One mode: what it did to the errors of the original answers."""
    mode, found = next(iter(summary["per_mode"].items()))
    judged = found["judged"].get("errors", {})
    scores = [s for s in [*judged.values(), *found["scores"].values()] if not s.get("advisory")]
    told = [s for s in scores if _is_told(s["change"])]
    if not told:
        return f"One mode, {mode}; no change of the original answers' errors can be told."
    best = max(told, key=lambda s: abs(s["change"]["value"]))
    change = best["change"]
    way = "lower" if change["value"] < 0 else "higher"
    return f"One mode, {mode}: {measure_name(best)} {way} than in the original answers by {_size(change)}."


def _is_told(change: Json) -> bool:
    has_enough = change.get("clusters", change["n"]) >= FEWEST_ITEMS
    return "low" in change and has_enough and not change["low"] <= 0 <= change["high"]
