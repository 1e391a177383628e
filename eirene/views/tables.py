"""Tables of figures, defined once and written as HTML, as Markdown and for a terminal; figures with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from markupsafe import Markup
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.core.scores import Score, Scores
from eirene.views.facts import cost, visible

Json = Mapping[str, Any]
Cell = str | Markup


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Lines of a table under a name of their own; no name where the table has one group. Row headers come first.

    `muted` lines are for information: without colours of good and bad.
    """

    name: str
    rows: Sequence[Sequence[Cell]]
    muted: bool = False


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table as the macro `table` writes it: columns from `first_number` on hold numbers."""

    caption: str
    columns: Sequence[str]
    groups: Sequence[RowGroup]
    first_number: int = 1

    @property
    def lines(self) -> list[tuple[str, Sequence[Cell]]]:
        """(name of the group, cells) of each row."""
        return [(group.name, row) for group in self.groups for row in group.rows]

    def markdown(self) -> str:
        """The table with the group's name in a column of its own; "" where it has no row."""
        named = any(group.name for group in self.groups)
        rows = [[*([name] if named else []), *(_text(cell) for cell in row)] for name, row in self.lines]
        text = markdown_table([*([""] if named else []), *self.columns], rows)
        return f"{self.caption}\n\n{text}" if rows else ""

    def terminal(self, columns: int) -> Table:
        """The first columns without intervals; a group's name stands beside its first row."""
        named = any(group.name for group in self.groups)
        table = simple_table(*([""] if named else []), *self.columns[:columns], numbers_from=1 + named)
        last = ""
        for name, row in self.lines:
            shown = [visible(_text(cell)).split(" [")[0] for cell in row[:columns]]
            table.add_row(*([visible(name) if name != last else ""] if named else []), *shown)
            last = name
        return table


def _text(cell: Cell) -> str:
    return cell.striptags() if isinstance(cell, Markup) else cell


def render_status(found: Any) -> RenderableType:
    """A batch's status: rows by status, why some failed, what they took, and whether a run is at work."""
    rows, table = found.totals.rows, Table.grid(padding=(0, 2))
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify)
    table.add_row("rows", f"{rows:,}", "")
    for name, n in found.totals.statuses.items():
        table.add_row(f"  {name}", f"{n:,}", f"{100 * n / rows:.1f} %" if rows else "")
    for kind, n in found.failures.items():
        table.add_row(f"    {visible(kind)}", f"{n:,}", "")
    held = "a run holds this journal" if found.is_held else "no run holds this journal"
    return Group(table, Text(cost(found.totals.usage, summed=True)), Text(held))


def render_scores(rows: Sequence[Mapping[str, Scores]]) -> RenderableType:
    """Each row's scores in words, a detector a line."""
    lines = ["errors from 0 to 1, lower is better"]
    for n, found in enumerate(rows, start=1):
        lines += [f"row {n}"] if len(rows) > 1 else []
        for name, of in found.items():
            lines.append(f"{name}: hallucination {_said(of.hallucination)}, coverage {_said(of.coverage)}")
    return Text(visible("\n".join(lines)))


def _said(score: Score) -> str:
    return f"{score:.3f}" if isinstance(score, float) else f"unscored ({score.unscored})"


def simple_table(*columns: str, numbers_from: int) -> Table:
    """An empty table for a terminal; the columns from `numbers_from` on hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for n, name in enumerate(columns):
        table.add_column(name, justify="right" if n >= numbers_from else "left", overflow="fold")
    return table


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)])


def cell(text: str) -> str:
    """A text on one line that cannot end its cell."""
    return " ".join(text.replace("|", "\\|").split())


def figure(value: Json, digits: int = 3, *, signed: bool = False) -> str:
    """A figure with its interval where it has one, or why there is none."""
    if "value" not in value:
        return str(value.get("unscored", "undefined"))
    shown = rounded(value["value"], digits, signed=signed)
    if value.get("low") is None:
        return shown + (" (one item)" if value.get("clusters") == 1 else "")
    return f"{shown} {ends(value, digits, signed=signed)}"


def ends(value: Json, digits: int, *, signed: bool = False) -> str:
    """The interval of a figure in brackets, rounded outwards: no narrower than it is."""
    low = rounded(value["low"], digits, ROUND_FLOOR, signed=signed)
    high = rounded(value["high"], digits, ROUND_CEILING, signed=signed)
    return f"[{low}, {high}]"


def rounded(value: float, digits: int, how: str = ROUND_HALF_EVEN, *, signed: bool = False) -> str:
    """With a sign where one is wanted. What would round to zero has up to two decimals more: an interval that ends
    near 0 must show on which side; what is 0 by then has no sign."""
    exact = Decimal(repr(round(value, 9)))
    for shown in (digits, digits + 1, digits + 2):
        near = exact.quantize(Decimal(1).scaleb(-shown), how)
        if near:
            return f"{near:{'+' if signed else ''}f}"
    return f"{0:.{digits}f}"


def p_value(p: float) -> str:
    """A p-value with two digits that say something."""
    return f"{p:.2g}"


def score_cell(value: float | None) -> Markup:
    """A score with a bar of its length."""
    if value is None:
        return Markup('<span aria-hidden="true">-</span><span class="unseen">unscored</span>')
    return Markup(
        '{:.3f}<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="100" height="8"/><rect width="{:.1f}" height="8"/></svg>'
    ).format(value, 100 * value)


def change_of(before: float | None, after: float | None) -> tuple[str, str]:
    """The difference of two errors in words, and `better`, `higher`, `same` or "" where one of them is not known.

    Higher is not called worse: of an answer that is shown it is by no more than what was found to be no harm.
    """
    if before is None or after is None:
        return "-", ""
    if abs(after - before) < 0.0005:
        return "same", "same"
    word = "better" if after < before else "higher"
    return f"{after - before:+.3f} {word}", word


def change_cell(before: float | None, after: float | None) -> Markup:
    """`change_of` for a page."""
    text, word = change_of(before, after)
    look = "better" if word == "better" else "dim"
    return Markup('<span class="{}">{}</span>').format(look, text) if word else Markup(text)


def change_text(before: float | None, after: float | None, *, muted: bool) -> Text:
    """`change_of` for a terminal."""
    text, word = change_of(before, after)
    return Text(text, style="dim" if word == "same" else "green" if word == "better" and not muted else "")
