"""`eirene batch --dry-run`, and request and reply files of a provider's batch endpoint: export, import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.terminal import say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.batch.engine import Batch
    from eirene.agent.batch.offline import Imported
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.cli.batch.flags import OfflineFlags
    from eirene.core.records import Item

_SHOWN = {"calls": "calls", "input_tokens": "tokens in", "output_tokens": "tokens out", "cost_usd": "US dollars"}


def dry_run(opened: Batch, *, as_json: bool) -> None:
    """Says how many rows are left, and what they would take at the mean of those that are done; ends the command."""
    done, took = opened.totals.rows, opened.totals.usage
    sums = {name: getattr(took, name) for name in _SHOWN}
    a_row = {name: None if found is None else found / done for name, found in sums.items()} if done else None
    left = {name: None if n is None else n * opened.n_left for name, n in a_row.items()} if a_row else None
    rows = {"total": opened.n_rows, "done": opened.n_done, "left": opened.n_left}
    report = {"rows": rows, "a_row_took": a_row, "the_rest_may_take": left}
    typer.echo(json.dumps(report, ensure_ascii=False) if as_json else _text(report))
    raise typer.Exit  # an exception, so that a journal that was made for this alone goes again


def _text(report: Mapping[str, Any]) -> str:
    rows = report["rows"]
    lines = [f"{rows['total']:,} rows: {rows['done']:,} are done, {rows['left']:,} are left"]
    if report["a_row_took"] is None:
        return f"{lines[0]}; what a row takes is known once some are done: make a few with --sample 5"
    for title, name in (("A row of the journal took", "a_row_took"), ("At that, the rest takes", "the_rest_may_take")):
        lines.append(f"{title} {', '.join(_figures(report[name]))}")
    return "\n".join(lines)


def _figures(found: Mapping[str, float | None]) -> Iterator[str]:
    for name, shown in _SHOWN.items():
        n = found[name]
        yield (
            f"{shown} unknown (--price IN,OUT)"
            if n is None
            else f"{n:,.4g} {shown}"
            if n < 1000
            else f"{n:,.0f} {shown}"
        )


def exchange(opened: Batch, parts: Parts, settings: Settings, offline: OfflineFlags) -> None:
    """Writes the requests of the rows that are missing and ends the command, or reads replies in and lets it go on."""
    from eirene.agent.batch.offline import SamplingStep, export_requests, import_replies

    export, replies = offline.export_requests, offline.import_replies or []
    if export is not None and replies:
        raise InputError("give --export-requests or --import-replies, not both", field="import-replies")
    step = SamplingStep(parts, settings)
    if export is None:
        _tell(import_replies(replies, _items(opened), step))
        return
    rows, requests = export_requests(_items(opened), step, export, one_reply=offline.one_reply)
    say(f"wrote {requests:,} requests for {rows:,} rows to {export}; {opened.n_done:,} rows were done before")
    raise typer.Exit  # an exception, so that a journal that was made for this alone goes again


def _items(opened: Batch) -> Iterator[Item]:
    return (work.item for work in opened.work())


def _tell(found: Imported) -> None:
    """What the replies are good for, and what is wrong with the rest."""
    say(
        f"read {found.replies:,} critiques: {found.complete:,} of {found.rows:,} rows have all of theirs, "
        f"{found.partial:,} have some; the rest is asked for now "
        f"({found.input_tokens:,} tokens in and {found.output_tokens:,} out by the provider's count)"
    )
    problems = [
        (found.errors, f"requests failed, the first with: {found.first_error}"),
        (found.unusable, "replies were cut off, filtered or empty"),
        (found.others, "lines are not of these rows (finished, changed, another file's), or repeat an id"),
    ]
    for n, what in problems:
        if n:
            say(f"of these files {n:,} {what}")
