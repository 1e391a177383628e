"""Plots of a comparison: intervals as inline SVG for its page.

No style is written into an element (the pages' policy forbids it): `comparison/page.css` has the colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from eirene.views.facts import visible

Json = Mapping[str, Any]
KINDS = {"share": "Shares of the answers", "score": "Error scores", "penalty": "Penalties"}
"""The kinds of measures that have a better end, in words: those of one kind share a scale."""


def drawn(pair: Json, kind: str) -> list[Json]:
    """The differences of a kind that have an interval."""
    return [d for d in pair["differences"] if d["kind"] == kind and "low" in d["difference"]]


_Look = Literal["better", "worse", "open"]
_ROW, _HEAD, _AXIS = 44, 30, 46  # heights in px: a line with its label above, a group's name, the scale below
_LEFT, _WIDE = 3.0, 94.0  # per cent of the width: the scale's begin, and its length


@dataclass(frozen=True, slots=True)
class ShownInterval:
    """A line of a plot of intervals: its label, its figures in words, and where it lies."""

    label: str
    shown: str
    low: float
    value: float
    high: float
    look: _Look


Intervals = Mapping[str, Sequence[ShownInterval]]
"""Lines that belong together, by the name of their group."""


def intervals(groups: Intervals, *, name: str, below: str, above: str) -> Markup:
    """The intervals on one scale around 0, group by group. `below` and `above` say what lies on each side of it.

    Places are per cent of the width and letters keep their size, so that the plot fits any screen. A better difference
    is a full circle, a worse one a full square, an open one a hollow circle.
    """
    lines = [line for group in groups.values() for line in group]
    reach = max((abs(end) for line in lines for end in (line.low, line.high)), default=0.0) * 1.05 or 0.1
    height = _HEAD * len(groups) + _ROW * len(lines) + _AXIS
    head = Markup('<svg class="intervals" width="100%" height="{}" role="img" aria-label="{}">').format(
        height, visible(name)
    )
    return head + Markup("").join(_intervals(groups, reach, height, (below, above))) + Markup("</svg>")


def _intervals(groups: Intervals, reach: float, height: int, sides: tuple[str, str]) -> Iterator[Markup]:
    bottom = height - _AXIS
    for tick in _ticks(reach):
        x = _at(tick, reach)
        yield Markup('<line class="{}" x1="{}" x2="{}" y1="0" y2="{}"/>').format(
            "grid" if tick else "zero", x, x, bottom + 5
        )
        yield Markup('<text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            x, bottom + 19, f"{tick:+g}" if tick else "0"
        )
    for side, x, anchor in zip(sides, (f"{_LEFT}%", f"{_LEFT + _WIDE}%"), ("start", "end"), strict=True):
        yield Markup('<text class="tick" x="{}" y="{}" text-anchor="{}">{}</text>').format(x, height - 6, anchor, side)
    y = 0
    for title, lines in groups.items():
        yield Markup('<text class="name" x="0" y="{}">{}</text>').format(y + 20, visible(title))
        y += _HEAD
        for line in lines:
            yield from _interval(line, reach, y)
            y += _ROW


def _interval(line: ShownInterval, reach: float, y: int) -> Iterator[Markup]:
    low, value, high = (_at(end, reach) for end in (line.low, line.value, line.high))
    middle = y + 28
    yield Markup('<text x="0" y="{}">{}</text>').format(y + 13, visible(line.label))
    yield Markup('<text class="figure {}" x="100%" y="{}" text-anchor="end">{}</text>').format(
        line.look, y + 13, line.shown
    )
    yield Markup('<g class="{}"><line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(line.look, low, high, middle, middle)
    for end in (low, high):
        yield Markup('<line x1="{}" x2="{}" y1="{}" y2="{}"/>').format(end, end, middle - 4, middle + 4)
    if line.look == "worse":
        yield Markup('<rect x="{}" y="{}" width="10" height="10" transform="translate(-5 -5)"/></g>').format(
            value, middle
        )
    else:
        yield Markup('<circle cx="{}" cy="{}" r="5"/></g>').format(value, middle)


def _at(value: float, reach: float) -> str:
    return f"{_LEFT + _WIDE * (0.5 + 0.5 * value / reach):.2f}%"


def _ticks(reach: float) -> list[float]:
    """Round numbers on both sides of 0, two or three on each."""
    power = 10 ** math.floor(math.log10(reach))
    step = max(n * power for n in (0.25, 0.5, 1, 2, 5) if 2 * n * power <= reach)
    most = int(reach / step)
    return [float(f"{n * step:.6g}") for n in range(-most, most + 1)]
