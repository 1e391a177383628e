"""`eirene report`: a web page of a file of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.terminal import output, say

if TYPE_CHECKING:
    from eirene.core.records import Item

Run = Annotated[str, typer.Argument(metavar="RUN.jsonl", help="Records, one a line; - is standard input.")]
Out = Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where to write the page; - is standard output.")]
Items = Annotated[
    str | None, typer.Option(metavar="FILE", help="The rows that were refined: shows what was given in words.")
]


def report(run: Run, *, out: Out, items: Items = None, force: flags.Force = False, config: flags.Config = None) -> None:
    """Write one page with every record of a run, to filter, search and read. It needs nothing else."""
    with output():
        from eirene.data import check_outside
        from eirene.data.json_rows import read_source
        from eirene.data.output import STDOUT, check_output, write_text
        from eirene.views.report import records_in, render_report, report_title

        check_output(out, force=force)
        for source in filter(None, (run, items)):
            check_outside(out, source)
        rows = ((row.where, row.data) for row in read_source(run).rows())
        page = render_report(records_in(rows), title=report_title(run), items=_items(items))
        write_text(out, page, force=force)
        if out != STDOUT:
            say(f"wrote {out}")


def _items(path: str | None) -> dict[str, Item] | None:
    if path is None:
        return None
    from eirene.data import read_items

    return {item.id: item for item in read_items(path)}
