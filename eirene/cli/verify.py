"""`eirene verify`: an answer's sentences and quotations against passages, with verdict and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.data_flags import CorpusFlags, DataFlags, RowId, one_with_id
from eirene.cli.flags import with_groups
from eirene.cli.progress import watch
from eirene.cli.refine import check_page
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.verification import Verification
    from eirene.retrieval.passages import Passage

File = Annotated[
    str | None,
    typer.Argument(metavar="FILE|-", help="A row with 'answer' and 'context'; with --context the answer's text."),
]
Answer = Annotated[str | None, typer.Option(help="The answer's text, instead of a file.")]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="FILE|DIR",
        help="Passages: a text file (one between blank lines) or rows with 'text'; repeatable.",
        rich_help_panel="Passages",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the verification as one line of JSON.", rich_help_panel=flags.OUTPUT)
]


@with_groups("answer", "context", "id", "corpus", "map", "json", "html", "force", "config")
def verify(
    file: File = None,
    *,
    answer: Answer = None,
    context: Context = None,
    row: RowId = None,
    data: DataFlags,
    corpus: CorpusFlags,
    as_json: AsJson = False,
    html: flags.Html = None,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Say of each sentence of an answer whether the passages support it, and where; rewrites nothing."""
    with output():
        from eirene.data.output import STDOUT, line_writer

        _check_sources(file, answer, context)
        check_page(html, file, as_json=as_json, force=force)
        with watch(0):
            if context:
                asked = _from_texts(file, answer, context, row=row, corpus=corpus.corpus)
            else:
                asked = _from_row(str(file), row, data, corpus)
            found = _verified(asked)
        if html is not None:
            _write_page(found, asked, html, force=force)
        if as_json:
            with line_writer(STDOUT) as write:
                write(found.model_dump_json())
        elif html is None:
            from eirene.views.verification import render_verification

            console().print(render_verification(found))
        if not found.checked:
            say(f"error: no sentence of {len(found.claims)} could be checked: {found.claims[0].why}")
            raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _AskedVerification:
    """What is verified. `ids` has the passages' ids, none where they have none."""

    answer: str
    passages: Sequence[str]
    ids: Sequence[str] = ()
    question: str = ""


def _check_sources(file: str | None, answer: str | None, context: Sequence[str] | None) -> None:
    if (file is None) == (answer is None):
        raise InputError("give a FILE (- for standard input), or --answer, and not both")
    if answer is not None and not context:
        raise InputError("--answer needs passages: give --context FILE", field="context")


def _from_texts(
    file: str | None, answer: str | None, context: Sequence[str], *, row: str | None, corpus: str | None
) -> _AskedVerification:
    if row is not None or corpus is not None:
        raise InputError("--context takes all its passages; --id and --corpus go with rows", field="context")
    passages = list(_read_passages(context))
    text = _answer_text(file) if file is not None else answer or ""
    return _AskedVerification(text, [p.shown for p in passages], [p.id for p in passages])


def _from_row(file: str, row: str | None, data: DataFlags, corpus: CorpusFlags) -> _AskedVerification:
    from eirene.core.records import found_ids

    item = one_with_id(data.open(file, each=corpus.filler()).read(), row, where=file, done="verified")
    if not item.context:
        raise InputError(
            "the row has no 'context'; give passages in the row, by --corpus, or the answer's text with --context",
            field="context",
            where=file,
        )
    return _AskedVerification(item.answer, item.context, found_ids(item), item.question)


def _answer_text(file: str) -> str:
    from eirene.data.source import read_text

    if file.lower().removesuffix(".gz").endswith((".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow")):
        raise InputError(
            "with --context, FILE is the answer as plain text; rows have their passages in 'context'", where=file
        )
    return read_text(file)


def _read_passages(places: Sequence[str]) -> Iterator[Passage]:
    from eirene.retrieval.passages import read_corpus

    for place in places:
        yield from read_corpus(place)


def _verified(asked: _AskedVerification) -> Verification:
    from eirene.verification.verify import verify as run

    return run(asked.answer, asked.passages, passage_ids=asked.ids or None)


def _write_page(found: Verification, asked: _AskedVerification, path: str, *, force: bool) -> None:
    from eirene.data.output import STDOUT, write_text
    from eirene.views.verification import outcome_of, render_verification_page

    page = render_verification_page(found, asked.passages, question=asked.question, ids=asked.ids)
    write_text(path, page, force=force)
    if path != STDOUT:
        say(f"{outcome_of(found)[0]} (page: {path})")
