"""`eirene refine`: one answer, or several in turn, through the loop; shown as text, JSON or a page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.data_flags import IN_HELP, STDIN, CorpusFlags, DataFlags, RowId, TextFlags, with_id
from eirene.cli.flags import LoopFlags, TraceFlags, Without, with_groups
from eirene.cli.model_flags import ModelFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.core.records import Item, Record

File = Annotated[str | None, typer.Argument(metavar="FILE|-", help=IN_HELP)]
Interactive = Annotated[
    bool,
    typer.Option(
        "--interactive",
        help="Stop before the rewriting, show the critique, and let me change it.",
        rich_help_panel="The loop",
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.sqlite",
        help="Store an interactive run here; the same command resumes it.",
        rich_help_panel="The loop",
    ),
]


@with_groups(
    "backend", "base-url", "question", "answer", "context", "side", "corpus", "mode", "json", "html"
)  # fmt: skip
def refine(
    file: File = None,
    *,
    texts: TextFlags,
    row: RowId = None,
    data: DataFlags,
    corpus: CorpusFlags,
    models: Annotated[ModelFlags, Without("word_maps")],
    loop: LoopFlags,
    tracing: TraceFlags,
    interactive: Interactive = False,
    checkpoint: Checkpoint = None,
    as_json: flags.AsJson = False,
    html: flags.Html = None,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Critique an answer, rewrite it, score both, and show which one stands and why."""
    with output(), ExitStack() as loading:
        _check_interactive(file == STDIN or texts.from_stdin > 0, interactive=interactive, checkpoint=checkpoint)
        loading.enter_context(watch(1))  # a long text and the models take their time before the first step
        rows = texts.rows(file, data, corpus)
        items = with_id(rows.read(), row, where=rows.name)  # all checked before anything is spent
        if html is not None and len(items) > 1:
            raise InputError(
                f"--html shows one answer, and there are {len(items)} rows; pick one with --id", field="html"
            )
        check_page(html, file, as_json=as_json, force=force)
        settings = loop.settings()
        parts = models.parts(seed=loop.seed, word_maps=html is not None)
        loading.close()
        loading.enter_context(tracing.active())
        if interactive:
            from eirene.cli.review import refine_items

            def show(record: Record, item: Item, n: int) -> None:
                _present(record, item, n, len(items), as_json=as_json, html=html, force=force)

            errors = refine_items(items, settings, backend=parts, checkpoint=checkpoint, show=show)
        else:
            errors = run_items(items, settings, backend=parts, as_json=as_json, html=html, force=force)
    if errors:
        # A key that is not accepted is bad usage, to be mended before anything else; other failures are the run's.
        raise typer.Exit(2 if "AuthError" in errors else 1)


def _check_interactive(reads_stdin: bool, *, interactive: bool, checkpoint: str | None) -> None:
    if not interactive:
        if checkpoint is not None:
            raise InputError("--checkpoint goes with --interactive", field="checkpoint")
        return
    if reads_stdin:
        raise InputError(
            "--interactive reads your answers from standard input, so no text can come from there; name a file",
            field="interactive",
        )
    from eirene.cli.review import check_terminal

    check_terminal()


def check_page(html: str | None, source: str | None, *, as_json: bool, force: bool) -> None:
    """Raises `InputError` for a page that cannot be written, or would be where records or the rows are."""
    from eirene.data import check_outside
    from eirene.data.output import STDOUT, check_output

    if html is None:
        return
    if as_json and html == STDOUT:
        raise InputError(
            "--json and --html - would both write to standard output; name a file for --html", field="html"
        )
    check_output(html, force=force)
    if source is not None:
        check_outside(html, source, flag="--html")


def run_items(
    items: Sequence[Item], settings: Settings, *, backend: Parts, as_json: bool, html: str | None, force: bool
) -> list[str]:
    """Refines the rows in turn, shows each as soon as it is there, and returns the kinds of their errors."""
    from eirene.agent.critics import critique_from_notes
    from eirene.agent.run import refine as run
    from eirene.text.sentences import split_sentences

    if settings.mode == "human":
        for item in items:  # a row without notes should stop the run before the first is paid for
            critique_from_notes(item, split_sentences(item.answer))
    errors = []
    for n, item in enumerate(items, start=1):
        with watch(len(items)) as progress:
            progress.next_item(n)
            record = run(item, settings=settings, backend=backend, on_event=progress.on_event)
        if record.error is not None:
            errors.append(record.error.kind)
        _present(record, item, n, len(items), as_json=as_json, html=html, force=force)
    return errors


def _present(record: Record, item: Item, n: int, total: int, *, as_json: bool, html: str | None, force: bool) -> None:
    if html is not None:
        _write_page(record, item, html, force=force)
    if as_json:
        _print_json(record)
    elif html is None:
        _show(record, n, total)


def page_of(record: Record, item: Item) -> str:
    """The page of a run."""
    from eirene.verification.verify import verify_item
    from eirene.views.report import render_page

    return render_page(record, item=item, verified=verify_item)


def _write_page(record: Record, item: Item, path: str, *, force: bool) -> None:
    from eirene.data.output import STDOUT, write_text

    write_text(path, page_of(record, item), force=force)
    if path != STDOUT:
        say(f"{record.status}: {record.why} (page: {path})")


def _print_json(record: Record) -> None:
    from eirene.data.output import STDOUT, line_writer

    with line_writer(STDOUT) as write:
        write(record.to_json())


def _show(record: Record, n: int, total: int) -> None:
    from eirene.views.facts import visible
    from eirene.views.terminal import render

    screen = console()
    if total > 1:
        screen.rule(f"{n} of {total}: {visible(record.id)}")
    screen.print(render(record))
