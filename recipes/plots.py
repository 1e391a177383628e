"""Plots of a folder of results with matplotlib: ROC and precision-recall curves of detectors, or differences of modes.

python -m recipes.plots OUT       # OUT of `eirene evaluate detectors` or `eirene compare`; writes PNG and SVG there
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Json = Mapping[str, Any]
_CURVES = {
    "roc": ("false alarms", "errors found", "fpr", "tpr"),
    "precision-recall": ("recall", "precision", "recall", "precision"),
}
"""The axes of a plot, and the points of `curves.json` on them."""
_KINDS = {"share": "Shares of the answers", "score": "Error scores", "penalty": "Penalties"}
"""The kinds of measures that have a better end."""
_COLOURS = {"better": "#0b5cad", "worse": "#c26a00", "open": "#777d86"}  # tell apart without red against green alone


def draw(folder: Path) -> list[Path]:
    """Draws what the folder has figures of, and returns the files."""
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    if "pairs" in summary:
        return [file for figure in differences(summary) for file in _save(figure, folder / "differences")]
    levels = [level for level in json.loads((folder / "curves.json").read_text("utf-8")) if level["detectors"]]
    return [file for name in _CURVES if levels for file in _save(curves(name, levels), folder / name)]


def curves(name: str, levels: Sequence[Json]) -> Figure:
    """A panel a level, a line a detector, and in grey what chance gives."""
    x, y, across, up = _CURVES[name]
    figure = Figure(figsize=(3.3 * len(levels) + 0.4, 4), layout="constrained")
    for axes, level in zip(figure.subplots(1, len(levels), squeeze=False).flat, levels, strict=True):
        axes.plot([0, 1], [0, 1] if name == "roc" else [level["rate"]] * 2, color="#b4b9c0")
        for detector, points in level["detectors"].items():
            # Between two points of precision nothing is reached: average precision is the area under the steps.
            axes.plot(points[across], points[up], label=detector, drawstyle="default" if name == "roc" else "steps-pre")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal", xlabel=x, ylabel=y)
        axes.set_title(f"{level['error']}, per {level['level']}")
        axes.legend()
    return figure


def differences(summary: Json) -> Iterator[Figure]:
    """Mean differences with their intervals, if there are any: a row of panels a pair of modes, a column a kind."""
    kinds = [kind for kind in _KINDS if any(_drawn(pair, kind) for pair in summary["pairs"])]
    if not kinds:
        return
    figure = Figure(figsize=(5 * len(kinds), 3 * len(summary["pairs"])), layout="constrained")
    grid = figure.subplots(len(summary["pairs"]), len(kinds), squeeze=False, sharex="col")
    for row, pair in zip(grid, summary["pairs"], strict=True):
        for axes, kind in zip(row, kinds, strict=True):
            lines = _drawn(pair, kind)
            for at, line in enumerate(lines):
                found, colour = line["difference"], _COLOURS[line["verdict"] or "open"]
                axes.plot([found["low"], found["high"]], [at, at], color=colour)
                axes.plot([found["value"]], [at], "o", color=colour)
            axes.axvline(0, color="#575d66", linewidth=1)
            axes.set_yticks(range(len(lines)), [line["label"] for line in lines])
            axes.set(xlabel=_KINDS[kind], title=f"{pair['a']} minus {pair['b']}")
    yield figure


def _drawn(pair: Json, kind: str) -> list[Json]:
    """The differences of a kind that have an interval."""
    return [d for d in pair["differences"] if d["kind"] == kind and "low" in d["difference"]]


def _save(figure: Figure, path: Path) -> list[Path]:
    """Writes PNG and SVG. Without a date, the same figures give the same files."""
    files = [path.with_suffix(".png"), path.with_suffix(".svg")]
    for file in files:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="OUT", type=Path)
    draw(parser.parse_args().folder)
