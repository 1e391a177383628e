"""`eirene compare`: which mode helps, by how much, at what cost, and how significant that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.data_flags import IN_HELP, CorpusFlags, DataFlags, SkipBad, tell_skipped
from eirene.cli.flags import LoopFlags, TraceFlags, Without, listed, listed_seeds, with_groups
from eirene.cli.model_flags import ModelFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, results_folder, resumable, say, tell_rows, write_results

if TYPE_CHECKING:
    from eirene.agent.experiments.compare import ComparePlan, Gathered
    from eirene.agent.state import Parts
    from eirene.core.records import Item
    from eirene.eval.detectors.judge import ErrorJudge

In = Annotated[str, typer.Argument(metavar="IN", help=IN_HELP)]
Out = Annotated[str, typer.Option(metavar="DIR", help="The folder for rows, figures and report.")]
Modes = Annotated[str, typer.Option(help="Which modes, comma-separated: improve, generic, fine-grained, human, edit.")]
Seeds = Annotated[str, typer.Option(help="Which seeds, comma-separated; a row for each.")]
Blind = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="A folder for a page on which people mark answers without knowing their modes."),
]
BlindFolder = Annotated[
    str, typer.Argument(metavar="DIR", help="The folder of `compare --blind`, with the readers' marks*.jsonl in it.")
]


@with_groups("backend", "base-url", "out", "modes", "seeds", "judge", "map", "limit", "concurrency", "cache")
def compare(
    file: In,
    *,
    out: Out,
    modes: Modes = "improve,generic,fine-grained",
    seeds: Seeds = "0",
    blind: Blind = None,
    data: DataFlags,
    skip_bad: SkipBad = False,
    corpus: CorpusFlags,
    models: Annotated[ModelFlags, Without("word_maps")],
    loop: Annotated[LoopFlags, Without("mode", "seed")],
    tracing: TraceFlags,
    concurrency: flags.Concurrency = 32,
    fail_on_error: flags.FailOnError = 0.1,
    retry_failed: flags.RetryFailed = False,
    config: flags.Config = None,
) -> None:
    """Run feedback modes on the same answers and compare them. Run the same command again to resume."""
    with output():
        from eirene.agent.experiments.compare import ComparePlan
        from eirene.data import check_outside
        from eirene.data.output import make_folder
        from eirene.views.comparison.tables import render_comparison

        settings = loop.settings()
        plan = ComparePlan(listed(modes), listed_seeds(seeds), settings, concurrency, retry_failed)  # type: ignore[arg-type]  # `check` tells
        if Path(out).is_dir():
            check_outside(out, file)
        pages = None if blind is None else make_folder(blind)
        rows = data.open(file, each=corpus.filler(), skip_bad=skip_bad)
        with watch(0):
            items = rows.read()
        plan.check(items)
        cache = models.open_cache()
        parts = models.parts(concurrency=concurrency, cache=cache, judges_elsewhere=True)
        folder = results_folder(out)
        asked = models.error_judge(concurrency=concurrency, cache=cache)
        with tracing.active():
            gathered = _gather(items, plan, parts, folder, asked)
        summary = _write(gathered, items, folder, title=f"Comparison on {Path(file).name}")
        failed = sum(row.record.status == "failed" for row in gathered.rows)
        console().print(render_comparison(summary))
        tell_rows("compared", len(gathered.rows), before=gathered.n_from_journal, left_out=gathered.n_left_out,
                  failed=failed, see=f"{folder / 'report.html'} and {folder / 'table.md'}")  # fmt: skip
        tell_skipped(rows, folder / "skipped.txt")
        if pages is not None:
            _write_blind(gathered, items, pages)
    if failed > fail_on_error * len(gathered.rows):
        raise typer.Exit(1)


def _gather(items: Sequence[Item], plan: ComparePlan, parts: Parts, folder: Path, judge: ErrorJudge | None) -> Gathered:
    import asyncio

    from eirene.agent.experiments.compare import acompare
    from eirene.core.process import settings_for_rows

    total = len(items) * len(plan.modes) * len(plan.seeds)
    with resumable(folder), watch(total, "comparing") as progress, settings_for_rows():
        work = acompare(
            items, plan=plan, parts=parts, out=folder, judge=judge,
            on_row=lambda row: progress.add(row.record.status, row.record.usage),
            on_judged=lambda text: progress.add("judged", text.usage, is_row=False, doing="judging"),
        )  # fmt: skip
        return asyncio.run(work)


def _write(gathered: Gathered, items: Sequence[Item], folder: Path, *, title: str) -> dict[str, Any]:
    """The figures and what shows them: made of the rows, and so written anew each time. Returns the summary."""
    from eirene.agent.experiments.compare_summary import errors_by_row, summarise
    from eirene.views.comparison.page import ItemMeasure, render_comparison_page
    from eirene.views.comparison.tables import comparison_table

    summary = summarise(gathered.rows, gathered.judgements, judge=gathered.judge)
    measures = [ItemMeasure(*found) for found in errors_by_row(gathered.rows, gathered.judgements)]
    page = render_comparison_page(
        [row.record for row in gathered.rows], measures, summary, title=title, items={item.id: item for item in items}
    )
    write_results(folder, summary, {"table.md": comparison_table(summary), "report.html": page})
    return summary


def _write_blind(gathered: Gathered, items: Sequence[Item], folder: Path) -> None:
    """A page and its key. Raises `InputError` rather than write over what is no earlier page with its key."""
    from eirene.agent.experiments.blind import KEY, PAGE, blind_pairs, read_key
    from eirene.data.output import write_text
    from eirene.views.comparison.page import render_blind_page

    pairs = blind_pairs(gathered.rows, items)
    if not pairs:
        say("the answers are the same in every mode: there is nothing for people to compare")
        return
    if any((folder / name).exists() for name in (KEY, PAGE)):
        read_key(folder)
    page = render_blind_page([(p.pair, p.item, p.answers[0].text, p.answers[1].text) for p in pairs])
    write_text(str(folder / PAGE), page, force=True)
    lines = "".join(f"{pair.model_dump_json(exclude_none=True)}\n" for pair in pairs)
    write_text(str(folder / KEY), lines, force=True)
    say(f"{len(pairs)} pairs to be marked in {folder / PAGE}: give readers this page alone, and keep {KEY} from them")


def blind(folder: BlindFolder) -> None:
    """Count what people marked on the page of `compare --blind`, and make it into rows for `calibrate`."""
    with output():
        from eirene.agent.experiments import blind as pages
        from eirene.data.output import write_text

        key = pages.read_key(Path(folder))
        marks = pages.read_marks(Path(folder), key)
        figures = pages.blind_figures(key, marks)
        judged = [row.model_dump_json() for row in pages.judged_rewrites(key, marks)]
        labelled = [json.dumps(row, ensure_ascii=False) for row in pages.labelled_answers(key, marks)]
        for name, lines in (("marks.json", [json.dumps(figures, indent=2)]), ("judged.jsonl", judged),
                            ("labelled.jsonl", labelled)):  # fmt: skip
            write_text(str(Path(folder) / name), "".join(f"{line}\n" for line in lines), force=True)
        _show_marks(figures)
        say(f"for calibrate: {len(judged)} rows in judged.jsonl (gate), {len(labelled)} in labelled.jsonl (detectors)")


def _show_marks(figures: dict[str, Any]) -> None:
    """A table for each two modes, in the form of EIR's table 5, and how far readers agree."""
    from eirene.cli.evaluate.critiques import print_table
    from eirene.views.facts import visible
    from eirene.views.tables import figure

    def cells(found: dict[str, Any]) -> list[str]:
        return [figure(found[name], 2) if name in found else "" for name in ("comprehensive", "preferred", "faulty")]

    n, unmarked, columns = figures["pairs"], figures["unmarked"], ("comprehensive", "preferred", "faulty")
    console().print(visible(f"Readers: {', '.join(figures['readers'])}. Marked are {n - unmarked} of {n} pairs."))
    for found in figures["comparisons"]:
        rows = [(mode, cells(of)) for mode, of in found["per_mode"].items()]
        rows.append(("tie", cells({"preferred": found["tie"]})))
        if len(figures["readers"]) > 1:
            agreed = found["agreement"]
            rows += [(of, cells({name: agreed[name][of] for name in columns})) for of in ("alpha", "kappa")]
        title = f"\n{' and '.join(found['modes'])}: {found['pairs']} pairs, {found['marks']} marks"
        print_table(columns, rows, title=title)
