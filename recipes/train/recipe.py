"""Training recipes: the settings of each training of a causal language model, with a paper's values as defaults.

A field with a help is a flag of `python -m recipes.train`. Nothing heavy is imported, so that `--help` need not wait.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from eirene.core.errors import InputError
from eirene.core.loop_settings import Setting

Method = Literal["full", "lora", "prompt"]
Schedule = Literal["linear", "cosine"]
"""How the learning rate falls after the warm-up."""
Layout = Literal["instruct", "chat"]
PromptName = Literal["improve", "generic", "question", "given"]
Dtype = Literal["float32", "bfloat16", "float16"]
Precision = Literal["bf16", "fp32"]
Keep = Literal["last", "best"]
_KNOWN: Mapping[str, Any] = {
    "schedule": Schedule,
    "layout": Layout,
    "prompt": PromptName,
    "dtype": Dtype,
    "precision": Precision,
    "keep": Keep,
}
_COUNTS = (
    "epochs", "max_steps", "batch_size", "max_tokens", "lora_rank", "lora_alpha", "micro_batch", "checkpoint_steps",
    "virtual_tokens",
)  # fmt: skip
_RECIPE, _MACHINE = "Recipe", "Memory and machine"


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """What decides a run besides data, base model and seed.

    - `warmup`: steps, or where it is below 1 a share of all steps, over which the rate rises from 0.
    - `lora_alpha`: the adapter's scale over its rank; None is twice the rank.
    - `lora_targets`: comma-separated ends of the names of the layers that get an adapter, or all-linear.
    - `keep`: the weights of the last step, or of the checkpoint with the lowest loss on the dev set (a refiner's
      held-out pairs), whose figures then flatter: measure on other data.
    - `precision`: what is computed in; None is bf16 on GPUs that can, else fp32.
    """

    RATES: ClassVar[Mapping[str, float]] = {"full": 2e-5, "lora": 2e-4}
    """The learning rate of each method that there is, where none is set."""

    schedule: Schedule = "linear"
    lora_dropout: float = 0.05
    method: Annotated[Method, Setting("All weights, a LoRA adapter, or (with prompt) virtual tokens.", _RECIPE)] = (
        "full"
    )
    epochs: Annotated[int, Setting("Passes over the data.", _RECIPE)] = 5
    max_steps: Annotated[int | None, Setting("Steps at most, whatever the epochs say.", _RECIPE)] = None
    batch_size: Annotated[int, Setting("Examples in a step.", _RECIPE)] = 4
    max_tokens: Annotated[
        int, Setting("Examples longer than this, prompt and reply, are left out and counted.", _RECIPE)
    ] = 1024
    learning_rate: Annotated[float | None, Setting("Default: the method's (docs/guides/training.md).", _RECIPE)] = None
    warmup: float = 0.0
    lora_rank: Annotated[int, Setting("Rank of the LoRA adapter.", _RECIPE)] = 16
    lora_alpha: int | None = None
    lora_targets: str = "all-linear"
    micro_batch: Annotated[int | None, Setting("Examples at once, gradients added up.", _MACHINE)] = None
    dtype: Annotated[Dtype | None, Setting("Of a LoRA's frozen weights.", _MACHINE)] = None
    precision: Precision | None = None
    gradient_checkpointing: Annotated[bool, Setting("Less memory, more time.", _MACHINE)] = False
    keep: Annotated[Keep, Setting("The last weights, or those of the best checkpoint on the dev set.", _RECIPE)] = (
        "last"
    )
    checkpoint_steps: Annotated[int | None, Setting("Steps between checkpoints (default: one an epoch).", _MACHINE)] = (
        None
    )

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            known = tuple(self.RATES) if name == "method" else get_args(_KNOWN.get(name))
            if known and value is not None and value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}", field=name)
            if name in _COUNTS and value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}", field=name)
        if self.batch_size % self.at_once:
            raise InputError(
                f"micro_batch must divide batch_size = {self.batch_size}, got {self.micro_batch}", field="micro_batch"
            )
        if not 0 < self.rate < math.inf:
            raise InputError(f"learning_rate must be a number above 0, got {self.rate}", field="learning_rate")
        if not 0 <= self.lora_dropout < 1:
            raise InputError(f"lora_dropout must lie in [0, 1), got {self.lora_dropout}", field="lora_dropout")
        if not 0 <= self.warmup < math.inf:
            raise InputError(f"warmup must be a number of at least 0, got {self.warmup}", field="warmup")
        if not all(name.strip() for name in self.lora_targets.split(",")):
            raise InputError("lora_targets must name layers, such as q_proj; got an empty name", field="lora_targets")

    @property
    def rate(self) -> float:
        """The learning rate that is used."""
        return self.RATES[self.method] if self.learning_rate is None else self.learning_rate

    @property
    def at_once(self) -> int:
        """Examples in one forward pass."""
        return self.batch_size if self.micro_batch is None else self.micro_batch

    def facts(self) -> dict[str, Any]:
        """All settings for the run's folder and its card."""
        return {**asdict(self), "rate": self.rate}


