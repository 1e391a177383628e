"""The flags that mean the same in every `eirene train` command that fine-tunes a causal language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from eirene.cli import flags
from eirene.cli.terminal import say
from eirene.cli.train.progress import Training

# Written out here because the library's own names need more than `--help` should wait for.
MethodName = Literal["full", "lora"]
LayoutName = Literal["instruct", "chat"]
PrecisionName = Literal["bf16", "fp32"]

_MEMORY = "Memory and machine"
Base = Annotated[
    str, typer.Option("--base", "--model", metavar="DIR|ID", help="The causal language model to start from.")
]
Out = Annotated[str, typer.Option(metavar="DIR", help="Where the model goes; an unfinished run found there goes on.")]
Method = Annotated[MethodName, typer.Option(help="All weights, or a LoRA adapter.")]
AnyMethodName = Literal["prompt", "lora", "full"]
AnyMethod = Annotated[AnyMethodName, typer.Option(help="Virtual tokens, a LoRA adapter, or all weights.")]
VirtualTokens = Annotated[int, typer.Option(help="Of prompt tuning.")]
Warmup = Annotated[float, typer.Option(help="Steps, or below 1 a share of them, over which the rate rises.")]
Epochs = Annotated[int, typer.Option(help="Passes over the data.")]
BatchSize = Annotated[int, typer.Option(help="Examples in a step.")]
MaxSteps = Annotated[int | None, typer.Option(help="Stop after so many steps (default: as the epochs say).")]
MaxTokens = Annotated[int, typer.Option(help="Examples longer than this, prompt and reply, are left out and counted.")]
Rank = Annotated[int, typer.Option(help="Rank of the LoRA adapter.")]
Seed = Annotated[int, typer.Option(help="Order of the data, dropout, the adapter's first values.")]
CheckpointSteps = Annotated[int | None, typer.Option(help="Steps between checkpoints (default: one an epoch).")]
MicroBatch = Annotated[int | None, typer.Option(help="Examples at once, gradients added up.", rich_help_panel=_MEMORY)]
Dtype = Annotated[str | None, typer.Option(help="Of a LoRA's frozen weights: bfloat16 ...", rich_help_panel=_MEMORY)]
Precision = Annotated[
    PrecisionName | None,
    typer.Option(help="What is computed in (default: bf16 on GPUs that can, else fp32).", rich_help_panel=_MEMORY),
]
GradientCheckpointing = Annotated[
    bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.", rich_help_panel=_MEMORY)
]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda ... (default: a GPU if there is one).", rich_help_panel=_MEMORY)
]
Dev = Annotated[str | None, typer.Option(metavar="FILE", help="Rows that the model is measured on and not trained on.")]
PaperRate = Annotated[
    float | None, typer.Option(help="Default: 0.1 for prompt tuning (the paper's), 2e-4 LoRA, 2e-5 full.")
]
PaperSteps = Annotated[int, typer.Option(help="Steps; the paper trained for at most 20,000 and was done by 5,000.")]


@dataclass(frozen=True, kw_only=True)
class Common:
    """The flags of every one of these commands; a command sets its own defaults."""

    base: Base
    out: Out
    batch_size: BatchSize = 4
    max_tokens: MaxTokens = 1024
    lora_rank: Rank = 16
    seed: Seed = 0
    checkpoint_steps: CheckpointSteps = None
    micro_batch: MicroBatch = None
    dtype: Dtype = None
    precision: Precision = None
    gradient_checkpointing: GradientCheckpointing = False
    device: Device = None
    config: flags.Config = None

    @property
    def recipe(self) -> dict[str, Any]:
        """What a recipe takes of them. The adapter's scale is twice its rank, unless a command says otherwise."""
        names = (
            "batch_size", "max_tokens", "lora_rank", "checkpoint_steps", "micro_batch", "dtype", "precision",
            "gradient_checkpointing",
        )  # fmt: skip
        return {"lora_alpha": 2 * self.lora_rank, **{name: getattr(self, name) for name in names}}

    def run(self, training: Training) -> dict[str, Any]:
        """What a training takes of them, beside its recipe."""
        told = {"progress": training.told, "should_stop": training.should_stop}
        return {"base": self.base, "seed": self.seed, "device": self.device, **told}


@dataclass(frozen=True, kw_only=True)
class PromptTuning:
    """The flags of the commands whose defaults are the NPOV paper's prompt tuning."""

    method: AnyMethod = "prompt"
    virtual_tokens: VirtualTokens = 5
    max_steps: PaperSteps = 20_000
    warmup: Warmup = 500
    learning_rate: PaperRate = None

    @property
    def recipe(self) -> dict[str, Any]:
        """What a recipe takes of them: all."""
        return dict(vars(self))


def say_figures(figures: dict[str, Any], *, by_epoch: bool) -> None:
    """How long the training took and where its loss went."""
    losses = figures["train_loss"]
    curve = f"loss by epoch {losses}" if by_epoch else f"loss {losses[0]} -> {losses[-1]}"
    say(
        f"{figures['steps']} steps in {figures['seconds']:g} s ({figures['tokens_per_second']:g} tokens/s on "
        f"{figures['device']}), {curve}"
    )
