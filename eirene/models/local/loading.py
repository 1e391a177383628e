"""Loads local models and PEFT adapters from disk or hub, whole or not at all. Needs the extra `local`."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from eirene.core.errors import InputError
from eirene.models.local.checkpoint import (
    check_folder,
    file_beside,
    listed,
    load_model,
    load_tokenizer,
    logger,
    pickles,
    refuse_not_finite,
    short_message,
)
from eirene.models.local.spec import ADAPTER_CONFIG, LocalSpec, read_object

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_SAFE = "adapter_model.safetensors"
_PICKLED = "adapter_model.bin"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A plain transformers model (a LoRA is merged), its tokenizer, and a prompt-tuning adapter's virtual tokens."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    soft_prompt: torch.Tensor | None = None


def load(spec: LocalSpec) -> Loaded:
    """Loads what `spec` names; raises `InputError` that says which part could not be loaded and why."""
    device = choose_device(spec.device)
    carries_tokenizer = spec.adapter is not None and file_beside(spec.adapter, "tokenizer_config.json") is not None
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
        raise InputError(f"device {wanted!r} cannot be used: {short_message(error)}", field="device") from None
    return wanted


def with_adapter(model: PreTrainedModel, adapter: str) -> tuple[PreTrainedModel, torch.Tensor | None]:
    """The model with a LoRA merged into its weights, or as it is beside a prompt tuning's virtual tokens [1, n, width].

    Raises `InputError` for an adapter that is of another kind or made for another model, is pickled, lacks tensors,
    or holds NaN or infinity.
    """
    from peft import PeftType

    check_folder(adapter)
    where = f"the adapter {adapter!r}"
    names = _checked_weights(adapter, where)
    _refuse_imports(adapter, where)
    adapted = _attached(model, adapter, where)
    _compare(adapted, names, where)
    config = adapted.active_peft_config
    if config.peft_type in (PeftType.PROMPT_TUNING, PeftType.P_TUNING):
        with torch.inference_mode():
            soft_prompt = adapted.get_prompt(batch_size=1).detach()
        return cast("PreTrainedModel", adapted.get_base_model()), soft_prompt
    if config.is_prompt_learning or not hasattr(adapted.base_model, "merge_and_unload"):
        raise InputError(
            f"{where} is of the kind {config.peft_type}; LoRA and its kin, prompt tuning and p-tuning are known",
            field="backend",
        )
    return cast("PreTrainedModel", adapted.merge_and_unload()), None


def _attached(model: PreTrainedModel, adapter: str, where: str) -> Any:
    from peft import PeftModel

    try:
        with quiet_peft():
            warnings.filterwarnings("ignore", message="Found missing adapter keys")  # `_compare` refuses them
            return PeftModel.from_pretrained(model, adapter)
    except KeyError as error:  # a prompt tuning's vectors, or the like, by their name
        raise _lacking({str(error.args[0])}, where) from error
    except Exception as error:  # peft, torch and the hub's client raise whatever they like, without a root
        raise InputError(f"{where} does not go with this model: {short_message(error)}", field="backend") from error


@contextlib.contextmanager
def quiet_peft() -> Iterator[None]:
    """Passes over a warning that peft cannot help: it asks newer transformers by an older name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")
        yield


def _checked_weights(adapter: str, where: str) -> set[str]:
    """The names of the adapter's tensors, all of them finite; raises `InputError` where they are not, or pickled."""
    file = file_beside(adapter, _SAFE)
    if file is None:
        if file_beside(adapter, _PICKLED) is not None:
            raise pickles(where, _PICKLED, field="backend")
        raise InputError(f"{where} cannot be loaded: it has no {_SAFE}", field="backend")
    try:
        with safe_open(file, "pt") as held:
            names = set(held.keys())
            refuse_not_finite(((name, held.get_tensor(name)) for name in names), where, field="backend")
    except InputError:
        raise
    except Exception as error:  # safetensors has an error of its own, and raises others
        raise InputError(f"{where} cannot be loaded: {short_message(error)}", field="backend") from error
    return names


def _refuse_imports(adapter: str, where: str) -> None:
    """peft imports whatever module an adapter names for Megatron's layers."""
    file = file_beside(adapter, ADAPTER_CONFIG)
    if file is not None and read_object(file).get("megatron_config"):
        raise InputError(
            f"{where} names a module to be imported (megatron_config in {ADAPTER_CONFIG}), which is never done",
            field="backend",
        )


def _lacking(names: set[str], where: str) -> InputError:
    return InputError(f"{where} lacks {listed(names)}; fetch or train it again", field="backend")


def _compare(adapted: Any, names: set[str], where: str) -> None:
    """Refuses an adapter without tensors that one of its kind is saved with; names those that went nowhere."""
    from peft import get_peft_model_state_dict

    wanted = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if wanted - names:
        raise _lacking(wanted - names, where)
    surplus = names - wanted - set(adapted.state_dict())
    if surplus:
        logger.warning("%s has %s that this model has no place for; left out", where, listed(surplus))
