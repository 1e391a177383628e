"""`eirene train feedback`: fine-tunes a feedback model on annotated answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eirene.cli import options
from eirene.cli.terminal import output, say

if TYPE_CHECKING:
    from rich.progress import Progress

    from eirene.feedback_model.training import Step

_SAY_EVERY = 25  # steps between two lines where no terminal shows a bar

# Written out here because the library's own names need more than `--help` should wait for.
MethodName = Literal["full", "lora"]
LayoutName = Literal["instruct", "chat"]
SplitName = Literal["all", "train", "test"]

_MEMORY = "Memory"
Data = Annotated[str, typer.Argument(metavar="DATA", help="HaluQuestQA's completeness file, published or row form.")]
Base = Annotated[str, typer.Option(metavar="DIR|ID", help="The causal language model to start from.")]
Out = Annotated[str, typer.Option(metavar="DIR", help="Where the model goes; an unfinished run found there goes on.")]
Method = Annotated[MethodName, typer.Option(help="All weights, as the paper did, or a LoRA adapter.")]
Layout = Annotated[LayoutName, typer.Option(help="HaluQuestQA's headed text, or the base model's chat template.")]
Split = Annotated[SplitName, typer.Option(help="A part of the published file.")]
Dev = Annotated[str | None, typer.Option(metavar="FILE", help="Answers to measure the loss on after each epoch.")]
Epochs = Annotated[int, typer.Option(help="Passes over the data.")]
BatchSize = Annotated[int, typer.Option(help="Answers in a step.")]
MaxTokens = Annotated[int, typer.Option(help="Answers longer than this, prompt and reply, are left out and counted.")]
Rate = Annotated[float | None, typer.Option(help="Default: 2e-5 in full (the paper's), 2e-4 for LoRA.")]
Rank = Annotated[int, typer.Option(help="Rank of the LoRA adapter; alpha is twice as much.")]
Seed = Annotated[int, typer.Option(help="Order of the data, dropout, the adapter's first values.")]
CheckpointSteps = Annotated[int | None, typer.Option(help="Steps between checkpoints (default: one an epoch).")]
MicroBatch = Annotated[int | None, typer.Option(help="Answers at once, gradients added up.", rich_help_panel=_MEMORY)]
Dtype = Annotated[str | None, typer.Option(help="Of a LoRA's frozen weights: bfloat16 ...", rich_help_panel=_MEMORY)]
GradientCheckpointing = Annotated[
    bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.", rich_help_panel=_MEMORY)
]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 ... (default: a GPU if there is one).")]


def feedback(
    data: Data,
    *,
    base: Base,
    out: Out,
    method: Method = "full",
    layout: Layout = "instruct",
    split: Split = "all",
    dev: Dev = None,
    epochs: Epochs = 5,
    batch_size: BatchSize = 4,
    max_tokens: MaxTokens = 1024,
    learning_rate: Rate = None,
    lora_rank: Rank = 16,
    seed: Seed = 0,
    checkpoint_steps: CheckpointSteps = None,
    micro_batch: MicroBatch = None,
    dtype: Dtype = None,
    gradient_checkpointing: GradientCheckpointing = False,
    device: Device = None,
    config: options.Config = None,
) -> None:
    """Fine-tune a language model to critique answers (needs the extra `local`); use it as `--backend hf:DIR`."""
    with output():
        from eirene.feedback_model.training import Recipe, train_feedback

        recipe = Recipe(
            method=method, layout=layout, epochs=epochs, batch_size=batch_size, micro_batch=micro_batch,
            max_tokens=max_tokens, learning_rate=learning_rate, lora_rank=lora_rank, lora_alpha=2 * lora_rank,
            dtype=dtype, gradient_checkpointing=gradient_checkpointing, checkpoint_steps=checkpoint_steps,
        )  # fmt: skip
        with _Steps() as steps:
            trained = train_feedback(
                data, out, base=base, recipe=recipe, split=split, dev=dev, seed=seed, device=device,
                progress=steps.told,
            )  # fmt: skip
        figures = trained.card["figures"]
        say(
            f"{figures['steps']} steps in {figures['seconds']:g} s ({figures['tokens_per_second']:g} tokens/s on "
            f"{figures['device']}), loss by epoch {figures['train_loss']}"
        )
        say(f"use it: eirene refine ITEM --backend hf:{trained.folder}")


class _Steps:
    """Shows each step on standard error: as a bar on a terminal, else as a line now and then."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def __enter__(self) -> _Steps:
        if sys.stderr.isatty():
            from rich.progress import Progress

            from eirene.cli.terminal import console

            self._bar = Progress(console=console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("preparing", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def told(self, step: Step) -> None:
        """Shows one step."""
        text = f"step {step.step} of {step.steps}, loss {step.loss:.3f}"
        if self._bar is not None:
            self._bar.update(self._task, total=step.steps, completed=step.step, description=text)
        elif step.step % _SAY_EVERY == 0 or step.step in (1, step.steps):
            say(text)
