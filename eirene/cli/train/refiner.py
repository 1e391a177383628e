"""`eirene train refiner`: tunes a refiner on preference pairs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eirene.cli import data_flags
from eirene.cli.flags import with_groups
from eirene.cli.terminal import output, say
from eirene.cli.train import flags
from eirene.cli.train.progress import Training

PromptName = Literal["improve", "generic", "question", "given"]  # written out here, as in `train_options`

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="Preference pairs: HaluQuestQA's rows, or TRL's prompt, chosen, rejected.")
]
Prompt = Annotated[
    PromptName | None,
    typer.Option(
        help="What the pairs answer: a mode's own prompt, the question alone, or the row's prompt (default: improve "
        "for rows with a question, given for rows with a prompt)."
    ),
]
Layout = Annotated[flags.LayoutName | None, typer.Option(help="Default: the model's chat template where there is one.")]
Beta = Annotated[float, typer.Option(help="How strongly DPO holds the model to where it started.")]
HeldOut = Annotated[float, typer.Option(help="Share of the questions that are measured and not trained on.")]
Rate = Annotated[float | None, typer.Option(help="Default: 5e-5 for LoRA (the authors'), 5e-7 in full.")]
Alpha = Annotated[int, typer.Option(help="Scale of the LoRA adapter, over its rank.")]
Targets = Annotated[str, typer.Option(help="Names of the layers that get an adapter, commas between, or all-linear.")]


@with_groups(batch_size=16, lora_rank=256)
def refiner(
    data: Data,
    *,
    prompt: Prompt = None,
    layout: Layout = None,
    beta: Beta = 0.1,
    held_out: HeldOut = 0.1,
    method: flags.Method = "lora",
    lora_alpha: Alpha = 128,
    lora_targets: Targets = "q_proj,k_proj,v_proj",
    epochs: flags.Epochs = 5,
    max_steps: flags.MaxSteps = None,
    learning_rate: Rate = None,
    format: data_flags.Format = "auto",
    common: flags.Common,
) -> None:
    """Tune a language model on preference pairs by DPO (needs the extra `train`); use it as `--backend hf:DIR`."""
    with output(), Training() as training:
        from eirene.data import open_source
        from eirene.refiners.training import RefinerRecipe, train_refiner
        from eirene.refiners.training.run import shown

        targets = None if lora_targets == "all-linear" else tuple(t.strip() for t in lora_targets.split(","))
        recipe = RefinerRecipe(**common.recipe | {
            "prompt": prompt, "layout": layout, "beta": beta, "held_out": held_out, "method": method,
            "lora_alpha": lora_alpha, "lora_targets": targets, "epochs": epochs, "max_steps": max_steps,
            "learning_rate": learning_rate,
        })  # fmt: skip
        trained = train_refiner(open_source(data, format=format), common.out, recipe=recipe, **common.run(training))
        figures = trained.card["figures"]
        flags.say_figures(figures, by_epoch=True)
        held = figures["held_out"]
        if held is not None:
            say(
                f"{held['pairs']} held-out pairs: loss {held['before']['loss']} -> {held['after']['loss']}, preferred "
                f"reply raised more {shown(held['after']['reward_accuracy'])}"
            )
        say(f"use it: eirene refine ITEM --backend hf:{trained.folder}")
