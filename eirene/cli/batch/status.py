"""`eirene batch status`: the status of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli.terminal import console, output

if TYPE_CHECKING:
    from eirene.agent.batch.journal import BatchStatus

Journal = Annotated[str, typer.Argument(metavar="JOURNAL", help="What `eirene batch` wrote with --out.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as one line of JSON.")]


def status(journal: Journal, *, as_json: AsJson = False) -> None:
    """Show the state of a batch: rows by status, cost, and why some failed. It may be running."""
    with output():
        from eirene.agent.batch.journal import read_status
        from eirene.cli.progress import watch_batch

        with watch_batch() as shown:
            found = read_status(journal, on_scan=shown.on_scan)
        if as_json:
            typer.echo(found.to_json())
            return
        _show(found)


def _show(found: BatchStatus) -> None:
    from rich.table import Table

    from eirene.views.facts import cost, visible

    rows = found.totals.rows
    table = Table.grid(padding=(0, 2))
    for name in ("", "", ""):
        table.add_column(name, justify="left" if not table.columns else "right")
    table.add_row("rows", f"{rows:,}", "")
    for name, n in found.totals.statuses.items():
        table.add_row(f"  {name}", f"{n:,}", f"{100 * n / rows:.1f} %" if rows else "")
    for kind, n in found.failures.items():
        table.add_row(f"    {visible(kind)}", f"{n:,}", "")
    shown = console()
    shown.print(table)
    shown.print(cost(found.totals.usage))
    shown.print("a run holds this journal" if found.is_held else "no run holds this journal")
