"""What `eirene batch` does without a server: request files out, reply files in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from eirene.cli.terminal import say
from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.batch.engine import Batch
    from eirene.agent.batch.replies_file import Imported
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.records import Item


def exchange(
    opened: Batch,
    parts: Parts,
    settings: Settings,
    export: str | None,
    replies: Sequence[str],
    *,
    one_reply: bool,
) -> None:
    """Writes the requests of the rows that are missing and ends the command, or reads replies in and lets it go on."""
    from eirene.agent.batch.exchange import SamplingStep, export_requests
    from eirene.agent.batch.replies_file import import_replies

    if export is not None and replies:
        raise InputError("give --export-requests or --import-replies, not both", field="import-replies")
    step = SamplingStep(parts, settings)
    if export is None:
        _tell(import_replies(replies, _items(opened), step))
        return
    done = export_requests(_items(opened), step, export, one_reply=one_reply)
    names = ", ".join(str(path) for path in done.files)
    say(f"wrote {done.requests:,} requests for {done.rows:,} rows to {names}; {opened.n_done:,} rows were done before")
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
        (found.twice, "lines repeat an id, of which the first counts"),
        (found.foreign, "lines are not Eirene's"),
        (found.others, "lines are of rows that are finished, changed, or not in the data"),
    ]
    for n, what in problems:
        if n:
            say(f"of these files {n:,} {what}")
