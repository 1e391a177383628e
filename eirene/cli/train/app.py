"""`eirene train`: a command for each model: classifier, critic, feedback, generator, refiner."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eirene.cli import data_flags
from eirene.cli.data_flags import FormFlags
from eirene.cli.flags import with_groups
from eirene.cli.train import training as flags
from eirene.cli.train.training import EpochFlags, PromptTuningFlags, TrainFlags, Training
from eirene.core.errors import InputError

app = typer.Typer(help="Train the models that Eirene uses.", no_args_is_help=True)

# Written out here because the library's own names need more than `--help` should wait for.
ErrorName = Literal["hallucination", "coverage"]
TaxonomyName = Literal["fava"]
SplitName = Literal["all", "train", "test"]
PromptName = Literal["improve", "generic", "question", "given"]

LabelledData = Annotated[
    str, typer.Argument(metavar="DATA", help="Labelled answers, of any form that `evaluate` reads.")
]
Error = Annotated[ErrorName, typer.Option("--error", help="The error to detect.")]
Labels = Annotated[str, typer.Option(help="The two label texts, that of an error first. YES,NO flips the paper's.")]


@app.command("classifier")
@with_groups(batch_size=16, checkpoint_steps=500)
def classifier(
    data: LabelledData,
    *,
    error: Error,
    labels: Labels = "NO,YES",
    dev: flags.Dev = None,
    rows: FormFlags,
    tuning: PromptTuningFlags,
    common: TrainFlags,
) -> None:
    """Tune a language model to tell an error (needs the extra `local`); use it as `--classifier hf:DIR`."""
    with Training(common) as training:
        from eirene.eval.detectors.classifier.detector import ClassifierTask, Labels
        from eirene.eval.detectors.classifier.training import ClassifierRecipe, train_classifier

        both = labels.split(",")
        if len(both) != 2:
            raise InputError(f"--labels takes two texts with a comma between, got {labels!r}", field="labels")
        trained = train_classifier(
            rows.source(data), common.out, task=ClassifierTask(error, Labels(both[0].strip(), both[1].strip())),
            recipe=ClassifierRecipe(**common.recipe, **vars(tuning)), dev=None if dev is None else rows.source(dev),
            shape=rows.shape, **training.options(),
        )  # fmt: skip
        figures = trained.card["figures"]
        auc = figures.get("dev_auc")
        measured = "" if auc is None else f"on {figures['dev_scored']} held-out answers: ROC AUC {auc}"
        training.tell(trained, "score IN --detectors classifier --classifier {} --out OUT", more=measured)


MarkedData = Annotated[
    str, typer.Argument(metavar="DATA", help="Rows with marked errors, as `eirene synth fava` writes them.")
]
Taxonomy = Annotated[TaxonomyName, typer.Option(help="The taxonomy of errors.")]


@app.command("critic")
@with_groups(batch_size=128, micro_batch=1, max_tokens=2048, epochs=2)
def critic(
    data: MarkedData,
    *,
    taxonomy: Taxonomy = "fava",
    layout: flags.Layout = None,
    dev: flags.Dev = None,
    warmup: flags.Warmup = 0.03,
    epochs: EpochFlags,
    format: data_flags.Format = "auto",
    common: TrainFlags,
) -> None:
    """Fine-tune a language model to mark hallucinations (needs the extra `local`); use it as `--backend hf:DIR`."""
    with Training(common) as training:
        from eirene.data import open_source
        from eirene.feedback_model.training import CriticRecipe, train_critic

        trained = train_critic(
            open_source(data, format=format), common.out,
            recipe=CriticRecipe(layout=layout, warmup=warmup, **vars(epochs), **common.recipe),
            dev=None if dev is None else open_source(dev, format=format), **training.options(),
        )  # fmt: skip
        training.tell(trained, "refine ITEM --critic hallucination --mode edit --backend {}")


CompletenessData = Annotated[
    str, typer.Argument(metavar="DATA", help="HaluQuestQA's completeness file, published or row form.")
]
HeadedLayout = Annotated[
    flags.LayoutName, typer.Option(help="HaluQuestQA's headed text, or the base model's chat template.")
]
Split = Annotated[SplitName, typer.Option(help="A part of the published file.")]


@app.command("feedback")
@with_groups()
def feedback(
    data: CompletenessData,
    *,
    layout: HeadedLayout = "instruct",
    split: Split = "all",
    dev: flags.Dev = None,
    epochs: EpochFlags,
    format: data_flags.Format = "auto",
    common: TrainFlags,
) -> None:
    """Fine-tune a language model to critique answers (needs the extra `local`); use it as `--backend hf:DIR`."""
    with Training(common) as training:
        from eirene.data import open_source
        from eirene.feedback_model.training import FeedbackRecipe, train_feedback

        trained = train_feedback(
            open_source(data, format=format), common.out, split=split,
            recipe=FeedbackRecipe(layout=layout, **vars(epochs), **common.recipe),
            dev=None if dev is None else open_source(dev, format=format), **training.options(),
        )  # fmt: skip
        training.tell(trained, "refine ITEM --backend {}", by_epoch=True)


ErrorFreeData = Annotated[
    str, typer.Argument(metavar="DATA", help="Rows with perspectives and error-free answers, or prompt/reply.")
]


@app.command("generator")
@with_groups(batch_size=16, checkpoint_steps=500)
def generator(
    data: ErrorFreeData,
    *,
    dev: flags.Dev = None,
    rows: FormFlags,
    tuning: PromptTuningFlags,
    common: TrainFlags,
) -> None:
    """Tune a language model to write NPOV responses (needs the extra `local`); use it as `npov --backend hf:DIR`."""
    with Training(common) as training:
        from eirene.npov.training import GeneratorRecipe, train_generator

        trained = train_generator(
            rows.source(data), common.out, recipe=GeneratorRecipe(**common.recipe, **vars(tuning)),
            dev=None if dev is None else rows.source(dev), shape=rows.shape, **training.options(),
        )  # fmt: skip
        training.tell(trained, "npov --query TEXT --topics FILE --backend {}")


PreferenceData = Annotated[
    str, typer.Argument(metavar="DATA", help="Preference pairs: HaluQuestQA's rows, or TRL's prompt, chosen, rejected.")
]
Prompt = Annotated[
    PromptName | None,
    typer.Option(
        help="What the pairs answer: a mode's own prompt, the question alone, or the row's prompt (default: improve "
        "for rows with a question, given for rows with a prompt)."
    ),
]
Beta = Annotated[float, typer.Option(help="DPO's beta: how strongly the model is kept near where it started.")]
HeldOut = Annotated[float, typer.Option(help="Share of the questions held out to measure on.")]
Alpha = Annotated[int, typer.Option(help="Scale of the LoRA adapter, over its rank.")]
Targets = Annotated[str, typer.Option(help="Names of the layers that get an adapter, comma-separated, or all-linear.")]
DpoRate = Annotated[float | None, typer.Option(help="Default: 5e-5 for LoRA (the authors'), 5e-7 in full.")]


@app.command("refiner")
@with_groups(batch_size=16, lora_rank=256)
def refiner(
    data: PreferenceData,
    *,
    prompt: Prompt = None,
    layout: flags.Layout = None,
    beta: Beta = 0.1,
    held_out: HeldOut = 0.1,
    lora_alpha: Alpha = 128,
    lora_targets: Targets = "q_proj,k_proj,v_proj",
    method: flags.Method = "lora",
    epochs: flags.Epochs = 5,
    max_steps: flags.MaxSteps = None,
    learning_rate: DpoRate = None,
    format: data_flags.Format = "auto",
    common: TrainFlags,
) -> None:
    """Tune a language model on preference pairs by DPO (needs the extra `train`); use it as `--backend hf:DIR`."""
    with Training(common) as training:
        from eirene.data import open_source
        from eirene.refiners.training import RefinerRecipe, train_refiner
        from eirene.refiners.training.run import shown

        recipe = RefinerRecipe(**common.recipe | {
            "prompt": prompt, "layout": layout, "beta": beta, "held_out": held_out, "method": method,
            "lora_alpha": lora_alpha, "epochs": epochs, "max_steps": max_steps, "learning_rate": learning_rate,
            "lora_targets": None if lora_targets == "all-linear" else tuple(t.strip() for t in lora_targets.split(",")),
        })  # fmt: skip
        trained = train_refiner(open_source(data, format=format), common.out, recipe=recipe, **training.options())
        held = trained.card["figures"]["held_out"]
        measured = "" if held is None else (
            f"{held['pairs']} held-out pairs: loss {held['before']['loss']} -> {held['after']['loss']}, preferred "
            f"reply raised more {shown(held['after']['reward_accuracy'])}"
        )  # fmt: skip
        training.tell(trained, "refine ITEM --backend {}", by_epoch=True, more=measured)
