"""The settings of a generator's training, with those of the NPOV paper as defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from eirene.models.training.recipe import Method, TrainingRecipe


@dataclass(frozen=True, slots=True)
class Recipe(TrainingRecipe):
    """Everything that decides a run besides data, base model and seed.

    Chang et al. 2024, section 2.1 and appendix B: prompt tuning with 5 virtual tokens that begin as common words,
    learning rate 0.1, 500 warm-up steps, linear decay, batch 16, at most 20,000 steps, on 80 responses. `learning_rate`
    None is the paper's, or the usual one for LoRA and for the whole model.
    """

    RATES: ClassVar[Mapping[Method, float]] = {"prompt": 0.1, "lora": 2e-4, "full": 2e-5}

    method: Method = "prompt"
    batch_size: int = 16
    max_steps: int | None = 20_000
    warmup: float = 500
