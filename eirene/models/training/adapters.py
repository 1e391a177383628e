"""Loads the model to train, with a LoRA or prompt-tuning adapter where the method is one. Imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from peft import LoraConfig, PeftConfig, PromptTuningConfig, TaskType, get_peft_model

from eirene.core.errors import InputError
from eirene.models.local.loading import load_base, quiet_peft
from eirene.models.training.folder import TrainingRun
from eirene.models.training.recipe import TrainingRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_COMMON = 5000


def load_trainable(run: TrainingRun, recipe: TrainingRecipe, *, device: str) -> PreTrainedModel:
    """The base model as the method wants it: whole in float32, or in the recipe's dtype where an adapter is to follow.

    Raises `InputError` where the adapter is meant for layers that the model does not have.
    """
    model = load_base(run.base, device=device, dtype="float32" if recipe.method == "full" else recipe.dtype)
    if recipe.method == "lora":
        _check_targets(model, recipe)
    if recipe.gradient_checkpointing:
        _checkpoint_activations(model)
    return model


def lora_config(recipe: TrainingRecipe) -> LoraConfig:
    """The recipe's LoRA."""
    targets: Any = "all-linear" if recipe.lora_targets is None else list(recipe.lora_targets)
    return LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=recipe.lora_rank,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules=targets,
    )


def adapted(model: PreTrainedModel, recipe: TrainingRecipe, *, seed: int) -> PreTrainedModel:
    """The model as the recipe's method trains it: itself, or under a new adapter."""
    if recipe.method == "full":
        return model
    if recipe.method == "lora":
        return with_adapter(model, lora_config(recipe), seed=seed)
    config = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=recipe.virtual_tokens)
    tuned = with_adapter(model, config, seed=seed)
    _begin_with_words(tuned, seed=seed)
    return tuned


def _begin_with_words(tuned: Any, *, seed: int) -> None:
    """Makes the virtual tokens copies of common tokens, drawn with the seed.

    The NPOV paper (appendix B, after Lester et al. 2021) draws from the 5,000 most frequent ones. Vocabularies are
    built from the frequent to the rare, so that a token's number stands for its rank.
    """
    from eirene.core.signature import rng_for

    (encoder,) = tuned.prompt_encoder.values()
    words = tuned.get_base_model().get_input_embeddings().weight.detach()
    drawn = rng_for(seed, "virtual tokens").choice(min(_COMMON, len(words)), size=len(encoder.embedding.weight))
    with torch.no_grad():
        encoder.embedding.weight.copy_(words[torch.as_tensor(drawn, device=words.device)])


def with_adapter(model: PreTrainedModel, config: PeftConfig, *, seed: int) -> PreTrainedModel:
    """The model under a new adapter whose first values hang on the seed."""
    torch.manual_seed(seed)
    with quiet_peft():
        adapted: Any = get_peft_model(model, config)
    return cast("PreTrainedModel", adapted)  # it stands in for the model it wraps


def _check_targets(model: PreTrainedModel, recipe: TrainingRecipe) -> None:
    found = {name.rpartition(".")[2] for name, part in model.named_modules() if not list(part.children())}
    missing = [target for target in recipe.lora_targets or () if target.rpartition(".")[2] not in found]
    if missing:
        raise InputError(
            f"the model has no layer {', '.join(missing)}; its layers: {', '.join(sorted(found))}; name some of them, "
            "or all-linear",
            field="lora_targets",
        )


def _checkpoint_activations(model: PreTrainedModel) -> None:
    """Saves memory for time. The method's name changed in transformers 5."""
    newer = getattr(model, "activation_checkpointing_enable", None)
    enable: Any = newer or model.gradient_checkpointing_enable
    enable()
    # Frozen embeddings would give the layers behind them nothing to derive by.
    cast(Any, model).enable_input_require_grads()
