"""Figures by matplotlib (extra `plots`): made without its global state or a screen, saved as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eirene.core.extras import importing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b5cad", "#c26a00", "#14602f", "#8f1f1f")  # tell apart without red against green alone
DPI = 150


def check_matplotlib() -> None:
    """Raises `MissingExtraError` where matplotlib is not installed."""
    with importing("matplotlib"):
        import matplotlib as _  # noqa: F401


def new_figure(title: str, width: float, height: float) -> Figure:
    """An empty figure of so many inches, drawn without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # draws without a screen, whatever the environment says
    figure.suptitle(title, fontsize=11)
    return figure


def panels(title: str, count: int, *, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels of so many inches each, in rows of at most `columns`."""
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = new_figure(title, size[0] * columns + 0.4, size[1] * rows + 0.8)
    grid = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid[:count]


def tidy(axes: Axes) -> None:
    """Takes the frame's upper and right lines away; small labels."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=7)


def save(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as `path.png` and `path.svg`. Without a date, the same figures give the same files."""
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg")]
    for file in files:
        save_as(figure, file)
    return files


def save_as(figure: Figure, file: Path) -> None:
    """Writes a figure to one file, in the form of its ending."""
    figure.savefig(file, dpi=DPI, metadata={"Date": None} if file.suffix.lower() == ".svg" else None)
