"""What `eirene train` commands share: progress and Ctrl-C; for a causal language model also flags and the end."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import typer

from eirene.cli import flags
from eirene.cli.progress import Bar, bar
from eirene.cli.terminal import output, say
from eirene.core.errors import TrainingStoppedError

if TYPE_CHECKING:
    from eirene.models.training import Step

# Written out here because the library's own names need more than `--help` should wait for.
MethodName = Literal["full", "lora"]
AnyMethodName = Literal["prompt", "lora", "full"]
LayoutName = Literal["instruct", "chat"]
PrecisionName = Literal["bf16", "fp32"]

_SAY_EVERY = 25  # steps between two lines where no terminal shows a bar
_STOPPED = 130
_memory_option = partial(typer.Option, rich_help_panel="Memory and machine")

Dev = Annotated[str | None, typer.Option(metavar="FILE", help="Rows to measure on, not to train on.")]
Method = Annotated[MethodName, typer.Option(help="All weights, or a LoRA adapter.")]
Layout = Annotated[LayoutName | None, typer.Option(help="Default: the model's chat template where there is one.")]
Warmup = Annotated[float, typer.Option(help="Steps, or below 1 a share of them, over which the rate rises.")]
Epochs = Annotated[int, typer.Option(help="Passes over the data.")]
MaxSteps = Annotated[int | None, typer.Option(help="Stop after so many steps (default: as the epochs say).")]
Rank = Annotated[int, typer.Option(help="Rank of the LoRA adapter.")]
Seed = Annotated[int, typer.Option(help="Order of the data, dropout, the adapter's first values.")]


@dataclass(frozen=True, kw_only=True)
class TrainFlags:
    """The flags of every one of these commands; a command sets its own defaults."""

    base: Annotated[
        str, typer.Option("--base", "--model", metavar="DIR|ID", help="The causal language model to start from.")
    ]
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Where the model goes; an unfinished run found there goes on.")
    ]
    batch_size: Annotated[int, typer.Option(help="Examples in a step.")] = 4
    max_tokens: Annotated[
        int, typer.Option(help="Examples longer than this, prompt and reply, are left out and counted.")
    ] = 1024
    lora_rank: Rank = 16
    seed: Seed = 0
    checkpoint_steps: Annotated[int | None, typer.Option(help="Steps between checkpoints (default: one an epoch).")] = (
        None
    )
    micro_batch: Annotated[int | None, _memory_option(help="Examples at once, gradients added up.")] = None
    dtype: Annotated[str | None, _memory_option(help="Of a LoRA's frozen weights: bfloat16 ...")] = None
    precision: Annotated[
        PrecisionName | None, _memory_option(help="What is computed in (default: bf16 on GPUs that can, else fp32).")
    ] = None
    gradient_checkpointing: Annotated[
        bool, _memory_option("--gradient-checkpointing", help="Less memory, more time.")
    ] = False
    device: Annotated[str | None, _memory_option(help="cpu, cuda ... (default: a GPU if there is one).")] = None
    config: flags.Config = None

    @property
    def recipe(self) -> dict[str, Any]:
        """What a recipe takes of them. The adapter's scale is twice its rank, unless a command says otherwise."""
        left_out = ("base", "out", "seed", "device", "config")
        return {"lora_alpha": 2 * self.lora_rank, **{k: v for k, v in vars(self).items() if k not in left_out}}


@dataclass(frozen=True, kw_only=True)
class EpochFlags:
    """The flags of the commands that go over their data so many times."""

    method: Method = "full"
    epochs: Epochs = 5
    max_steps: MaxSteps = None
    learning_rate: Annotated[float | None, typer.Option(help="Default: 2e-5 in full (the paper's), 2e-4 for LoRA.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class PromptTuningFlags:
    """The flags of the commands whose defaults are the NPOV paper's prompt tuning."""

    method: Annotated[AnyMethodName, typer.Option(help="Virtual tokens, a LoRA adapter, or all weights.")] = "prompt"
    virtual_tokens: Annotated[int, typer.Option(help="Of prompt tuning.")] = 5
    max_steps: Annotated[
        int, typer.Option(help="Steps; the paper trained for at most 20,000 and was done by 5,000.")
    ] = 20_000
    warmup: Warmup = 500
    learning_rate: Annotated[
        float | None, typer.Option(help="Default: 0.1 for prompt tuning (the paper's), 2e-4 LoRA, 2e-5 full.")
    ] = None


class Stoppable:
    """Around one training: shows its steps, and ends it with what was done on disk.

    The first Ctrl-C lets the step end and a checkpoint be written, a second one stops at once; both end the command
    with 130. Before the first step there is nothing to keep, and one Ctrl-C stops at once.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._bar: Bar
        self._has_begun = False
        self._is_asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._stack.enter_context(output())
        self._bar = self._stack.enter_context(bar("preparing"))
        if threading.current_thread() is threading.main_thread():  # nobody else may set a handler
            self._before = signal.signal(signal.SIGINT, self._on_ctrl_c)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._bar.close()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self._stack.__exit__(kind, error, trace)
        if isinstance(error, TrainingStoppedError):
            say(str(error))
            raise typer.Exit(_STOPPED) from None

    def should_stop(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._is_asked

    def show(self, text: str, done: int, total: int, *, is_step: bool = True) -> None:
        """Shows how far it is; once a step is done, Ctrl-C keeps it."""
        self._has_begun |= is_step
        show_step(self._bar, text, done, total)

    def _on_ctrl_c(self, _: int, __: FrameType | None) -> None:
        if self._is_asked or not self._has_begun:
            raise KeyboardInterrupt
        self._is_asked = True
        say("stopping after this step; Ctrl-C again stops at once")


class Training(Stoppable):
    """Around one training of a causal language model: also tells what came of it."""

    def __init__(self, common: TrainFlags) -> None:
        super().__init__()
        self._common = common

    def options(self) -> dict[str, Any]:
        """What a training takes, beside its data, folder and recipe."""
        told = {"progress": self.on_step, "should_stop": self.should_stop}
        return {"base": self._common.base, "seed": self._common.seed, "device": self._common.device, **told}

    def tell(self, trained: Any, use: str, *, by_epoch: bool = False, more: str = "") -> None:
        """How long it took and where the loss went, `more` that is known, and the command that uses the model."""
        figures = trained.card["figures"]
        losses = figures["train_loss"]
        curve = f"loss by epoch {losses}" if by_epoch else f"loss {losses[0]} -> {losses[-1]}"
        say(
            f"{figures['steps']} steps in {figures['seconds']:g} s ({figures['tokens_per_second']:g} tokens/s on "
            f"{figures['device']}), {curve}"
        )
        if more:
            say(more)
        say(f"use it: eirene {use.format(f'hf:{trained.folder}')}")

    def on_step(self, step: Step) -> None:
        """Shows one step."""
        accuracy = "" if step.accuracy is None else f", accuracy {step.accuracy:.2f}"
        self.show(f"step {step.step} of {step.steps}, loss {step.loss:.3f}{accuracy}", step.step, step.steps)
        if step.step == step.steps:
            self._bar.close()


def show_step(shown: Bar, text: str, step: int, steps: int) -> None:
    """Shows one step of `steps`: as a bar on a terminal, else as a line now and then."""
    if shown.is_shown:
        shown.update(text, done=step, total=steps)
    elif step % _SAY_EVERY == 0 or step in (1, steps):
        say(text)
