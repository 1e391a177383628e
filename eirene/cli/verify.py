"""`eirene verify`: sentences and quotations of an answer, or of every row of a data set, against what was given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.check import FAILED, Junit, check_outputs
from eirene.cli.data_flags import IN_HELP, CorpusFlags, DataFlags, RowId, TextFlags, with_id
from eirene.cli.flags import Only, with_groups
from eirene.cli.model_flags import ScoreFlags
from eirene.cli.progress import watch
from eirene.cli.refine import check_page
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.check.verified import FailRule, RowVerifier
    from eirene.core.quality import VerifiedRow
    from eirene.core.records import Item
    from eirene.core.scores import Unscored
    from eirene.core.verification import Verification

File = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA|-",
        help=f"Rows with 'question', 'answer', and 'context' or 'perspectives', instead of --answer. {IN_HELP}",
    ),
]
Out = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a line of JSON per row; the same command again resumes.")
]
FailOn = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Fail if a row has one: contradicted, unsupported, unclear, unread, unscored; comma-separated.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="RISK", help="Fail if a row's risk is above: how likely people would find a fault in it, 0 to 1."
    ),
]
_THREADS, _CALLS = 4, 32


@with_groups(
    "fail-on", "threshold", "judge", "out", "junit", "answer", "context", "side", "json", "html"
)  # fmt: skip
def verify(
    file: File = None,
    *,
    texts: TextFlags,
    row: RowId = None,
    fail_on: FailOn = None,
    threshold: Threshold = None,
    out: Out = None,
    junit: Junit = None,
    models: Annotated[ScoreFlags, Only("judge", "base_url", "timeout", "cache")],
    data: DataFlags,
    corpus: CorpusFlags,
    as_json: flags.AsJson = False,
    html: flags.Html = None,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Say of each sentence of answers whether what was given supports it, and where; exit code 3 if a row fails."""
    import asyncio

    with output():
        from eirene.agent.check.verified import FailRule, RowVerifier
        from eirene.core.records import UNASKED

        rule = FailRule.of(flags.listed(fail_on), threshold)
        own = texts.item(file, unasked=UNASKED)
        _check_files(file, out, junit, html, as_json=as_json, force=force)
        if junit is not None and rule == FailRule():
            raise InputError("nothing can fail: give --fail-on WORDS, or --threshold RISK", field="junit")
        with watch(0):
            items, total = _of_rows(str(file), row, data, corpus) if own is None else _of_texts(own, row, corpus)
        if html is not None and total > 1:
            raise InputError(f"--html draws one row, and {total} are there; pick one with --id", field="html")
        judge = models.cascade(_CALLS)
        verifier = RowVerifier(judge)
        rows, last = asyncio.run(_read(items, total, rule, verifier, out=out, as_json=as_json, force=force))
        _show(rows, last if total == 1 else None, html, as_json=as_json, force=force)
        if unread := verifier.unread:
            say(f"{out} also holds {unread} row{'s' * (unread > 1)} that this run did not read")
        _end(rows, junit, to_stderr=as_json or html is not None, has_rule=rule != FailRule())


def _check_files(
    file: str | None, out: str | None, junit: str | None, html: str | None, *, as_json: bool, force: bool
) -> None:
    from eirene.data import check_outside

    check_page(html, file, as_json=as_json, force=force)
    # A run that is resumed makes its report anew.
    resumed = out is not None and os.path.exists(out)
    check_outputs(file, [junit], force=force or resumed)
    if out is not None and file is None:
        raise InputError("--out is for rows; --json prints the verification of an answer", field="out")
    if out is not None and file is not None:
        check_outside(out, file)


def _of_texts(item: Item, row: str | None, corpus: CorpusFlags) -> tuple[Iterable[Item], int]:
    if row is not None:
        raise InputError("--id goes with rows", field="id")
    filled = corpus.filler()
    if filled is None and not item.context and not item.perspectives:
        raise InputError("nothing to verify the answer against: give --context, --side or --corpus", field="context")
    item = item.model_copy(update={"id": "answer"})  # it is no row, which would have one
    return [item if filled is None else filled(item)], 1


