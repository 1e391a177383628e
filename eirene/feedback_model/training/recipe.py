"""The settings of a training run, with those of the EIR paper as defaults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from eirene.errors import InputError
from eirene.models.local_spec import DTYPES, LAYOUTS, Layout

Method = Literal["full", "lora"]
METHODS: tuple[Method, ...] = ("full", "lora")
PAPER_RATE = 2e-5
LORA_RATE = 2e-4


@dataclass(frozen=True, slots=True)
class Step:
    """Where a training is: `loss` is the step's own, in nats a reply token."""

    step: int
    steps: int
    epoch: float
    loss: float


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides a run besides data, base model and seed.

    Sachdeva et al. 2024, section 4.1: the whole model, batch 4, learning rate 2e-5, 1,024 tokens, 5 epochs. The paper
    names no schedule, warm-up or weight decay; these are linear decay, none and none. `learning_rate` None is the
    paper's, or 2e-4 for LoRA, whose few weights hardly move at the paper's rate.

    - `micro_batch`: answers at once, where a batch does not fit the memory; gradients add up to `batch_size`.
    - `max_tokens`: longer answers are left out and counted, never cut: a cut reply teaches the model not to end.
    - `dtype`: of the frozen weights under LoRA. A model trained in full is kept in float32; on GPUs that can, both
      compute in bfloat16.
    - `checkpoint_steps`: steps between checkpoints; None is one an epoch.
    """

    method: Method = "full"
    layout: Layout = "instruct"
    epochs: int = 5
    batch_size: int = 4
    micro_batch: int | None = None
    max_tokens: int = 1024
    learning_rate: float | None = None
    warmup_steps: int = 0
    weight_decay: float = 0.0
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    dtype: str | None = None
    gradient_checkpointing: bool = False
    checkpoint_steps: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "max_tokens", "lora_rank", "lora_alpha"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}", field=name)
        for name in ("micro_batch", "checkpoint_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}", field=name)
        if self.batch_size % self.at_once:
            raise InputError(
                f"micro_batch must divide batch_size = {self.batch_size}, got {self.micro_batch}", field="micro_batch"
            )
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InputError(f"learning_rate must be a number above 0, got {self.rate}", field="learning_rate")
        known = (("method", METHODS), ("layout", LAYOUTS), ("dtype", (None, *DTYPES)))
        for name, values in known:
            if getattr(self, name) not in values:
                shown = ", ".join(str(v) for v in values if v is not None)
                raise InputError(f"{name} must be one of {shown}, got {getattr(self, name)!r}", field=name)

    @property
    def rate(self) -> float:
        """The learning rate that is used."""
        if self.learning_rate is not None:
            return self.learning_rate
        return PAPER_RATE if self.method == "full" else LORA_RATE

    @property
    def at_once(self) -> int:
        """Answers in one forward pass."""
        return self.batch_size if self.micro_batch is None else self.micro_batch
