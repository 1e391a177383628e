"""`eirene calibrate`: thresholds of your own, for detectors on labelled answers and for the gate on judged rewrites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.data_flags import FormFlags
from eirene.cli.evaluate.critiques import print_table, show_or_json
from eirene.cli.evaluate.detectors import Data as Labelled
from eirene.cli.flags import Group, Without, with_groups
from eirene.cli.model_flags import ScoreFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, resumable, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.experiments.detectors import CalibrationRun
    from eirene.gate.calibration import GateCalibration

app = typer.Typer(cls=Group, help="Fit thresholds on your own labels.", no_args_is_help=True)
FILE = "calibration.json"

Out = Annotated[str, typer.Option(metavar="DIR", help=f"The folder for rows and {FILE}.")]
Names = Annotated[str, typer.Option("--detectors", help="Which detectors, comma-separated.")]
Folds = Annotated[int, typer.Option(help="Folds of the cross-validation; answers to one question stay together.")]


Judged = Annotated[
    str,
    typer.Argument(metavar="JUDGED|-", help="Rewrites with `question`, `context`, `before`, `after`, `better` (bool)."),
]
File = Annotated[str, typer.Option(metavar="FILE", help="The file for --calibration.")]
RISKS = (0.02, 0.05, 0.1, 0.2)


@app.command()
def gate(data: Judged, *, out: File, force: flags.Force = False, as_json: flags.FiguresAsJson = False) -> None:
    """Find the gate's threshold on rewrites that you judged, for --calibration FILE: passages only."""
    with output():
        from eirene.core.usage import Usage
        from eirene.core.validation import validated
        from eirene.data.output import check_output, write_text
        from eirene.data.source import read_source
        from eirene.gate.calibration import JudgedRewrite
        from eirene.gate.comparison import calibrate_gate
        from eirene.models.verifier.runtime import shipped_verifier

        check_output(out, force=force)
        source = read_source(data)
        try:
            rows = [(row.where, validated(JudgedRewrite, row.data, where=row.where)) for row in source.rows()]
        except InputError as error:
            wanted = "a judged rewrite has 'question', 'context', 'before', 'after', and 'better': true or false"
            raise InputError(f"{error}; {wanted}", field=error.field) from None
        with watch(len(rows), "reading") as progress:
            count = lambda row: progress.add("better" if row.better else "worse", Usage())  # noqa: E731
            found = calibrate_gate(rows, shipped_verifier(), name=Path(source.name).name, on_row=count)
        write_text(out, found.model_dump_json(indent=1) + "\n", force=True)
        figures = {str(risk): found.threshold_for(risk) for risk in RISKS}
        show_or_json(figures, lambda: _show_gate(found), as_json=as_json)


def _show_gate(found: GateCalibration) -> None:
    from eirene.core.scores import probability

    console().print(f"{found.name}: what is shown of them at each risk (--gate-risk)")
    rows = []
    for risk in RISKS:
        at = found.threshold_for(risk)
        parts = (found.better, found.worse)
        shown = ["" if at is None else str(sum(probability(z) >= at for z in part)) for part in parts]
        rows.append((f"{risk:g}", ("none keeps it" if at is None else f"{at:.3f}", *shown)))
    print_table(("probability from", "better ones shown", "worse ones shown"), rows)
    kept = next((risk for risk in RISKS if found.threshold_for(risk) is not None), None)
    if found.threshold_for(RISKS[1]) is None:
        instead = "judge more" if kept is None else f"judge more, or give --gate-risk {kept:g} with this file"
        say(
            f"with the default --gate-risk {RISKS[1]:g} this file accepts no rewrite: that takes at least 20 accepted "
            f"ones without a worse one; {instead}"
        )


@app.command()
@with_groups()
def detectors(
    data: Labelled,
    *,
    out: Out,
    names: Names = "rouge,alignment",
    folds: Folds = 5,
    models: Annotated[ScoreFlags, Without("calibration")],
    rows: FormFlags,
    draws: flags.Draws = 2000,
    concurrency: flags.Concurrency = 32,
    retry_failed: flags.RetryFailed = False,
    force: flags.Force = False,
    as_json: flags.FiguresAsJson = False,
    config: flags.Config = None,
) -> None:
    """Fit weights and a threshold for detectors on your own labels, for --detectors calibrated --calibration FILE.

    Run the same command again to resume; rows of `eirene evaluate detectors` in the same folder are used.
    """
    with output():
        import asyncio

        from eirene.agent.experiments.detectors import EvaluateOptions, acalibrate
        from eirene.core.extras import require
        from eirene.data.output import check_output, make_folder, write_text
        from eirene.eval.calibration_fit import CalibrationPlan, check_calibratable
        from eirene.eval.datasets import read_labelled
        from eirene.eval.registry import build_detectors, parse_names

        require("sklearn")
        chosen = parse_names(names)
        check_calibratable(chosen)
        plan = CalibrationPlan(folds, models.seed, draws)
        plan.check()
        resources = models.resources(chosen, concurrency=concurrency)
        labelled = read_labelled(rows.source(data), rows.shape)
        folder = make_folder(out)
        check_output(str(folder / FILE), force=force)
        say(labelled.read_as)
        built = build_detectors(chosen, resources)
        work = EvaluateOptions(seed=models.seed, concurrency=concurrency, retry_failed=retry_failed)
        with resumable(folder), watch(len(labelled.cases) * len(built), "scoring") as progress:
            found = asyncio.run(
                acalibrate(labelled.cases, built, out=folder, plan=plan, work=work, on_row=progress.add_scored)
            )
        made = found.calibration
        write_text(str(folder / FILE), made.to_text(), force=True)
        show_or_json(made.model_dump(mode="json"), lambda: _show(made.figures), as_json=as_json)
        _tell(found, folder)


def _show(figures: dict[str, Any]) -> None:
    from eirene.views.detectors import fitted_on
    from eirene.views.tables import figure

    screen = console()
    screen.print(f"Loss: {figures['loss']}, by fold; calling every answer faulty, or none, has 0.5.")
    for error, found in figures["errors"].items():
        screen.print(f"\n{error.capitalize()}: {fitted_on(found)}")
        screen.print(f"Loss {figure(found['loss'])}; {figure(found['wrong'])} of all called wrongly", style="bold")


def _tell(found: CalibrationRun, folder: Path) -> None:
    figures = found.calibration.figures
    for error, why in figures["not_fitted"].items():
        say(f"not fitted: {error}: {why}")
    for error, part in figures["errors"].items():
        for name, why in part["left_out"].items():
            say(f"no part in {error}: {name}: {why}")
    if found.n_failed:
        say(f"{found.n_failed} answers are left out: a detector failed on them (--retry-failed does them again)")
    say(f"calibration {found.calibration.digest} written to {folder / FILE}")
