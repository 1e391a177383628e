"""The verdict of a comparison in one sentence: which mode beats which, by how much, where nothing can be told.

It is about one primary measure, named first, and all pairs of modes on it. A mode beats another where that is lower
beyond chance and no other deciding error is higher. Neither cost nor the share of accepted rewrites makes it better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eirene.views.tables import ends, p_value, rounded

Json = Mapping[str, Any]
FEWEST_ITEMS = 6
"""On fewer, no difference is called better or worse."""
LEAST = 0.001
"""Nearer to 0 no end of an interval shows its side."""
_MOST_TOLD, _MOST_OPEN = 3, 2
"""Pairs that are named; of more their number is given."""


def verdict(summary: Json) -> str:
    """The sentence; of each pair of modes it gives the difference of the primary measure, with its interval."""
    if len(summary["modes"]) < 2:
        return _alone(summary)
    primary = summary["primary"]
    if primary is None:
        return (
            "No difference can be told: no error was measured that two modes share. Give perspectives or context with "
            "each item, or name a judge (--judge)."
        )
    told, open_ = _clauses(summary["pairs"], primary["measure"])
    name = measure_name(primary)
    if not told:
        modes = summary["modes"]
        which = f"{modes[0]} and {modes[1]}" if len(modes) == 2 else f"the {len(modes)} modes"
        return f"No difference in {name} between {which} can be told{_why_open(summary)}."
    rest = len(told) - _MOST_TOLD
    more = [f"{rest} other pair{' differs' if rest == 1 else 's differ'}, too"] if rest > 0 else []
    return f"By {name}: {'; '.join([*told[:_MOST_TOLD], *more, *_open(open_)])}."


def _why_open(summary: Json) -> str:
    lines = [_of(pair, summary["primary"]["measure"])["difference"] for pair in summary["pairs"]]
    most = max(difference.get("clusters", 0) for difference in lines)
    if most < FEWEST_ITEMS:
        return f": {most} item{'' if most == 1 else 's'} scored in all, and at least {FEWEST_ITEMS} are needed"
    return ": none is beyond chance"


def cautions(summary: Json) -> Iterator[str]:
    """What a reader has to know before believing the verdict."""
    idle = [mode for mode, found in summary["per_mode"].items() if not found.get("rewritten", 1)]
    if idle:
        yield f"In no row was anything rewritten in mode {' or '.join(idle)}."
    if not summary["judge"]:
        yield (
            "These errors are measured by the detectors that the gate also decides by. A judge (--judge) would be an "
            "independent measure."
        )


def digits_of(measure: str) -> int:
    """How many decimals a measure is shown with."""
    return {"input_tokens": 1, "output_tokens": 1, "seconds": 2, "cost_usd": 5, "penalty": 2}.get(measure, 3)


def measure_name(line: Json) -> str:
    """A measure in words: "coverage error (alignment)", "answers with an error (judge)"."""
    detector, _, error = str(line["label"]).removesuffix(" (advisory)").partition(": ")
    return f"{error} error ({detector})" if error else str(line["label"])


def _of(pair: Json, measure: str) -> Json:
    return next(d for d in pair["differences"] if d["measure"] == measure)


def _clauses(pairs: Sequence[Json], primary: str) -> tuple[list[str], list[str]]:
    """Who beats whom, or is better at some errors and worse at others; and the names of pairs that are open."""
    told, open_ = [], []
    for pair in pairs:
        line, a, b = _of(pair, primary), pair["a"], pair["b"]
        if line["verdict"] not in ("better", "worse"):
            open_.append(f"between {b} and {a}")
            continue
        winner, loser = (a, b) if line["verdict"] == "better" else (b, a)
        against = _against(pair, "worse" if winner == a else "better")
        word = "is lower than" if against else "beats"
        told.append(f"{winner} {word} {loser} by {_size(line)}{against}")
    return told, open_


def _against(pair: Json, verdict: str) -> str:
    """The largest of the other errors that decide and are higher where the primary one is lower."""
    lines = [d for d in pair["differences"] if d["verdict"] == verdict and not d.get("advisory")]
    line = max(lines, key=lambda d: abs(d["difference"]["value"]), default=None)
    return "" if line is None else f", but higher in {measure_name(line)} by {_size(line)}"


def _size(found: Json) -> str:
    """A difference without its sign, with its interval and the p-value that was corrected."""
    difference, digits = found["difference"], min(2, digits_of(found["measure"]))
    sized = {name: abs(difference[name]) for name in ("value", "low", "high")}
    sized["low"], sized["high"] = sorted((sized["low"], sized["high"]))
    p = f", p = {p_value(found['p_holm'])}" if "p_holm" in found else ""
    return f"{rounded(sized['value'], digits)} {ends(sized, digits)}{p}"


def _open(pairs: Sequence[str]) -> Iterator[str]:
    if len(pairs) > _MOST_OPEN:
        yield f"in the other {len(pairs)} pairs no difference can be told"
    elif pairs:
        yield f"{' and '.join(pairs)} no difference can be told"


def _alone(summary: Json) -> str:
    """One mode: what it did to the errors of the original answers."""
    mode, found = next(iter(summary["per_mode"].items()))
    primary = summary["primary"]
    scores = {**found["judged"].get("errors", {}), **found["scores"]}
    score = scores.get(primary["measure"]) if primary else None
    if score is None or not _is_told(score["change"]):
        return f"One mode, {mode}; no change of the original answers' errors can be told."
    way = "lower" if score["change"]["value"] < 0 else "higher"
    size = _size({"difference": score["change"], "measure": primary["measure"]})
    return f"One mode, {mode}: {measure_name(score)} {way} than in the original answers by {size}."


def _is_told(change: Json) -> bool:
    has_enough = change.get("clusters", change["n"]) >= FEWEST_ITEMS
    return "low" in change and has_enough and not (change["low"] < LEAST and change["high"] > -LEAST)
