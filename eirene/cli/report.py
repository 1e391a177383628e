"""`eirene report`: a web page of a file of records."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.data_flags import CorpusFlags, DataFlags
from eirene.cli.flags import Without, with_groups
from eirene.cli.progress import watch
from eirene.cli.terminal import output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eirene.core.records import Item
    from eirene.core.verification import Verification
    from eirene.views.verification import Verified

Run = Annotated[str, typer.Argument(metavar="RUN.jsonl", help="Records, one a line; - is standard input.")]
Out = Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where to write the page; - is standard output.")]
Items = Annotated[
    str | None, typer.Option(metavar="FILE", help="The rows that were refined: shows what was given in words.")
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Say of each sentence, before and after, whether what was given supports it, and where. Needs --items; "
        "takes one core about 0.1 s a record.",
    ),
]
RowFlags = Annotated[DataFlags, Without("limit", "sample")]


@with_groups()
def report(
    run: Run,
    *,
    out: Out,
    items: Items = None,
    verify: Verify = False,
    data: RowFlags,
    corpus: CorpusFlags,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Write one page with every record of a run, to filter, search and read. It needs nothing else."""
    with output():
        from eirene.data import check_outside
        from eirene.data.output import STDOUT, check_output, write_text
        from eirene.data.source import read_source
        from eirene.views.report import records_in, render_report

        if items is None:
            _check_flags(data, corpus, verify=verify, has_config=config is not None)
        check_output(out, force=force)
        for source in filter(None, (run, items)):
            check_outside(out, source)
        rows = ((row.where, row.data) for row in read_source(run).rows())
        given = _items(items, data, corpus)
        with _verifying(verify=verify) as verified:
            page = render_report(records_in(rows), title=Path(run).name or "Run", items=given, verified=verified)
        write_text(out, page, force=force)
        if out != STDOUT:
            say(f"wrote {out}")


def _check_flags(data: DataFlags, corpus: CorpusFlags, *, verify: bool, has_config: bool) -> None:
    """Raises `InputError` for flags that mean nothing without `--items`; a file of flags may be a batch's too."""
    if verify:
        raise InputError(
            "--verify needs the rows that were refined, for records do not hold what was given: add --items FILE",
            field="items",
        )
    if not has_config and (data != DataFlags() or corpus.corpus is not None):
        raise InputError("--corpus and the flags of data say how --items is read: add --items FILE", field="items")


def _items(path: str | None, data: DataFlags, corpus: CorpusFlags) -> dict[str, Item] | None:
    if path is None:
        return None
    return {item.id: item for item in data.open(path, each=corpus.filler()).read()}


@contextmanager
def _verifying(*, verify: bool) -> Iterator[Verified | None]:
    """What verifies a text, counted at a terminal; None where nothing is to be verified."""
    if not verify:
        yield None
        return
    from eirene.verification.verify import verify_item

    done = 0
    with watch(0) as progress:

        def verified(item: Item, text: str) -> Verification | None:
            nonlocal done
            done += 1
            progress.count(done, "verifying answers")
            return verify_item(item, text)

        yield verified
