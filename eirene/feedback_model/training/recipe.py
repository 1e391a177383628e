"""The settings of a critic's training, with those of the EIR and the FAVA paper as defaults."""

from __future__ import annotations

from dataclasses import dataclass

from eirene.models.local_spec import LAYOUTS, Layout
from eirene.training.recipe import Method, TrainingRecipe, check_known


@dataclass(frozen=True, slots=True)
class Recipe(TrainingRecipe):
    """Everything that decides a run besides data, base model and seed.

    Sachdeva et al. 2024, section 4.1: the whole model, batch 4, learning rate 2e-5, 1,024 tokens, 5 epochs. The paper
    names no schedule, warm-up or weight decay; these are linear decay, none and none. `learning_rate` None is the
    paper's, or 2e-4 for LoRA, whose few weights hardly move at the paper's rate. `layout`: HaluQuestQA's headed text,
    or the base model's chat template.
    """

    method: Method = "full"
    layout: Layout = "instruct"

    def __post_init__(self) -> None:
        TrainingRecipe.__post_init__(self)
        check_known("layout", self.layout, LAYOUTS)


@dataclass(frozen=True, slots=True)
class CriticRecipe(TrainingRecipe):
    """Everything that decides the training of a critic of hallucinations besides data, base model and seed.

    Mishra et al. 2024, section 5.2 and table 11: the whole model, 2 epochs, batch 128, learning rate 2e-5, a warm-up of
    3 % of the steps, no weight decay, 2,048 tokens, bfloat16. The paper names no schedule; it is linear decay here.
    One example goes through at once: 128 fit no machine. `learning_rate` None is the paper's, or 2e-4 for LoRA.
    `layout` None is the base model's chat template where it has one (the paper starts from a chat model), else plain
    text.
    """

    method: Method = "full"
    epochs: int = 2
    batch_size: int = 128
    micro_batch: int | None = 1
    max_tokens: int = 2048
    warmup: float = 0.03
    layout: Layout | None = None

    def __post_init__(self) -> None:
        TrainingRecipe.__post_init__(self)
        if self.layout is not None:
            check_known("layout", self.layout, LAYOUTS)
