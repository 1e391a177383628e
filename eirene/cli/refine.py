"""`eirene refine`: one answer (or several, in turn) through the loop, shown for a reader, as JSON or as a page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import typer

from eirene.cli import data_flags, flags
from eirene.cli.data_flags import CallFlags, CorpusFlags
from eirene.cli.flags import with_groups, with_named
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.core.records import Item, Record
    from eirene.data import Dataset


@with_groups()
def refine(
    file: flags.File = None,
    *,
    question: flags.Question = None,
    answer: flags.Answer = None,
    row: flags.RowId = None,
    format: data_flags.Format = "auto",
    columns: data_flags.Map = None,
    reader: data_flags.ReaderName = None,
    drop_unmapped: data_flags.DropUnmapped = False,
    limit: data_flags.Limit = 0,
    sample: data_flags.Sample = 0,
    sample_seed: data_flags.SampleSeed = 0,
    mode: flags.Mode = "fine-grained",
    critic: flags.Critic = "completeness",
    removal: flags.Removal = "remove",
    backend: flags.Backend = "embedded",
    base_url: flags.BaseUrl = None,
    calls: CallFlags,
    corpus: CorpusFlags,
    detectors: flags.Detectors = None,
    judge: flags.Judge = None,
    judge_base_url: flags.JudgeBaseUrl = None,
    local_model: flags.LocalModel = None,
    classifier: flags.Classifier = None,
    nli: flags.Nli = None,
    word_maps: flags.WordMaps = False,
    polls: flags.Polls = 5,
    samples: flags.Samples = 20,
    stop: flags.Stop = "none",
    max_rounds: flags.MaxRounds = 2,
    patience: flags.Patience = 1,
    seed: flags.Seed = 0,
    min_consistency: flags.MinConsistency = 0.0,
    tolerance: flags.Tolerance = 0.02,
    min_gain: flags.MinGain = 0.02,
    when_gain_unmeasured: flags.WhenGainUnmeasured = "accept",
    interactive: flags.Interactive = False,
    checkpoint: flags.Checkpoint = None,
    as_json: flags.AsJson = False,
    html: flags.Html = None,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Critique an answer, rewrite it, score both, and show which one stands and why."""
    with output(), ExitStack() as loading:
        _check_interactive(file, interactive=interactive, checkpoint=checkpoint)
        _check_sources(file, question, answer)
        loading.enter_context(watch(1))  # a long text and the models take their time before the first step
        from eirene.core.records import parse_item
        from eirene.data import check_outside

        if file is None:
            fill = corpus.filler()
            one = parse_item({"question": question, "answer": answer})
            items: Sequence[Item] = [one if fill is None else fill(one)]
        else:
            rows = data_flags.open_data(
                file, format=format, columns=columns, reader=reader, drop_unmapped=drop_unmapped,
                selection=data_flags.selection_of(limit, sample, sample_seed), each=corpus.filler(),
            )  # fmt: skip
            items = _items(rows, row)
        _check_output(items, html, as_json=as_json, force=force)
        if html is not None and file is not None:
            check_outside(html, file, flag="--html")
        from eirene.agent.settings import Settings

        settings = Settings.of(
            mode=mode, critic=critic, removal=removal, samples=samples, stop=stop, max_rounds=max_rounds,
            patience=patience, seed=seed, min_consistency=min_consistency, tolerance=tolerance, min_gain=min_gain,
            when_gain_unmeasured=when_gain_unmeasured,
        )  # fmt: skip
        from eirene.agent.backends import BackendOptions, resolve_backend

        cache, judge_url = calls.open_cache(), judge_base_url or base_url
        price = calls.price_of(backend, base_url=base_url)
        judge_price = calls.listed_price(judge, base_url=judge_url)
        parts = resolve_backend(backend, BackendOptions(base_url=base_url, price=price, cache=cache))
        parts = with_named(
            parts, detectors, judge_model=judge, base_url=judge_url, local=local_model, cache=cache,
            classifiers_named=classifier or (), nli_named=nli, polls=polls, seed=seed, price=judge_price,
            word_maps=word_maps or html is not None,
        )  # fmt: skip
        if detectors is None and judge is not None:
            from eirene.agent.detectors import with_judge

            parts = with_judge(parts, judge, base_url=judge_url, polls=polls, seed=seed, price=judge_price, cache=cache)
        loading.close()
        if interactive:
            from eirene.cli.review.interactive import refine_items

            def show(record: Record, item: Item, n: int) -> None:
                _present(record, item, n, len(items), as_json=as_json, html=html, force=force)

            errors = refine_items(items, settings, backend=parts, checkpoint=checkpoint, show=show)
        else:
            errors = run_items(items, settings, backend=parts, as_json=as_json, html=html, force=force)
    if errors:
        # A key that is not accepted is bad usage, to be mended before anything else; other failures are the run's.
        raise typer.Exit(2 if "AuthError" in errors else 1)


def _check_interactive(file: str | None, *, interactive: bool, checkpoint: str | None) -> None:
    if not interactive:
        if checkpoint is not None:
            raise InputError("--checkpoint goes with --interactive", field="checkpoint")
        return
    if file == "-":
        raise InputError(
            "--interactive reads your answers from standard input, so the rows cannot come from there; name a file",
            field="interactive",
        )
    from eirene.cli.review.dialogue import check_terminal

    check_terminal()


def _check_sources(file: str | None, question: str | None, answer: str | None) -> None:
    given = {"question": question, "answer": answer}
    missing = [name for name, text in given.items() if text is None]
    if file is None and len(missing) == len(given):
        raise InputError("nothing to refine: give a FILE, - for standard input, or --question and --answer")
    if file is not None and len(missing) < len(given):
        raise InputError("give a FILE, or --question and --answer, not both")
    if file is None and missing:
        raise InputError(f"--{missing[0]} is missing; --question and --answer go together", field=missing[0])


def _items(rows: Dataset, row: str | None) -> Sequence[Item]:
    """What is to be refined, checked whole before anything is spent."""
    items = rows.read()
    return items if row is None else data_flags.with_id(items, row, where=rows.name)


def _check_output(items: Sequence[Item], html: str | None, *, as_json: bool, force: bool) -> None:
    from eirene.data.output import STDOUT, check_output

    if html is None:
        return
    if len(items) > 1:
        raise InputError(f"--html shows one answer, and there are {len(items)} rows; pick one with --id", field="html")
    if as_json and html == STDOUT:
        raise InputError(
            "--json and --html - would both write to standard output; name a file for --html", field="html"
        )
    check_output(html, force=force)


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
    """Shows a record in the forms that were asked for."""
    if html is not None:
        _write_page(record, item, html, force=force)
    if as_json:
        _print_json(record)
    elif html is None:
        _show(record, n, total)


def _write_page(record: Record, item: Item, path: str, *, force: bool) -> None:
    from eirene.data.output import STDOUT, write_text
    from eirene.views.report import render_page

    write_text(path, render_page(record, item=item), force=force)
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
