"""`python -m recipes.encoder`: trains the encoder of the embedded default."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eirene.cli.app import run_app
from eirene.cli.flags import listed_seeds
from eirene.cli.terminal import say
from eirene.core.errors import InputError
from recipes.stoppable import Stoppable

Data = Annotated[
    str, typer.Option(metavar="DIR", help="The folder with topics_train.jsonl and, to measure, the dev files.")
]
Out = Annotated[
    str, typer.Option(metavar="DIR", help="Where the files go. Finished seeds found there are not trained again.")
]
Seeds = Annotated[str, typer.Option(help="One run for each, comma-separated; the shipped weights are their mean.")]
Base = Annotated[
    str | None, typer.Option(metavar="DIR", help="The base model's folder, instead of the extra's package.")
]
MaxSteps = Annotated[int, typer.Option(help="Stop each run after so many steps (0: as the recipe says).")]


def encoder(
    *,
    data: Data,
    out: Out,
    seeds: Seeds = "0,1,2",
    base: Base = None,
    max_steps: MaxSteps = 0,
) -> None:
    """Train the sentence encoder of the embedded default (needs the extra `train`; some minutes a seed)."""
    with Stoppable() as training:
        numbers = listed_seeds(seeds)
        if max_steps < 0:
            raise InputError(f"max-steps must be at least 0, got {max_steps}", field="max-steps")
        from eirene.data.output import make_folder
        from recipes.encoder.run import TRAIN_FILE, train_encoder

        if not (Path(data) / TRAIN_FILE).is_file():
            raise InputError(f"there is no file {TRAIN_FILE} in this folder", field="data", where=data)
        folder = make_folder(out)

        def show(seed: int, step: int, of: int, loss: float) -> None:
            training.show(f"seed {seed}, step {step} of {of}, loss {loss:.3f}", step, of, is_step=False)

        trained = train_encoder(
            Path(data), folder, seeds=numbers, base=None if base is None else Path(base), max_steps=max_steps or None,
            progress=show,
        )  # fmt: skip
        for run in trained.card["runs"]:
            typer.echo(f"seed {run['seed']}: {run['steps']} steps, {run['seconds']:.0f} s, {_figures(run)}")
        typer.echo(f"mean of {len(numbers)}: {_figures(trained.card['mean'])}")
        say(f"written to {trained.folder}")


def _figures(card: dict[str, Any]) -> str:
    figures = [f"{name} {value:.3f}" for name, value in card["figures"].items()]
    return ", ".join(figures) or "not measured (no dev file)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the training on `arguments` (default: those of the process) and returns the exit code."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(encoder)
    return run_app(app, arguments, name="python -m recipes.encoder")


if __name__ == "__main__":
    sys.exit(main())
