"""`eirene train classifier`: tunes a classifier of one error type on labelled answers."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eirene.cli.data_flags import DataFlags
from eirene.cli.flags import with_groups
from eirene.cli.terminal import output, say
from eirene.cli.train import flags
from eirene.cli.train.progress import Training
from eirene.core.errors import InputError

ErrorName = Literal["hallucination", "coverage"]  # written out here, as in `train_options`

Data = Annotated[str, typer.Argument(metavar="DATA", help="Labelled answers, of any form that `evaluate` reads.")]
Error = Annotated[ErrorName, typer.Option("--error", help="Which error it is to tell.")]
Labels = Annotated[str, typer.Option(help="Its two answers: for an error, and for none. YES,NO flips the paper's.")]


@with_groups(batch_size=16, checkpoint_steps=500)
def classifier(
    data: Data,
    *,
    error: Error,
    labels: Labels = "NO,YES",
    dev: flags.Dev = None,
    rows: DataFlags,
    tuning: flags.PromptTuning,
    common: flags.Common,
) -> None:
    """Tune a language model to tell an error (needs the extra `local`); use it as `--classifier hf:DIR`."""
    with output(), Training() as training:
        from eirene.eval.detectors.classifier.detector import ClassifierTask, Labels
        from eirene.eval.detectors.classifier.training import ClassifierRecipe, train_classifier

        both = labels.split(",")
        if len(both) != 2:
            raise InputError(f"--labels takes two texts with a comma between, got {labels!r}", field="labels")
        trained = train_classifier(
            rows.open(data), common.out, task=ClassifierTask(error, Labels(both[0].strip(), both[1].strip())),
            recipe=ClassifierRecipe(**common.recipe, **tuning.recipe), dev=None if dev is None else rows.open(dev),
            shape=rows.shape, **common.run(training),
        )  # fmt: skip
        figures = trained.card["figures"]
        flags.say_figures(figures, by_epoch=False)
        if figures.get("dev_auc") is not None:
            say(f"on {figures['dev_scored']} held-out answers: ROC AUC {figures['dev_auc']}")
        say(f"use it: eirene score IN --detectors classifier --classifier hf:{trained.folder} --out OUT")
