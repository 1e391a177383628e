"""`eirene evaluate critic`: how well fine-grained findings agree with human annotations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.data_flags import SelectionFlags
from eirene.cli.evaluate.rows import RowFlags
from eirene.cli.flags import LoopFlags, Only, with_groups
from eirene.cli.model_flags import BackendFlags
from eirene.cli.terminal import console, output, say

if TYPE_CHECKING:
    from eirene.eval.datasets.annotated import AnnotatedSet

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA|-", help="Annotated answers: FavaBench, RAGTruth, QA-Feedback, HaluQuestQA, own rows."
    ),
]
Predictions = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Findings made before, by id: tagged texts, findings, critiques or records."),
]
Gain = Annotated[str, typer.Option(help="Detectors that measure the edits' gain, comma-separated (default: none).")]


@with_groups()
def critic(
    data: Data,
    *,
    predictions: Predictions = None,
    models: BackendFlags,
    loop: Annotated[LoopFlags, Only("critic", "samples", "stop", "seed", "min_consistency")],
    gain: Gain = "",
    rows: RowFlags,
    selection: SelectionFlags,
    draws: flags.Draws = 2000,
    as_json: flags.FiguresAsJson = False,
    config: flags.Config = None,
) -> None:
    """Measure findings by kind, sentence and character against annotations, with intervals over questions."""
    import asyncio

    with output():
        from eirene.agent.experiments.critic import ameasure_gain, arun_critic, found_by
        from eirene.eval.datasets.annotated import read_annotated
        from eirene.eval.datasets.predictions import read_predictions
        from eirene.eval.metrics.bootstrap import Resamples
        from eirene.eval.metrics.findings import findings_report
        from eirene.eval.registry import build_detectors, parse_names
        from eirene.eval.resources import Resources

        Resamples(draws=draws)  # says what is wrong before anything is spent
        detectors = build_detectors(parse_names(gain), Resources(seed=loop.seed)) if gain else ()
        annotated = read_annotated(data)
        places = selection.selection().places(len(annotated.cases))
        cases = annotated.cases if places is None else [annotated.cases[place] for place in places]
        if predictions is not None:
            if rows.out is not None:
                say("--out keeps what a critic finds; with --predictions there is nothing to keep")
            made = read_predictions(predictions, cases)
            found = found_by(cases, made)
        else:
            settings = loop.settings()
            found = found_by(cases, rows.make(arun_critic, cases, models.parts(), settings=settings))
        if detectors:
            found = asyncio.run(ameasure_gain(found, detectors))
        report = findings_report(found, annotated.taxonomy, draws=draws, seed=loop.seed)
        report |= {"left_out": dict(annotated.left_out), "by": predictions or f"{models.backend}, critic {loop.critic}"}
        if as_json:
            typer.echo(json.dumps(report, ensure_ascii=False, allow_nan=False))
        else:
            _show(report, annotated)
    if not report["scored"]:
        raise typer.Exit(1)


def _show(report: dict[str, Any], annotated: AnnotatedSet) -> None:
    from rich.table import Table

    from eirene.views.facts import visible

    screen = console()
    screen.print(
        f"{report['set']}: {report['answers']} answers, {report['scored']} with findings or none, by {report['by']}; "
        f"{report.get('clusters', 0)} clusters, {report['draws']} draws, seed {report['seed']}",
        markup=False,
    )
    for why, n in [*report["unscored"].items(), *report["left_out"].items()]:
        screen.print(f"  {n} times: {visible(why)}", markup=False)
    for level in ("sentences", "characters"):
        if level not in report:
            continue
        table = Table(title=f"By {level}", title_justify="left", box=None)
        for name in ("", "marked", "found", "P", "R", "F1 [95 %]", "as printed"):
            table.add_column(name, justify="right" if name else "left")
        for name in (*annotated.taxonomy.kinds, "any"):
            row = report[level][name]
            cells = [_plain(row["precision"]), _plain(row["recall"]), _cell(row["f1"])]
            printed = row["as_printed"]["f1"]
            last = "-" if printed is None else f"{printed:.3f}"
            shown = "any (binary)" if name == "any" else name
            table.add_row(shown, f"{row['marked']:,}", f"{row['predicted']:,}", *cells, last)
        mean = report[level]["mean_f1"]
        table.add_row(f"mean of {mean['kinds']}", "", "", "", "", _cell(mean), "")
        screen.print(table)
    for name, row in report.get("gain", {}).items():
        screen.print(
            f"gain by {name}: {_cell(row)}; better {row['better']}, worse {row['worse']}, "
            f"not measured {row['without']}", markup=False,
        )  # fmt: skip


def _plain(value: dict[str, Any]) -> str:
    return f"{value['value']:.3f}" if "value" in value else "-"


def _cell(value: dict[str, Any]) -> str:
    if "value" not in value:
        return "-"
    interval = f" [{value['low']:.3f}, {value['high']:.3f}]" if "low" in value else ""
    return f"{value['value']:.3f}{interval}"
