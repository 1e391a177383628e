"""A salience map as a picture (PNG or SVG): which words of the arguments each word of an answer was made of.

In the manner of figure 2 of the NPOV paper. Needs the extra `plots`. Matplotlib is used without its global state and
without a screen.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError
from eirene.views.facts import visible
from eirene.views.plots import check_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_WORDS = 200
"""On a side. A longer one is cut, and the picture says so."""
ENDINGS = (".png", ".svg")
_INCHES_A_WORD = 0.19
_DPI = 150
_MAP, _ERRORS = "Blues", "Oranges"  # light is little: both are read without telling red from green
_TICK: dict[str, Any] = {"fontsize": 7, "parse_math": False}  # a dollar sign in a word is no formula
_LETTERS, _TITLE = 18, 160


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What is drawn. `values[i][j]` in [0, 1] is what row i gave to column j; `groups[i]` names the row's perspective.

    `contributions` and `attributions` are the rows' and the columns' own error scores in [0, 1], higher is worse.
    """

    title: str
    groups: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    contributions: Sequence[float]
    attributions: Sequence[float]


def write_heatmap(heatmap: Heatmap, path: Path) -> None:
    """Writes the picture; the file's ending says which kind. Raises `InputError` for another, and without words."""
    check_matplotlib()
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"a picture ends in {' or '.join(ENDINGS)}, got {path.name!r}", field="out")
    if not heatmap.rows or not heatmap.columns:
        raise InputError("there is no word to show on one of the sides", field="out")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a script that the font lacks shows as boxes
        # Without a date, the same map gives the same file.
        metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
        draw_heatmap(heatmap).savefig(path, dpi=_DPI, metadata=metadata)


def draw_heatmap(heatmap: Heatmap) -> Figure:
    """The map, with a strip for the error of each row on its right and of each column below."""
    from matplotlib.figure import Figure

    n_rows, n_columns = (min(len(side), MOST_WORDS) for side in (heatmap.rows, heatmap.columns))
    width, height = (max(n, 6) * _INCHES_A_WORD for n in (n_columns, n_rows))
    figure = Figure(figsize=(width + 3.6, height + 2.6), layout="constrained")
    grid: Any = figure.subplots(
        2, 2, width_ratios=(width, 0.3), height_ratios=(height, 0.3), squeeze=False,
    )  # fmt: skip
    (main, right), (below, corner) = grid
    corner.set_axis_off()
    values = [list(row[:n_columns]) for row in heatmap.values[:n_rows]]
    image = main.imshow(values, cmap=_MAP, aspect="auto", vmin=0.0)
    _label_rows(main, heatmap, n_rows)
    main.set_xticks([])
    _strip(right, [[e] for e in heatmap.contributions[:n_rows]], "not in\nthe answer")
    shown = _strip(below, [list(heatmap.attributions[:n_columns])], "not from the arguments")
    below.set_xticks(range(n_columns), _shown(heatmap.columns[:n_columns]), rotation=90, **_TICK)
    for scale, label in ((shown, "error of a word"), (image, "share of the answer's word")):
        # Beside the whole, with a gap: beside the strip alone its scale looks like a part of it.
        bar = figure.colorbar(scale, ax=list(grid.flat), fraction=0.05, pad=0.03, aspect=30)
        bar.set_label(label, fontsize=7)
        bar.ax.tick_params(labelsize=7)
    title = figure.suptitle(_title(heatmap), fontsize=9, wrap=True)
    title.set_parse_math(False)
    return figure


def _label_rows(axes: Axes, heatmap: Heatmap, n_rows: int) -> None:
    axes.set_yticks(range(n_rows), _shown(heatmap.rows[:n_rows]), **_TICK)
    at = 0
    for name, members in groupby(heatmap.groups[:n_rows]):
        count = len(list(members))
        if at:
            axes.axhline(at - 0.5, color="black", linewidth=0.8)
        label = axes.annotate(
            _shown([name])[0], (0, at + (count - 1) / 2), xycoords=("axes fraction", "data"), xytext=(-88, 0),
            textcoords="offset points", rotation=90, va="center", ha="right", fontsize=9, weight="bold",
        )  # fmt: skip
        label.set_parse_math(False)
        at += count


def _strip(axes: Axes, errors: list[list[float]], label: str) -> Any:
    image = axes.imshow(errors, cmap=_ERRORS, aspect="auto", vmin=0.0, vmax=1.0)
    axes.set_yticks([])
    axes.set_xticks([])
    if len(errors) > 1:
        axes.set_title(label, fontsize=7)
    else:
        axes.set_ylabel(label, fontsize=7, rotation=0, ha="right", va="center")
    return image


def _shown(words: Sequence[str]) -> list[str]:
    return [_cut(visible(word), _LETTERS) for word in words]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _title(heatmap: Heatmap) -> str:
    return _cut(visible(heatmap.title), _TITLE) + "".join(f"\n{line}" for line in cut_lines(heatmap))


def cut_lines(heatmap: Heatmap) -> list[str]:
    """What of the map is not shown, a line a side."""
    return [
        f"{what}: the first {MOST_WORDS} of {len(whole)} words"
        for what, whole in (("arguments", heatmap.rows), ("answer", heatmap.columns))
        if len(whole) > MOST_WORDS
    ]
