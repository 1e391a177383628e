"""A comparison's figures for a reader at a terminal: the gist of `table.md`, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.views.compare_table import STATUSES, digits_of, figure
from eirene.views.visible import visible

Json = Mapping[str, Any]
_STYLE = {"better": "green", "worse": "red"}


def render_comparison(summary: Json) -> RenderableType:
    """What became of the answers, mean errors before and after, and the differences whose interval leaves 0 out."""
    parts: list[RenderableType] = [_outcomes(summary), Text("")]
    if any(found["scores"] for found in summary["per_mode"].values()):
        parts += [Text("Mean errors (lower is better)", style="bold cyan"), _errors(summary), Text("")]
    if summary["pairs"]:
        parts.append(Text("Differences whose 95 % interval leaves 0 out (six items or more)", style="bold cyan"))
        parts += [line for pair in summary["pairs"] for line in _pair(pair)]
    return Group(*parts)


def _outcomes(summary: Json) -> Table:
    table = _table("mode", "rows", *STATUSES)
    for mode, found in summary["per_mode"].items():
        table.add_row(mode, f"{found['rows']:,}", *(f"{found['status'][status]:,}" for status in STATUSES))
    return table


def _errors(summary: Json) -> Table:
    """A line a mode under each error, so that any number of modes fits."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("error")
    table.add_column("mode")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    shown: dict[str, list[tuple[str, ...]]] = {}
    for mode, found in summary["per_mode"].items():
        for name, score in [*found["scores"].items(), *found["judged"].get("errors", {}).items()]:
            digits = digits_of(name)
            means = [_mean(score[side], digits, signed=side == "change") for side in ("before", "after", "change")]
            shown.setdefault(visible(score["label"]), []).append((mode, *means))
    for label, lines in shown.items():
        for n, line in enumerate(lines):
            table.add_row("" if n else label, *line)
    return table


def _mean(found: Json, digits: int, *, signed: bool) -> str:
    """The figure without its interval."""
    return figure(found, digits, signed=signed).split(" ")[0] if "value" in found else "unscored"


def _pair(pair: Json) -> Iterator[Text]:
    yield Text(f"{pair['a']} minus {pair['b']}", style="bold")
    told = sorted((d for d in pair["differences"] if d["verdict"] in _STYLE), key=lambda d: d.get("advisory", False))
    for d in told:
        shown = figure(d["difference"], digits_of(d["measure"]), signed=True)
        style = "dim" if d.get("advisory") else _STYLE[d["verdict"]]
        yield Text.assemble("  ", (d["verdict"], style), f"  {visible(d['label'])} {shown}")
    if not told:
        yield Text("  none", style="dim")


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right")
    return table