_WARMUP = Setting("Steps, or below 1 a share of them, over which the rate rises.", _RECIPE)
_LAYOUT = Setting("Plain text or the base model's chat template (default: that where there is one).", _RECIPE)


@dataclass(frozen=True, kw_only=True)
class FeedbackRecipe(TrainingRecipe):
    """A critic of completeness: Sachdeva et al. 2024, section 4.1.

    The whole model, batch 4, learning rate 2e-5, 1,024 tokens, 5 epochs. The paper names no schedule and no warm-up;
    these are linear decay and none. LoRA has 2e-4: its few weights hardly move at the paper's rate.
    """

    layout: Annotated[Layout, Setting("HaluQuestQA's headed text, or the base model's chat template.", _RECIPE)] = (
        "instruct"
    )


@dataclass(frozen=True, kw_only=True)
class CriticRecipe(TrainingRecipe):
    """A critic of hallucinations: Mishra et al. 2024, section 5.2 and table 11.

    The whole model, 2 epochs, batch 128, learning rate 2e-5, a warm-up of 3 % of the steps, 2,048 tokens. The paper
    names no schedule; it is linear decay here. One example goes through at once: 128 fit no machine.
    """

    epochs: int = 2
    batch_size: int = 128
    micro_batch: int | None = 1
    max_tokens: int = 2048
    warmup: Annotated[float, _WARMUP] = 0.03
    layout: Annotated[Layout | None, _LAYOUT] = None


@dataclass(frozen=True, kw_only=True)
class PromptTuningRecipe(TrainingRecipe):
    """A classifier or a generator: Chang et al. 2024, section 2.1 and appendix B.

    Prompt tuning with 5 virtual tokens that begin as common words, learning rate 0.1, 500 warm-up steps, linear decay,
    batch 16, at most 20,000 steps (most of the paper's runs were best at 2,000 to 5,000).
    """

    RATES: ClassVar[Mapping[str, float]] = {"prompt": 0.1, "lora": 2e-4, "full": 2e-5}

    method: Method = "prompt"
    virtual_tokens: Annotated[int, Setting("Of prompt tuning.", _RECIPE)] = 5
    batch_size: int = 16
    max_steps: int | None = 20_000
    warmup: Annotated[float, _WARMUP] = 500
    checkpoint_steps: int | None = 500


@dataclass(frozen=True, kw_only=True)
class RefinerRecipe(TrainingRecipe):
    """A refiner, by DPO with LoRA: Sachdeva et al. 2024, section 4.2, appendix D.

    The paper prints no settings; those of the training command that its authors publish with their code are the
    defaults: beta 0.1, learning rate 5e-5 with cosine decay after a warm-up of a tenth, 5 epochs, batches of 16, 1,024
    tokens, rank 256, alpha 128, adapters on queries, keys and values. TRL switches dropout off for DPO. In full the
    rate is 5e-7.

    - `prompt`: what the pairs answer. `improve` and `generic` are the refiner's own prompts of these modes with the
      rejected answer as the answer so far; `question` is the question alone, as the authors have it; `given` is the
      row's own prompt. None is `improve` for rows with a question, `given` for rows with a prompt.
    - `layout`: None is the tokenizer's chat template where there is one; for given prompts it is their own form.
    """

    RATES: ClassVar[Mapping[str, float]] = {"full": 5e-7, "lora": 5e-5}

    schedule: Schedule = "cosine"
    lora_dropout: float = 0.0
    method: Method = "lora"
    batch_size: int = 16
    warmup: float = 0.1
    lora_rank: int = 256
    lora_alpha: Annotated[int | None, Setting("Scale of the LoRA adapter, over its rank.", _RECIPE)] = 128
    lora_targets: Annotated[
        str, Setting("Names of the layers that get an adapter, comma-separated, or all-linear.", _RECIPE)
    ] = "q_proj,k_proj,v_proj"
    prompt: Annotated[
        PromptName | None,
        Setting("What the pairs answer (default: improve for rows with a question, given for rows with a prompt).",
                _RECIPE),
    ] = None  # fmt: skip
    layout: Annotated[Layout | None, _LAYOUT] = None
    beta: Annotated[float, Setting("How strongly the model is kept near where it started.", _RECIPE)] = 0.1
    held_out: Annotated[float, Setting("Share of the questions held out to measure on.", _RECIPE)] = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.beta < math.inf:
            raise InputError(f"beta must be a number above 0, got {self.beta}", field="beta")
        if not 0 <= self.held_out < 1:
            raise InputError(f"held_out must be at least 0 and below 1, got {self.held_out}", field="held_out")
