"""`eirene check`: a quality gate for answers in CI: measures them, compares with a baseline, fails on conditions."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.data_flags import IN_HELP, CorpusFlags, DataFlags, TextFlags
from eirene.cli.flags import with_groups
from eirene.cli.model_flags import ScoreFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.check.rows import RowMeasure
    from eirene.core.quality import Condition, QualityReport, QualityRow
    from eirene.data import Dataset

FAILED = 3
"""The exit code where a condition holds."""
_REPORT = "The report"

Data = Annotated[str | None, typer.Argument(metavar="DATA|-", help=f"The answers. {IN_HELP}")]
FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help="Fail if this holds, such as 'worse > 2%'; repeatable (docs/guides/ci.md).",
    ),
]
BaselineFile = Annotated[
    str | None, typer.Option("--baseline", metavar="FILE", help="Compare with the rows in this file.")
]
WriteBaseline = Annotated[str | None, typer.Option(metavar="FILE", help="Write a baseline, unless a condition holds.")]
Names = Annotated[
    str | None,
    typer.Option(help="Detectors to compare by, comma-separated (default: alignment, or verifier for passages)."),
]
Tolerance = Annotated[float, typer.Option(help="How much worse an error score in [0, 1] may get.")]
Junit = Annotated[str | None, typer.Option(metavar="FILE", help="Write JUnit XML.", rich_help_panel=_REPORT)]
Summary = Annotated[str | None, typer.Option(metavar="FILE", help="Write a Markdown summary.", rich_help_panel=_REPORT)]


@with_groups(
    "fail-if", "baseline", "write-baseline", "question", "answer", "context", "map", "junit", "summary", "json"
)  # fmt: skip
def check(
    data: Data = None,
    *,
    texts: TextFlags,
    fail_if: FailIf = None,
    baseline: BaselineFile = None,
    write_baseline: WriteBaseline = None,
    tolerance: Tolerance = 0.2,
    detectors: Names = None,
    junit: Junit = None,
    summary: Summary = None,
    as_json: flags.FiguresAsJson = False,
    models: ScoreFlags,
    rows: DataFlags,
    corpus: CorpusFlags,
    concurrency: flags.Concurrency = 32,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Check answers in CI: exit code 3 if a condition holds, such as more than 2% of them worse than the baseline's."""
    from eirene.agent.check.baseline import baseline_text, read_baseline
    from eirene.agent.check.report import make_report, parse_conditions
    from eirene.agent.settings import Settings
    from eirene.data.output import write_text
    from eirene.views.quality import judge_line

    with output():
        check_outputs(data, [write_baseline, junit, summary], force=force)
        if not fail_if and write_baseline is None:
            raise InputError("nothing can fail: give --fail-if CONDITION, or --write-baseline FILE", field="fail-if")
        if data is None and (baseline or write_baseline):
            said = "a baseline finds rows by their 'id', which an answer of --answer has not; give a FILE of rows"
            raise InputError(said, field="baseline" if baseline else "write-baseline")
        Settings.of(tolerance=tolerance)
        measure = _measure(detectors, models, concurrency)
        has_baseline = baseline is not None
        wanted = parse_conditions(fail_if or (), measure.detectors, has_baseline=has_baseline)
        before = None if baseline is None else read_baseline(baseline, measure.versions)
        items = texts.rows(data, rows, corpus)
        found = _rows(items, measure, concurrency, needs_ids=has_baseline or write_baseline is not None)
        report = make_report(
            found, wanted, detectors=measure.detectors, versions=measure.versions, baseline=before, tolerance=tolerance
        )
        if measure.asked:
            say(judge_line(measure.asked, measure.unjudged))
        _write_report(report, junit=junit, summary=summary, force=force)
        _show(report, as_json=as_json)
        if write_baseline is not None and report.state == "passed":
            write_text(write_baseline, baseline_text(found, measure.versions), force=force)
            say(f"wrote a baseline of {len(found)} rows to {write_baseline}")
        elif write_baseline is not None:
            say(f"no baseline written to {write_baseline}: a condition holds, or could not be judged")
    _exit(report, wanted)


def check_outputs(data: str | None, paths: list[str | None], *, force: bool) -> None:
    """Raises `InputError` for files that cannot be written, would be where the rows are, or are named twice."""
    from eirene.data import check_outside
    from eirene.data.output import check_output

    named = [path for path in paths if path is not None]
    for path in named:
        check_output(path, force=force)
        if data is not None:
            check_outside(path, data)
    twice = next((path for path in named if named.count(path) > 1), None)
    if twice is not None:
        raise InputError("is to be written twice; name a file for each", where=twice)


def _measure(names: str | None, models: ScoreFlags, concurrency: int) -> RowMeasure:
    from eirene.agent.check.rows import RowMeasure
    from eirene.eval.registry import build_detectors, parse_names

    if names is None:
        return RowMeasure(judge=models.cascade(concurrency))
    chosen = parse_names(names)
    return RowMeasure(build_detectors(chosen, models.resources(chosen, concurrency=concurrency)))


def _rows(items: Dataset, measure: RowMeasure, concurrency: int, *, needs_ids: bool) -> list[QualityRow]:
    import asyncio

    from eirene.agent.check.rows import check_ids, measure_rows

    with watch(0):
        total = items.check()  # every row is checked before the first is measured
    if needs_ids:
        check_ids(items.items())
    with watch(total) as progress:
        tell = partial(progress.advance, doing="measuring")
        return asyncio.run(measure_rows(items.items(), measure, concurrency=concurrency, on_row=tell))


def _write_report(report: QualityReport, *, junit: str | None, summary: str | None, force: bool) -> None:
    from eirene.data.output import write_text
    from eirene.views import quality

    if junit is not None:
        write_text(junit, quality.junit(report), force=force)
    if summary is not None:
        write_text(summary, quality.markdown(report), force=force)


def _show(report: QualityReport, *, as_json: bool) -> None:
    import json

    if as_json:
        typer.echo(json.dumps(report.to_json(), ensure_ascii=False, allow_nan=False))
        return
    from eirene.views.quality import render

    console().print(render(report), soft_wrap=not sys.stdout.isatty())  # a log's lines are cut nowhere


def _exit(report: QualityReport, wanted: list[Condition]) -> None:
    for outcome in report.outcomes:
        if outcome.state == "unmeasured":
            raise InputError(f"--fail-if {str(outcome.condition)!r} cannot be judged: {outcome.why}", field="fail-if")
    if report.state == "holds":
        raise typer.Exit(FAILED)
