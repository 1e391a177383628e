"""Loads models and adapters from disk or hub, and says in one line what is wrong. Needs the extra `local`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from transformers import AutoModelForCausalLM

from eirene.core.errors import InputError
from eirene.models.local.adapter import with_adapter
from eirene.models.local.checkpoint import beside, load_model, load_tokenizer, said
from eirene.models.local.spec import LocalSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plain transformers model (a LoRA is merged), its tokenizer, and a prompt-tuning adapter's virtual tokens."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    soft_prompt: torch.Tensor | None = None


def load(spec: LocalSpec) -> Loaded:
    """Loads what `spec` names; raises `InputError` that says which part could not be loaded and why."""
    device = choose_device(spec.device)
    carries_tokenizer = spec.adapter is not None and beside(spec.adapter, "tokenizer_config.json") is not None
    tokenizer = load_tokenizer(spec.adapter if spec.adapter is not None and carries_tokenizer else spec.model)
    model = load_base(spec.model, device=device, dtype=spec.dtype)
    if spec.adapter is None:
        return Loaded(model, tokenizer)
    adapted, soft_prompt = with_adapter(model, spec.adapter)
    return Loaded(adapted, tokenizer, soft_prompt)


def load_base(path: str, *, device: str, dtype: str | None) -> PreTrainedModel:
    """The causal language model at `path`, on its device; raises `InputError` where it cannot be loaded."""
    model = load_model(
        AutoModelForCausalLM, path, what="model", field="backend",
        dtype=dtype or ("float32" if device == "cpu" else "auto"), device_map="auto" if device == "auto" else None,
    )  # fmt: skip
    return cast("PreTrainedModel", model if device == "auto" else model.to(device))


def choose_device(wanted: str | None) -> str:
    """The device to use: the given one if it is there, else a GPU, else the CPU. Raises `InputError`."""
    if wanted is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "auto":
        return wanted
    try:
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError) as error:  # torch asserts where it was built without CUDA
        raise InputError(f"device {wanted!r} cannot be used: {said(error)}", field="device") from None
    return wanted
