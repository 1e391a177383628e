"""`eirene evaluate detectors`: how well detectors find known errors, compared with each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import data_flags, flags
from eirene.cli.data_flags import FormFlags, SelectionFlags
from eirene.cli.evaluate.critiques import Row, chosen_of, plain, print_table, show_or_json
from eirene.cli.flags import with_groups
from eirene.cli.model_flags import ScoreFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, results_folder, resumable, say, tell_rows, write_results

if TYPE_CHECKING:
    from eirene.agent.experiments.detectors import Evaluated, EvaluateOptions
    from eirene.eval.base import Detector
    from eirene.eval.datasets import LabelledSet
    from eirene.eval.metrics.detectors import EvaluationPlan

Data = Annotated[
    str,
    typer.Argument(metavar="DATA|-", help="Labelled answers: a file or dataset (docs/evaluation/detectors.md)."),
]
Names = Annotated[str, typer.Option(help="Which detectors, comma-separated.")]
Dev = Annotated[str | None, typer.Option(metavar="FILE", help="Labelled answers to choose thresholds on.")]
DevShare = Annotated[float, typer.Option(help="Without --dev: share of DATA's clusters to choose thresholds on.")]
Out = Annotated[str, typer.Option(metavar="DIR", help="The folder for rows, figures and tables.")]


@with_groups()
def detectors(
    data: Data,
    *,
    out: Out,
    detectors: Names = "rouge,alignment",
    dev: Dev = None,
    dev_share: DevShare = 0.3,
    models: ScoreFlags,
    rows: FormFlags,
    reader: data_flags.Reader = None,
    draws: flags.Draws = 2000,
    selection: SelectionFlags,
    concurrency: flags.Concurrency = 32,
    fail_on_error: flags.FailOnError = 0.1,
    retry_failed: flags.RetryFailed = False,
    as_json: flags.FiguresAsJson = False,
    config: flags.Config = None,
) -> None:
    """Measure detectors on labelled answers, with intervals and tests, next to counting baselines.

    Run the same command again to resume; further detectors are added to what is there.
    """
    with output():
        from eirene.agent.experiments.detectors import EvaluateOptions
        from eirene.eval.datasets import read_labelled
        from eirene.eval.metrics.detectors import EvaluationPlan
        from eirene.eval.registry import build_detectors, parse_names

        names, seed, chosen = parse_names(detectors), models.seed, selection.selection()
        resources = models.resources(names, concurrency=concurrency)
        plan = EvaluationPlan(draws=draws, seed=seed, dev_share=dev_share)
        whole = read_labelled(rows.source(data), rows.shape, reader=reader)
        drawn = replace(whole, cases=tuple(chosen_of(whole.cases, chosen)))
        plan.check()
        for_dev = None if dev is None else read_labelled(rows.source(dev), rows.shape)
        folder = results_folder(out)
        built = build_detectors(names, resources)
        work = EvaluateOptions(seed=seed, concurrency=concurrency, retry_failed=retry_failed)
        say(whole.read_as)
        found = _run(drawn, for_dev, built, folder, work)
        named: dict[str, Any] = {"data": _named(data, drawn, whole), "dev": None}
        if dev is not None and for_dev is not None:
            shared = {case.cluster for case in drawn.cases} & {case.cluster for case in for_dev.cases}
            named["dev"] = {**_named(dev, for_dev, for_dev), "shared_clusters": len(shared)}
            if shared:
                say(f"{len(shared)} clusters are in DATA and in --dev: thresholds have seen them")
        summary = _write(found, folder, plan=plan, named=named)
        show_or_json(summary, lambda: _show(summary), as_json=as_json)
        failed = sum(row.failed for row in found.rows.values())
        tell_rows("scored", len(found.rows), before=found.n_from_journal, left_out=found.n_left_out, failed=failed,
                  see=str(folder / "table.md"))  # fmt: skip
        if nothing_scored := _nothing_scored(summary):
            say(f"error: no answer was scored: {nothing_scored}")
    # Of failures --fail-on-error decides, all of them included.
    if (nothing_scored and not failed) or failed > fail_on_error * len(found.rows):
        raise typer.Exit(1)


def _run(
    data: LabelledSet, dev: LabelledSet | None, detectors: tuple[Detector, ...], folder: Path, work: EvaluateOptions
) -> Evaluated:
    import asyncio

    from eirene.agent.experiments.detectors import aevaluate_detectors

    cases = None if dev is None else dev.cases
    total = (len(data.cases) + len(cases or ())) * len(detectors)
    with resumable(folder), watch(total, "scoring") as progress:
        return asyncio.run(
            aevaluate_detectors(data.cases, detectors, out=folder, dev=cases, work=work, on_row=progress.add_scored)
        )


def _named(path: str, drawn: LabelledSet, whole: LabelledSet) -> dict[str, Any]:
    return {
        "name": "standard input" if path == "-" else Path(path).name,
        "form": whole.form,
        "drawn": len(drawn.cases),
        "of": len(whole.cases),
        "left_out": dict(whole.left_out),
    }


def _write(found: Evaluated, folder: Path, *, plan: EvaluationPlan, named: dict[str, Any]) -> dict[str, Any]:
    """The figures and what shows them: made of the rows, and so written anew each time."""
    from eirene.agent.experiments.detectors import summarise
    from eirene.eval.metrics.detectors import curves
    from eirene.views.detectors import evaluation_table

    summary = {**named, **summarise(found, plan)}
    points = json.dumps(curves(found.data), allow_nan=False) + "\n"
    write_results(folder, summary, {"table.md": evaluation_table(summary), "curves.json": points})
    return summary


def _show(summary: dict[str, Any]) -> None:
    """The figures for a reader at a terminal; intervals of all and pairs stand in table.md."""
    from eirene.views.detectors import counted, floor_name, level_title
    from eirene.views.tables import figure

    screen = console()
    screen.print(f"{summary['data']['form']}: {summary['answers']:,} answers; {summary['signature']}")
    for level in summary["levels"]:
        screen.print(f"\n{level_title(level)}: {counted(level)}")

        def cells(found: dict[str, Any], share: str = "") -> list[str]:
            return [figure(found["auc"]), plain(found["ap"]), plain(found["f1"]), share]

        scored: list[Row] = [
            (name, cells(found, f"{100 * found['scored'] / level['n']:.0f} %"))
            for name, found in level["detectors"].items() if found["scored"]
        ]  # fmt: skip
        floors: list[Row] = [(f"  {floor_name(name, found)}", cells(found)) for name, found in level["floors"].items()]
        print_table(("ROC AUC [95 %]", "AP", "F1", "scored"), scored, dim=[("counting alone:", [""] * 4), *floors])
    for line in _unscored(summary):
        screen.print(f"\nUnscored: {line}", soft_wrap=True)


def _unscored(summary: dict[str, Any]) -> Iterator[str]:
    """What has no score, and why, answer by answer: nobody has to look for a detector that is not in a table."""
    for level in summary["levels"]:
        if level["level"] == "answer":
            for name, found in level["detectors"].items():
                for why, count in found["unscored"].items():
                    yield f"{name}, {level['error']}, {count:,} of {level['n']:,} answers: {why}"


def _nothing_scored(summary: dict[str, Any]) -> str:
    """Why, where no detector scored any answer at any level; else nothing."""
    found = [entry for level in summary["levels"] for entry in level["detectors"].items()]
    if any(shown["scored"] for _, shown in found):
        return ""
    return "; ".join(dict.fromkeys(f"{name}: {why}" for name, shown in found for why in shown["unscored"]))
