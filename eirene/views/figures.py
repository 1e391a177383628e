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


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, drawn without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # draws without a screen, whatever the environment says
    return figure


def tidy(axes: Axes) -> None:
    """Takes the frame's upper and right lines away."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as `path.png` and `path.svg`. Without a date, the same figures give the same files."""
    files = [path.with_name(f"{path.name}.{ending}") for ending in ("png", "svg")]
    for file in files:
        figure.savefig(file, dpi=DPI, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files
