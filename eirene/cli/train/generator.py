"""`eirene train generator`: tunes a model to write responses from given arguments."""

from __future__ import annotations

from typing import Annotated

import typer

from eirene.cli.data_flags import DataFlags
from eirene.cli.flags import with_groups
from eirene.cli.terminal import output, say
from eirene.cli.train import flags
from eirene.cli.train.progress import Training

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="Rows with perspectives and error-free answers, or prompt/reply.")
]


@with_groups(batch_size=16, checkpoint_steps=500)
def generator(
    data: Data,
    *,
    dev: flags.Dev = None,
    rows: DataFlags,
    tuning: flags.PromptTuning,
    common: flags.Common,
) -> None:
    """Tune a language model to write NPOV responses (needs the extra `local`); use it as `npov --backend hf:DIR`."""
    with output(), Training() as training:
        from eirene.npov.training import GeneratorRecipe, train_generator

        trained = train_generator(
            rows.open(data), common.out, recipe=GeneratorRecipe(**common.recipe, **tuning.recipe),
            dev=None if dev is None else rows.open(dev), shape=rows.shape, **common.run(training),
        )  # fmt: skip
        flags.say_figures(trained.card["figures"], by_epoch=False)
        say(f"use it: eirene npov --query TEXT --topics FILE --backend hf:{trained.folder}")
