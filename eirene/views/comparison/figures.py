"""Figures of a comparison as text: values with intervals and signs, decimals of a measure, p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]


def figure(value: Json, digits: int = 3, *, signed: bool = False) -> str:
    """A figure with its interval, or why there is none."""
    if "value" not in value:
        return str(value.get("unscored", "undefined"))
    shown = rounded(value["value"], digits, signed=signed)
    if "low" not in value:
        return f"{shown} (one item)"
    low, high = (rounded(value[end], digits, signed=signed) for end in ("low", "high"))
    return f"{shown} [{low}, {high}]"


def rounded(value: float, digits: int, *, signed: bool = False) -> str:
    """With a sign where one is wanted. What would round to zero has up to two decimals more: an interval that ends
    near 0 must show on which side; what is 0 by then has no sign."""
    for shown in (digits, digits + 1, digits + 2):
        near = round(value, shown)
        if near:
            return f"{near:{'+' if signed else ''}.{shown}f}"
    return f"{0:.{digits}f}"


def digits_of(measure: str) -> int:
    """How many decimals a measure is shown with."""
    return {"input_tokens": 1, "output_tokens": 1, "seconds": 2, "cost_usd": 5, "penalty": 2}.get(measure, 3)


def drawn(differences: Sequence[Json]) -> list[Json]:
    """Those that have an interval."""
    return [d for d in differences if "low" in d["difference"]]


def unscored(score: Json) -> str:
    """How many rows a score before and after is missing in."""
    before, after = score["unscored_before"], score["unscored_after"]
    return f"{before:,}" if before == after else f"{before:,} before, {after:,} after"


def p_value(p: float) -> str:
    """Three significant digits."""
    return f"{p:.3g}"
