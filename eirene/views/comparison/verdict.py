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
_FEW_NAMED = 2


def verdict(summary: Json) -> str:
    """The sentence; of each pair of modes it gives the largest difference, with its interval."""
    if not summary["pairs"]:
        return _alone(summary)
    if not any(_deciding(pair) for pair in summary["pairs"]):
        return (
            "No difference can be told: no error was measured that two modes share. Give perspectives or context with "
            "each item, or name a judge (--judge)."
        )
    beaten, mixed, open_ = _sorted(summary["pairs"])
    if not beaten and not mixed:
        modes = summary["modes"]
        which = f"{modes[0]} and {modes[1]}" if len(modes) == 2 else f"the {len(modes)} modes"
        return f"No difference between {which} can be told{_why_open(summary)}."
    clauses = [*_beats(beaten), *mixed, *_open(open_)]
    return "; ".join(clauses) + "."


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


Beaten = dict[str, list[tuple[str, list[Json]]]]


def _sorted(pairs: Sequence[Json]) -> tuple[Beaten, list[str], list[tuple[str, str]]]:
    """The losers of each winner with the errors that are lower; clauses of pairs where each is better at something;
    pairs that are open."""
    beaten: Beaten = {}
    mixed: list[str] = []
    open_: list[tuple[str, str]] = []
    for pair in pairs:
        lines = _deciding(pair)
        better, worse = ([d for d in lines if d["verdict"] == said] for said in ("better", "worse"))
        a, b = pair["a"], pair["b"]
        if better and worse:
            mixed.append(f"{a} against {b} is mixed: {_by(better)}, but {_by(worse, higher=True)}")
        elif better:
            beaten.setdefault(a, []).append((b, better))
        elif worse:
            beaten.setdefault(b, []).append((a, worse))
        else:
            open_.append((b, a))
    return beaten, mixed, open_


def _largest(lines: Sequence[Json]) -> Json:
    kind = next(kind for kind in _KINDS if any(d["kind"] == kind for d in lines))
    return max((d for d in lines if d["kind"] == kind), key=_size)


def _size(line: Json) -> float:
    return abs(float(line["difference"]["value"]))


def _by(lines: Sequence[Json], *, higher: bool = False) -> str:
    """The largest of the differences, as a size with its interval."""
    return _said(_largest(lines), f"{'higher' if higher else 'lower'} by")


def _said(line: Json, how: str) -> str:
    found = line["difference"]
    ends = sorted(abs(found[end]) for end in ("low", "high"))
    value, low, high = (rounded(number, min(2, digits_of(line["measure"]))) for number in (_size(line), *ends))
    return f"{measure_name(line)} {how} {value} [{low}, {high}]"


def _beats(beaten: Beaten) -> Iterator[str]:
    winners = sorted(reversed(beaten.items()), key=lambda entry: -len(entry[1]))
    for winner, losers in winners[:_FEW_NAMED]:
        names = [loser for loser, _ in losers]
        leads = [_largest(lines) for _, lines in losers]
        if len(losers) == 1:
            yield f"{winner} beats {names[0]}: {_by(losers[0][1])}"
        elif len(losers) == _FEW_NAMED or len({line["label"] for line in leads}) > 1:
            yield f"{winner} beats " + _joined([f"{loser} ({_by(lines)})" for loser, lines in losers])
        else:
            yield f"{winner} beats {_joined(names)}: {_said(min(leads, key=_size), 'lower by at least')}"
    rest = sum(len(losers) for _, losers in winners[_FEW_NAMED:])
    if rest:
        yield f"{rest} other pair{' differs' if rest == 1 else 's differ'}, too"


def _open(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if len(pairs) > _FEW_NAMED:
        yield f"in the other {len(pairs)} pairs no difference can be told"
    elif pairs:
        yield f"{_joined([f'between {a} and {b}' for a, b in pairs])} no difference can be told"


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
    ends = sorted(abs(change[end]) for end in ("low", "high"))
    value, low, high = (rounded(number, 2) for number in (abs(change["value"]), *ends))
    way = "lower" if change["value"] < 0 else "higher"
    return f"One mode, {mode}: {measure_name(best)} {way} than in the original answers by {value} [{low}, {high}]."


def _is_told(change: Json) -> bool:
    has_enough = change.get("clusters", change["n"]) >= FEWEST_ITEMS
    return "low" in change and has_enough and not change["low"] <= 0 <= change["high"]
