"""`python -m recipes.train`: a command for each model: classifier, critic, feedback, generator, refiner.

The flags of a command are the fields of its recipe (`recipes.train.recipe`) and those of `RunFlags`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eirene.cli import flags
from eirene.cli.app import run_app
from eirene.cli.data_flags import FormFlags
from eirene.cli.flags import Command, Only, Without, with_groups
from eirene.cli.terminal import say
from eirene.core.errors import InputError
from recipes.stoppable import Stoppable
from recipes.train.recipe import CriticRecipe, FeedbackRecipe, PromptTuningRecipe, RefinerRecipe

if TYPE_CHECKING:
    from recipes.train.run import Step, Trained

app = typer.Typer(
    help="Train the models that Eirene uses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


# Written out here because the library's own names need more than `--help` should wait for.
ErrorName = Literal["hallucination", "coverage"]
SplitName = Literal["all", "train", "test"]

FormatFlag = Annotated[FormFlags, Only("format")]
Dev = Annotated[str | None, typer.Option(metavar="FILE", help="Rows to measure on, not to train on.")]


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """The flags of every one of these commands beside its recipe's."""

    base: Annotated[
        str, typer.Option("--base", "--model", metavar="DIR|ID", help="The causal language model to start from.")
    ]
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Where the model goes; an unfinished run found there goes on.")
    ]
    seed: Annotated[int, typer.Option(help="Order of the data, dropout, the adapter's first values.")] = 0
    device: Annotated[str | None, typer.Option(help="cpu, cuda ... (default: a GPU if there is one).")] = None
    config: flags.Config = None


class Training(Stoppable):
    """Around one training of a causal language model: also tells what came of it."""

    def run(
        self,
        train: Callable[..., Trained],
        data: str,
        flags: RunFlags,
        *,
        rows: FormFlags,
        dev: str | None = None,
        **options: Any,
    ) -> Trained:
        """What `train` (such as `train_critic`) makes of the rows that `data` names; `options` are its own."""
        if dev is not None:
            options["dev"] = rows.source(dev)
        return train(
            rows.source(data), flags.out, base=flags.base, seed=flags.seed, device=flags.device,
            progress=self.on_step, should_stop=self.should_stop, **options,
        )  # fmt: skip

    def on_step(self, step: Step) -> None:
        """Shows one step."""
        accuracy = "" if step.accuracy is None else f", accuracy {step.accuracy:.2f}"
        self.show(f"step {step.step} of {step.steps}, loss {step.loss:.3f}{accuracy}", step.step, step.steps)
        if step.step == step.steps:
            self._bar.close()

    def tell(self, trained: Trained, use: str, *, more: str = "") -> None:
        """How long it took and where the loss went, `more` that is known, and the command that uses the model."""
        figures = trained.card["figures"]
        losses = figures["train_loss"]
        say(
            f"{figures['steps']} steps in {figures['seconds']:g} s ({figures['tokens_per_second']:g} tokens/s on "
            f"{figures['device']}), loss {losses[0]} -> {losses[-1]}"
        )
        if more:
            say(more)
        say(f"use it: eirene {use.format(f'hf:{trained.folder}')}")


@app.command("classifier")
@with_groups()
def classifier(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Labelled answers, of any form that `evaluate` reads.")],
    *,
    error: Annotated[ErrorName, typer.Option("--error", help="The error to detect.")],
    labels: Annotated[
        str, typer.Option(help="The two label texts, that of an error first. YES,NO flips the paper's.")
    ] = "NO,YES",
    dev: Dev = None,
    rows: FormFlags,
    recipe: Annotated[PromptTuningRecipe, Without("epochs")],
    run: RunFlags,
) -> None:
    """Tune a language model to tell an error (needs the extra `train`); use it as `--classifier hf:DIR`."""
    with Training() as training:
        from eirene.eval.detectors.classifier import ClassifierTask, Labels
        from recipes.train.classifier import train_classifier

        both = labels.split(",")
        if len(both) != 2:
            raise InputError(f"--labels takes two texts with a comma between, got {labels!r}", field="labels")
        task = ClassifierTask(error, Labels(both[0].strip(), both[1].strip()))
        trained = training.run(
            train_classifier, data, run, rows=rows, dev=dev, recipe=recipe, shape=rows.shape, task=task
        )
        figures = trained.card["figures"]
        auc = figures.get("dev_auc")
        measured = "" if auc is None else f"on {figures['dev_scored']} held-out answers: ROC AUC {auc}"
        training.tell(trained, "score IN --detectors classifier --classifier {} --out OUT", more=measured)


