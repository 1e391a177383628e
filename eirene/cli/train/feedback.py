"""`eirene train feedback`: fine-tunes a feedback model on annotated answers."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eirene.cli import data_flags
from eirene.cli.flags import with_groups
from eirene.cli.terminal import output, say
from eirene.cli.train import flags
from eirene.cli.train.progress import Training

SplitName = Literal["all", "train", "test"]  # written out here, as in `train_options`

Data = Annotated[str, typer.Argument(metavar="DATA", help="HaluQuestQA's completeness file, published or row form.")]
Layout = Annotated[flags.LayoutName, typer.Option(help="HaluQuestQA's headed text, or the base model's chat template.")]
Split = Annotated[SplitName, typer.Option(help="A part of the published file.")]
Rate = Annotated[float | None, typer.Option(help="Default: 2e-5 in full (the paper's), 2e-4 for LoRA.")]


@with_groups()
def feedback(
    data: Data,
    *,
    method: flags.Method = "full",
    layout: Layout = "instruct",
    split: Split = "all",
    dev: flags.Dev = None,
    epochs: flags.Epochs = 5,
    max_steps: flags.MaxSteps = None,
    learning_rate: Rate = None,
    format: data_flags.Format = "auto",
    common: flags.Common,
) -> None:
    """Fine-tune a language model to critique answers (needs the extra `local`); use it as `--backend hf:DIR`."""
    with output(), Training() as training:
        from eirene.data import open_source
        from eirene.feedback_model.training import FeedbackRecipe, train_feedback

        recipe = FeedbackRecipe(
            method=method, layout=layout, epochs=epochs, max_steps=max_steps, learning_rate=learning_rate,
            **common.recipe,
        )  # fmt: skip
        trained = train_feedback(
            open_source(data, format=format), common.out, recipe=recipe, split=split,
            dev=None if dev is None else open_source(dev, format=format), **common.run(training),
        )  # fmt: skip
        flags.say_figures(trained.card["figures"], by_epoch=True)
        say(f"use it: eirene refine ITEM --backend hf:{trained.folder}")
