"""A check's report at a terminal: figures and conditions as a table, then the rows behind them."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.core.quality import CheckState, QualityReport
from eirene.views.facts import visible
from eirene.views.quality import VERDICTS, figure_text, headline, interval_text, rows_lines

_STYLE: dict[CheckState, str] = {"passed": "bold green", "holds": "bold red", "unmeasured": "bold yellow"}


def render(report: QualityReport) -> RenderableType:
    """Figures, conditions, rows and notes, the verdict last, where a log ends."""
    parts: list[RenderableType] = [_table(report)]
    lines = list(rows_lines(report))
    if lines:
        parts += [Text("\nRows", style="bold"), *(Text(line) for line in lines)]
    parts += [Text(), *(Text(visible(note), style="dim") for note in report.notes)]
    parts += [*_why(report), Text(headline(report), style=_STYLE[report.state])]
    return Group(*parts)


def _table(report: QualityReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("quantity", "is", "95 % interval", "fails if", "result"):
        table.add_column(name)
    for figure in report.figures:
        own = [outcome for outcome in report.outcomes if outcome.condition.quantity == figure.quantity]
        cells = (figure.quantity, figure_text(figure), interval_text(figure))
        if not own and figure.value is not None:
            table.add_row(*cells, "", "")
        for outcome in own:
            limit = f"{outcome.condition}".removeprefix(f"{figure.quantity} ")
            table.add_row(*cells, limit, Text(VERDICTS[outcome.state], style=_STYLE[outcome.state]))
    return table


def _why(report: QualityReport) -> Iterator[Text]:
    for outcome in report.outcomes:
        if outcome.why is not None:
            yield Text(visible(f"{outcome.condition}: {outcome.why}"), style="dim")