@app.command("critic")
@with_groups()
def critic(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="Rows with marked errors, as `eirene synth fava` writes them.")
    ],
    *,
    dev: Dev = None,
    rows: FormatFlag,
    recipe: CriticRecipe,
    run: RunFlags,
) -> None:
    """Fine-tune a language model to mark hallucinations (needs the extra `train`); use it as `--backend hf:DIR`."""
    with Training() as training:
        from recipes.train.critics import train_critic

        trained = training.run(train_critic, data, run, rows=rows, dev=dev, recipe=recipe)
        training.tell(trained, "refine ITEM --critic hallucination --mode edit --backend {}")


@app.command("feedback")
@with_groups()
def feedback(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="HaluQuestQA's completeness file, published or row form.")
    ],
    *,
    split: Annotated[SplitName, typer.Option(help="A part of the published file.")] = "all",
    dev: Dev = None,
    rows: FormatFlag,
    recipe: FeedbackRecipe,
    run: RunFlags,
) -> None:
    """Fine-tune a language model to critique answers (needs the extra `train`); use it as `--backend hf:DIR`."""
    with Training() as training:
        from recipes.train.critics import train_feedback

        trained = training.run(train_feedback, data, run, rows=rows, dev=dev, recipe=recipe, split=split)
        training.tell(trained, "refine ITEM --backend {}")


@app.command("generator")
@with_groups()
def generator(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="Rows with perspectives and error-free answers, or prompt/reply."),
    ],
    *,
    dev: Dev = None,
    rows: FormFlags,
    recipe: Annotated[PromptTuningRecipe, Without("epochs")],
    run: RunFlags,
) -> None:
    """Tune a language model to write NPOV responses (needs the extra `train`); use it as `npov --backend hf:DIR`."""
    with Training() as training:
        from recipes.train.generator import train_generator

        trained = training.run(train_generator, data, run, rows=rows, dev=dev, recipe=recipe, shape=rows.shape)
        training.tell(trained, "npov --query TEXT --topics FILE --backend {}")


@app.command("refiner")
@with_groups()
def refiner(
    data: Annotated[
        str,
        typer.Argument(metavar="DATA", help="Preference pairs: HaluQuestQA's, or TRL's prompt, chosen, rejected."),
    ],
    *,
    rows: FormatFlag,
    recipe: RefinerRecipe,
    run: RunFlags,
) -> None:
    """Tune a language model on preference pairs by DPO (needs the extra `train`); use it as `--backend hf:DIR`."""
    with Training() as training:
        from recipes.train.refiner import train_refiner

        trained = training.run(train_refiner, data, run, rows=rows, recipe=recipe)
        held = trained.card["figures"]["held_out"]
        measured = "" if held is None else (
            f"{held['pairs']} held-out pairs: loss {held['loss']} (0.6931 before), preferred reply raised more in "
            f"{100 * held['reward_accuracy']['value']:.1f} %"
        )  # fmt: skip
        training.tell(trained, "refine ITEM --backend {}", more=measured)


for _command in app.registered_commands:
    _command.cls = Command


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a training on `arguments` (default: those of the process) and returns the exit code."""
    return run_app(app, arguments, name="python -m recipes.train")


if __name__ == "__main__":
    sys.exit(main())
