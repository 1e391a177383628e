"""Plots of a comparison (PNG and SVG): differences between modes, before against after, cost against gain.

Needs the extra `plots`. Matplotlib is used without its global state and without a screen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.views.comparison.figures import drawn
from eirene.views.comparison.tables import KINDS
from eirene.views.figures import COLOURS, check_matplotlib, new_figure, save, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Json = Mapping[str, Any]
Points = Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]
"""Measure -> mode -> (before, after) of each row."""

VERDICTS = {
    "better": ("#0b5cad", "o", "the first mode is better"),
    "worse": ("#c26a00", "s", "the first mode is worse"),
    "open": ("#777d86", "o", "open, or neither better nor worse"),
}
"""Colour, marker and words of each verdict: told apart without colour as well. An open one is hollow."""
SAME = 0.0005
"""A smaller change is none: it does not show in three decimals."""
MARKERS = ("o", "s", "^", "D")
_MOST_POINTS = 3000  # of a mode in a scatter: more are a blot, and a huge SVG


def write_plots(summary: Json, points: Points, folder: Path) -> list[Path]:
    """Writes the plots there is something to show for, each as PNG and SVG, and returns the files."""
    check_matplotlib()
    figures = {
        "differences": forest(summary),
        "before-after": before_after(points, summary),
        "cost-gain": cost_gain(summary),
    }
    written: list[Path] = []
    for name, figure in figures.items():
        if figure is not None:
            written += save(figure, folder / name)
    return written


def forest(summary: Json) -> Figure | None:
    """The mean differences with their intervals: a row of panels a pair of modes, a column a kind of measure.

    Panels of one column share their scale, so that a longer bar is a larger difference wherever it stands.
    """
    kinds = [kind for kind in KINDS if kind != "price" and any(_of(pair, kind) for pair in summary["pairs"])]
    pairs = [pair for pair in summary["pairs"] if any(_of(pair, kind) for kind in kinds)]
    if not pairs:
        return None
    heights = [max(len(_of(pair, kind)) for kind in kinds) + 1.6 for pair in pairs]
    figure = new_figure(4.7 * len(kinds) + 0.4, 0.34 * sum(heights) + 1.3)
    grid = figure.subplots(len(pairs), len(kinds), squeeze=False, height_ratios=heights, sharex="col")
    for column, kind in enumerate(kinds):
        reach = max(_reach(_of(pair, kind)) for pair in pairs) * 1.08 or 0.1
        for axes, pair in zip(grid[:, column], pairs, strict=True):
            _forest(axes, _of(pair, kind), reach)
        grid[-1, column].set_xlabel(f"difference: {KINDS[kind].lower()}", fontsize=8)
    for axes, pair in zip(grid[:, 0], pairs, strict=True):
        axes.set_title(f"{pair['a']} minus {pair['b']}", fontsize=9, loc="left")
    figure.suptitle("Differences between modes: mean and 95 % interval", fontsize=11)
    _legend(figure, [{**_look(verdict), "linewidth": 2, "label": said} for verdict, (_, _, said) in VERDICTS.items()])
    return figure


def _of(pair: Json, kind: str) -> list[Json]:
    return drawn([d for d in pair["differences"] if d["kind"] == kind])


def _reach(lines: Sequence[Json]) -> float:
    return max((max(abs(d["difference"]["low"]), abs(d["difference"]["high"])) for d in lines), default=0.0)


def _forest(axes: Axes, lines: Sequence[Json], reach: float) -> None:
    for at, line in enumerate(lines):
        found, look = line["difference"], _look(line["verdict"] or "open")
        axes.plot([found["low"], found["high"]], [at, at], color=look["color"], linewidth=2)
        axes.plot([found["value"]], [at], **look)
    axes.axvline(0, color="#575d66", linewidth=1, zorder=0)
    axes.set_yticks(range(len(lines)), [f"{d['label']} (n = {d['difference']['n']})" for d in lines], fontsize=8)
    axes.set_ylim(max(len(lines), 1) - 0.4, -0.6)
    axes.set_xlim(-reach, reach)
    axes.locator_params(axis="x", nbins=5)  # more labels than that run into each other
    axes.tick_params(axis="x", labelsize=8, labelbottom=True)
    tidy(axes)


def _look(verdict: str) -> dict[str, Any]:
    colour, marker, _ = VERDICTS[verdict]
    fill = "white" if verdict == "open" else colour
    return {"color": colour, "marker": marker, "markersize": 5.5, "markerfacecolor": fill}


def before_after(points: Points, summary: Json) -> Figure | None:
    """A point a row: the score before against the one after; under the line is better."""
    shown = {name: modes for name, modes in points.items() if any(modes.values())}
    if not shown:
        return None
    modes = summary["modes"]
    columns = len(modes)
    figure = new_figure(2.9 * columns + 0.6, 2.8 * len(shown) + 0.6)
    grid = figure.subplots(len(shown), columns, squeeze=False)
    for row, (name, by_mode) in enumerate(shown.items()):
        top = max(1.0, *(max(pair) for pairs in by_mode.values() for pair in pairs))
        for column, mode in enumerate(modes):
            _scatter(grid[row, column], by_mode.get(mode, ()), COLOURS[column % len(COLOURS)], top)
            if row == 0:
                grid[row, column].set_title(mode, fontsize=9)
        grid[row, 0].set_ylabel(f"{name}\nafter", fontsize=8)
    for axes in grid[-1]:
        axes.set_xlabel("before", fontsize=8)
    figure.suptitle("Before and after: a point a row; under the line is better", fontsize=11)
    return figure


def _scatter(axes: Axes, pairs: Sequence[tuple[float, float]], colour: str, top: float) -> None:
    axes.plot([0, top], [0, top], color="#b4b9c0", linewidth=1, zorder=0)
    if pairs:
        step = -(-len(pairs) // _MOST_POINTS)
        x, y = zip(*pairs[::step], strict=True)
        # Few points are drawn full; of many, the density is what is to be seen.
        axes.scatter(x, y, s=14, alpha=max(0.15, min(0.75, 60 / len(x))), color=colour, linewidths=0)
        better, worse = (sum(sign * (b - a) >= SAME for a, b in pairs) for sign in (-1, 1))
        said = f"better {better}, same {len(pairs) - better - worse}, worse {worse}"
        said += f" ({len(x)} drawn)" if step > 1 else ""
        axes.text(0.03, 0.98, said, transform=axes.transAxes, va="top", fontsize=7)
    else:
        axes.text(0.5, 0.5, "unscored", transform=axes.transAxes, ha="center", fontsize=8)
    margin = 0.04 * top
    axes.set(xlim=(-margin, top + margin), ylim=(-margin, top + 3 * margin), aspect="equal")
    axes.tick_params(labelsize=7)
    tidy(axes)


def cost_gain(summary: Json) -> Figure | None:
    """A point a mode: what a row cost (money where it is known and any, else seconds) against what it gained."""
    per_mode = summary["per_mode"]
    measures = list(dict.fromkeys(name for found in per_mode.values() for name in gains_of(found)))
    if not measures:
        return None
    spent = "cost_usd" if all(f["spent"]["cost_usd"].get("value") for f in per_mode.values()) else "seconds"
    columns = min(2, len(measures))
    rows = -(-len(measures) // columns)
    figure = new_figure(4.2 * columns + 0.4, 3.0 * rows + 1.0)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    for axes, name in zip(grid, measures, strict=False):
        for at, found in enumerate(per_mode.values()):
            gain, price = gains_of(found).get(name), found["spent"][spent]
            if gain is not None and "value" in price:
                _gain(axes, gain, price, at)
        axes.axhline(0, color="#575d66", linewidth=1, zorder=0)
        axes.set_title(name, fontsize=9, loc="left")
        axes.set_xlim(left=0)
        axes.set_xlabel("US dollars a row" if spent == "cost_usd" else "seconds a row", fontsize=8)
        axes.set_ylabel("gain (error before - after)", fontsize=8)
        axes.tick_params(labelsize=7, labelbottom=True)
        tidy(axes)
    for axes in grid[len(measures) :]:
        axes.set_visible(False)
    figure.suptitle("Cost against gain: means and 95 % intervals; up and left is better", fontsize=11)
    _legend(figure, [{**_mode_look(at), "label": mode} for at, mode in enumerate(per_mode)])
    return figure


def _gain(axes: Axes, gain: Json, price: Json, at: int) -> None:
    x, y = price["value"], -gain["value"]
    xerr = [[x - price["low"]], [price["high"] - x]] if "low" in price else None
    yerr = [[gain["high"] - gain["value"]], [gain["value"] - gain["low"]]] if "low" in gain else None
    axes.errorbar(x, y, xerr=xerr, yerr=yerr, capsize=3, **_mode_look(at))


def _mode_look(at: int) -> dict[str, Any]:
    return {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}


def gains_of(found: Json) -> dict[str, Json]:
    """The changes of a mode that have a figure, by the measure's label."""
    judged = found["judged"].get("errors", {})
    scores = [*found["scores"].values(), *judged.values()]
    return {score["label"]: score["change"] for score in scores if "value" in score["change"]}


def _legend(figure: Figure, looks: Sequence[dict[str, Any]]) -> None:
    """Below everything, where it covers nothing."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **look) for look in looks]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(looks), fontsize=8, frameon=False)
