"""`python -m recipes.verifier`: trains the head that reads a premise and a claim on the encoder's token vectors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli.app import run_app
from eirene.cli.flags import listed_seeds
from eirene.cli.terminal import say
from eirene.core.errors import InputError
from recipes.stoppable import Stoppable

if TYPE_CHECKING:
    from recipes.verifier.run import TrainedVerifier, VerifierStep

Data = Annotated[str, typer.Option(metavar="DIR", help="The folder with train.jsonl and, to measure, dev.jsonl.")]
Out = Annotated[
    str,
    typer.Option(metavar="DIR", help="Where the files go. Finished seeds found there are not trained again."),
]
Seeds = Annotated[str, typer.Option(help="One run for each, comma-separated. The first one's head is the result.")]
Cache = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Where the encoder's vectors go, 80 kB a row (default: into OUT)."),
]
MaxSteps = Annotated[int, typer.Option(help="Stop each run after so many steps (0: as the epochs say).")]
Workers = Annotated[int, typer.Option(help="Processes that make the vectors.")]
Epochs = Annotated[int | None, typer.Option(help="Passes over the data (default: the recipe's).")]


def verifier(
    *,
    data: Data,
    out: Out,
    seeds: Seeds = "0",
    cache: Cache = None,
    max_steps: MaxSteps = 0,
    workers: Workers = 2,
    epochs: Epochs = None,
) -> None:
    """Train the verifier's head on pairs of premise and claim (needs the extra `train`; half an hour a seed)."""
    with Stoppable() as training:
        numbers = listed_seeds(seeds)
        if max_steps < 0:
            raise InputError(f"max-steps must be at least 0, got {max_steps}", field="max-steps")
        from recipes.verifier.run import TRAIN_FILE, train_verifier

        if not (Path(data) / TRAIN_FILE).is_file():
            raise InputError(f"there is no file {TRAIN_FILE} in this folder", field="data", where=data)
        from eirene.core.extras import require

        require("torch", "onnx", extra="train")
        from eirene.data.output import make_folder
        from recipes.verifier.fit import VerifierRecipe
        from recipes.verifier.measures import measure_pairs

        recipe = VerifierRecipe()
        trained = train_verifier(
            Path(data), make_folder(out), seeds=numbers,
            recipe=recipe if epochs is None else replace(recipe, epochs=epochs),
            cache_dir=None if cache is None else Path(cache), max_steps=max_steps or None, workers=workers,
            progress=lambda step: _show(training, step), measure=measure_pairs,
        )  # fmt: skip
        _tell(trained)


def _show(training: Stoppable, step: VerifierStep) -> None:
    if step.seed is None:
        training.show(f"encoding, part {step.done} of {step.total}", step.done, step.total, is_step=False)
    else:
        text = f"seed {step.seed}, step {step.done} of {step.total}, loss {step.loss:.3f}"
        training.show(text, step.done, step.total, is_step=False)


def _tell(trained: TrainedVerifier) -> None:
    for run in trained.card["runs"]:
        loss = f"loss {run['first_loss']:.3f} -> {run['last_loss']:.3f}"
        typer.echo(f"seed {run['seed']}: {run['steps']} steps, {run['seconds']:.0f} s, {loss}, {_auc(run['figures'])}")
    figures = trained.card["runs"][0]["figures"]
    for kind, twin in figures.get("twins", {}).items():
        typer.echo(f"  {kind}: {100 * twin['accuracy']:.1f} % of {twin['n']} pairs told apart")
    say(f"written to {trained.folder}")


def _auc(figures: dict[str, Any]) -> str:
    auc = figures.get("auc")
    return "not measured (no dev file)" if not figures else "AUC unknown" if auc is None else f"AUC {auc:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the training on `arguments` (default: those of the process) and returns the exit code."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(verifier)
    return run_app(app, arguments, name="python -m recipes.verifier")


if __name__ == "__main__":
    sys.exit(main())
