"""`eirene train critic`: fine-tunes a critic of hallucinations on texts with marked errors."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eirene.cli import data_flags
from eirene.cli.flags import with_groups
from eirene.cli.terminal import output, say
from eirene.cli.train import flags
from eirene.cli.train.progress import Training

TaxonomyName = Literal["fava"]

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="Rows with marked errors, as `eirene synth fava` writes them.")
]
Taxonomy = Annotated[TaxonomyName, typer.Option(help="Whose kinds of error it is to tell.")]
Layout = Annotated[flags.LayoutName | None, typer.Option(help="Default: the model's chat template where there is one.")]
Rate = Annotated[float | None, typer.Option(help="Default: 2e-5 in full (the paper's), 2e-4 for LoRA.")]


@with_groups(batch_size=128, micro_batch=1, max_tokens=2048)
def critic(
    data: Data,
    *,
    taxonomy: Taxonomy = "fava",
    method: flags.Method = "full",
    layout: Layout = None,
    dev: flags.Dev = None,
    epochs: flags.Epochs = 2,
    max_steps: flags.MaxSteps = None,
    warmup: flags.Warmup = 0.03,
    learning_rate: Rate = None,
    format: data_flags.Format = "auto",
    common: flags.Common,
) -> None:
    """Fine-tune a language model to mark hallucinations (needs the extra `local`); use it as `--backend hf:DIR`."""
    with output(), Training() as training:
        from eirene.data import open_source
        from eirene.feedback_model.training import CriticRecipe, train_critic

        recipe = CriticRecipe(
            method=method, layout=layout, epochs=epochs, max_steps=max_steps, warmup=warmup,
            learning_rate=learning_rate, **common.recipe,
        )  # fmt: skip
        trained = train_critic(
            open_source(data, format=format), common.out, recipe=recipe,
            dev=None if dev is None else open_source(dev, format=format), **common.run(training),
        )  # fmt: skip
        flags.say_figures(trained.card["figures"], by_epoch=False)
        say(f"use it: eirene refine ITEM --critic hallucination --mode edit --backend hf:{trained.folder}")