def _of_rows(file: str, row: str | None, data: DataFlags, corpus: CorpusFlags) -> tuple[Iterable[Item], int]:
    """The rows, every one checked before the first is read, and how many there are."""
    rows = data.open(file, each=corpus.filler())
    if row is None:
        total = rows.check()
        return rows.items(), total
    return with_id(rows.read(), row, where=file), 1


async def _read(
    items: Iterable[Item], total: int, rule: FailRule, verifier: RowVerifier, *, out: str | None, as_json: bool,
    force: bool,
) -> tuple[list[VerifiedRow], tuple[Item, Verification | Unscored] | None]:  # fmt: skip
    """The rows and the last one's verification; each is written as soon as it and those before it are read."""
    from eirene.agent.check.verified import verified_row
    from eirene.data.journal import open_journal
    from eirene.data.output import STDOUT, line_writer
    from eirene.eval.scoring import in_order, workers_for

    rows, last, judge = list["VerifiedRow"](), None, verifier.judge
    workers = min(_THREADS, os.cpu_count() or 1) if judge is None else workers_for([judge], _CALLS)
    with ExitStack() as stack:
        journal = stack.enter_context(open_journal(out, on_line=verifier.know, anew=force)) if out else None
        write = stack.enter_context(line_writer(STDOUT)) if as_json else None
        progress = stack.enter_context(watch(total))
        async for item, read in in_order(items, verifier.read, workers=workers):
            if journal is not None and read.is_new:
                journal.append([read.line])
            if write is not None:
                write(read.json())
            rows.append(verified_row(item.id, read.found, rule))
            last = item, read.found
            progress.advance(len(rows), "verifying")
    return rows, last


def _show(
    rows: Sequence[VerifiedRow], one: tuple[Item, Verification | Unscored] | None, html: str | None, *, as_json: bool,
    force: bool,
) -> None:  # fmt: skip
    """Shows the rows, or `one` alone in whole; as JSON they have been shown."""
    from eirene.core.verification import Verification
    from eirene.views.quality import verified_lines
    from eirene.views.verification import render_verification

    if one is None or not isinstance(one[1], Verification):
        lines = () if as_json else (line for row in rows for line in verified_lines(row))
        for line in lines:
            typer.echo(line)
    elif html is not None:
        _write_page(one[0], one[1], html, force=force)
    elif not as_json:
        console().print(render_verification(one[1]))


def _write_page(item: Item, found: Verification, path: str, *, force: bool) -> None:
    from eirene.core.grounding import given_ids, given_texts
    from eirene.core.records import UNASKED
    from eirene.data.output import STDOUT, write_text
    from eirene.views.verification import outcome_of, render_verification_page

    question = "" if item.question == UNASKED else item.question
    page = render_verification_page(found, given_texts(item), question=question, ids=given_ids(item))
    write_text(path, page, force=force)
    if path != STDOUT:
        say(f"{outcome_of(found)[0]} (page: {path})")


def _end(rows: Sequence[VerifiedRow], junit: str | None, *, to_stderr: bool, has_rule: bool) -> None:
    """Says what became of all rows, the verdict last, where a log ends; and ends with its exit code.

    Whether the report may be written over has been looked at.
    """
    from eirene.agent.check.rows import JUDGE_FAILED
    from eirene.data.output import write_text
    from eirene.views.quality import junit_of_rows, verified_headline

    said = verified_headline(rows, has_rule=has_rule)
    if junit is not None:
        write_text(junit, junit_of_rows(rows, said=said), force=True)
    if has_rule or len(rows) > 1:
        typer.echo(said, err=to_stderr)
    if any(row.failed for row in rows):
        raise typer.Exit(FAILED)
    if any((row.why or "").startswith(JUDGE_FAILED) for row in rows):
        raise typer.Exit(1)
    if all(row.risk is None for row in rows):
        why = next((row.why for row in rows), "there is no row")
        if has_rule:
            raise InputError(f"nothing could be verified, so that nothing has passed: {why}")
        say(f"error: nothing could be verified: {why}")
        raise typer.Exit(1)
