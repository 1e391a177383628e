"""Loads models and PEFT adapters from disk or hub, whole or not at all: safetensors, no code of their own, no gaps.

Everything that loads a model by transformers does it here. Needs the extra `local`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from huggingface_hub import constants, get_session
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging
from transformers.utils.hub import cached_file

from eirene.core.errors import InputError, message_line
from eirene.core.logs import get_logger
from eirene.models.local.spec import ADAPTER_CONFIG, LocalSpec, read_object

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = get_logger(__name__)

_NAMED = 3
_CONFIG = "config.json"
_HUB_TIMEOUT_S = 10.0
_KERNEL = re.compile(r'"_?attn_implementation"\s*:\s*"[^"]*/')
_ADAPTER = "adapter_model.safetensors"


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
        raise InputError(f"device {wanted!r} cannot be used: {message_line(error)}", field="device") from None
    return wanted


def load_model(auto: Any, path: str, *, what: str, field: str, may_lack: tuple[str, ...] = (), **options: Any) -> Any:
    """The model at `path`, by one of transformers' `Auto` classes, with every weight as its files have it.

    Raises `InputError` for what cannot be loaded, would run code of its own, has no safetensors, lacks tensors (but for
    those whose names begin with one of `may_lack`: parts that the caller never asks), has them in another shape, or
    holds NaN or infinity. Tensors that the model has no use for are named in the log.
    """
    where = f"the {what} {path!r}"
    _check_folder(path, field=field)
    _check_files(path, where, field=field)
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")  # transformers would have pickles made over
    try:
        with quiet_transformers():
            model, info = auto.from_pretrained(
                path, trust_remote_code=False, use_safetensors=True, output_loading_info=True,
                ignore_mismatched_sizes=True, **options,
            )  # fmt: skip
    except Exception as error:  # transformers, safetensors and the hub's client raise what they like, without a root
        raise _unloadable(where, error, field=field) from error
    _check_gaps(info, where, field=field, may_lack=may_lack)
    refuse_not_finite(model.state_dict().items(), where, field=field)
    if info["unexpected_keys"]:
        logger.warning("%s has %s that this use has no place for; left out", where, _listed(info["unexpected_keys"]))
    return model


def load_tokenizer(path: str, *, field: str = "backend") -> PreTrainedTokenizerBase:
    """The tokenizer at `path`; raises `InputError` where it cannot be loaded, or would run code of its own."""
    _check_folder(path, field=field)
    try:
        with quiet_transformers():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # as above
        raise _unloadable(f"the tokenizer of {path!r}", error, field=field) from error
    return tokenizer


def file_beside(path: str, name: str) -> Path | None:
    """A file that lies beside a model's or adapter's weights, None where there is none.

    In its folder or, for a name on the hub, in the hub's cache, where it is fetched to if need be.
    """
    if Path(path).is_dir():
        file = Path(path) / name
        return file if file.is_file() else None
    _offline_without_hub()
    try:
        found = cached_file(
            path, name, _raise_exceptions_for_gated_repo=False, _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )  # fmt: skip
    except Exception:  # no such name: that is for the weights to say
        return None
    return None if found is None else Path(found)


def refuse_not_finite(tensors: Any, where: str, *, field: str) -> None:
    """Raises `InputError` that names the tensors, of (name, tensor) pairs, that hold NaN or infinity."""
    bad = [name for name, tensor in tensors if not _is_finite(tensor)]
    if bad:
        raise InputError(f"{where} is damaged: NaN or infinity in {_listed(bad)}; fetch or train it again", field=field)


@contextlib.contextmanager
def no_progress_bar() -> Iterator[None]:
    """A library writes on no terminal that nobody gave it."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers leaves it so
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # likewise


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """No bar, and no table of what is said here in a line."""
    level = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # likewise
    try:
        with no_progress_bar():
            yield
    finally:
        transformers_logging.set_verbosity(level)


@contextlib.contextmanager
def quiet_peft() -> Iterator[None]:
    """Passes over a warning that peft cannot help: it asks newer transformers by an older name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")
        yield


def _check_folder(path: str, *, field: str) -> None:
    """Raises for what is meant as a folder and is none; the hub's client would take it for a name, and a bad one."""
    if path.startswith(("/", ".", "~")) and not Path(path).is_dir():
        raise InputError(f"there is no folder {path!r}", field=field)
    if not Path(path).is_dir():
        _offline_without_hub()
    elif not any(Path(path, name).is_file() for name in (_CONFIG, "tokenizer_config.json", ADAPTER_CONFIG)):
        raise InputError(f"the folder {path!r} holds no model: it has no {_CONFIG}", field=field)


@functools.cache
def _offline_without_hub() -> None:
    """Has the hub's client look in its cache alone where the hub cannot be reached: it tries for 50 s at each file."""
    if constants.is_offline_mode():
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT_S)  # the client that knows proxy and certificates
    except Exception as error:  # one of a client that changes with the hub's version
        logger.info("the hub at %s cannot be reached (%s); only its cache is read", constants.ENDPOINT, error)
        constants.HF_HUB_OFFLINE = True  # what its own variable sets when it is imported


def _check_files(path: str, where: str, *, field: str) -> None:
    """Raises `InputError` for what transformers would do unasked: run code, whatever it is told to trust, in older
    releases (`custom_generate`) and by a configuration that names compiled kernels; put an adapter on that lies beside
    the weights, and say nothing of their gaps."""
    config = file_beside(path, _CONFIG)
    if (Path(path) / "custom_generate").is_dir():
        raise _runs_code(where, field=field)
    if config is None:
        return
    if _KERNEL.search(config.read_text(encoding="utf-8", errors="replace")):
        raise _runs_code(where, field=field)
    if file_beside(path, ADAPTER_CONFIG) is not None:
        said = f"{where} holds a model and an adapter ({ADAPTER_CONFIG})"
        raise InputError(f"{said}; keep them in folders of their own, and name hf:MODEL+ADAPTER", field=field)


def _check_gaps(info: dict[str, Any], where: str, *, field: str, may_lack: tuple[str, ...]) -> None:
    """transformers fills gaps with random numbers, and asks for no more than a look at a table."""
    lacking = [name for name in info["missing_keys"] if not name.startswith(may_lack)]
    if lacking:
        raise InputError(
            f"{where} lacks {_listed(lacking)}, which would be random; fetch it again, or name one that was made for "
            "this use",
            field=field,
        )
    shapes = {name: ["x".join(map(str, s)) for s in both] for name, *both in info["mismatched_keys"]}
    if shapes:
        other = [f"{name}: {there} for {wanted}" for name, (there, wanted) in shapes.items()]
        raise InputError(f"{where} has another shape than its configuration says in {_listed(other)}", field=field)


def _is_finite(tensor: torch.Tensor) -> bool:
    if tensor.is_meta or not tensor.is_floating_point() or not tensor.numel():
        return True  # kept on disk until it is needed, or whole numbers, or nothing
    whole = tensor.float() if tensor.element_size() == 1 else tensor  # torch looks into no float of 8 bits
    lowest, highest = torch.aminmax(whole)  # NaN is both: 40 times as fast as asking each number
    return bool(torch.isfinite(lowest) and torch.isfinite(highest))


def _listed(names: Collection[str]) -> str:
    """How many names, and the first few of them."""
    shown = ", ".join(sorted(names)[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return f"{len(names)} tensor{'' if len(names) == 1 else 's'} ({shown})"


def _unloadable(where: str, error: Exception, *, field: str) -> InputError:
    if "trust_remote_code" in str(error):  # what transformers says where it has no code of its own for the model
        return _runs_code(where, field=field)
    return InputError(f"{where} cannot be loaded: {message_line(error)}", field=field)


def _runs_code(where: str, *, field: str) -> InputError:
    return InputError(
        f"{where} wants to run code of its own, which is never done; name a model that transformers loads without any",
        field=field,
    )


def with_adapter(model: PreTrainedModel, adapter: str) -> tuple[PreTrainedModel, torch.Tensor | None]:
    """The model with a LoRA merged into its weights, or as it is beside a prompt tuning's virtual tokens [1, n, width].

    Raises `InputError` for an adapter that is of another kind or made for another model, has no safetensors, lacks
    tensors, or holds NaN or infinity.
    """
    from peft import PeftType

    _check_folder(adapter, field="backend")
    where = f"the adapter {adapter!r}"
    names = _adapter_tensors(adapter, where)
    adapted = _attached(model, adapter, where)
    _check_adapter(adapted, names, where)
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


def _adapter_tensors(adapter: str, where: str) -> set[str]:
    """The names of the adapter's tensors, all of them finite; peft would read a pickle as well."""
    file, config = file_beside(adapter, _ADAPTER), file_beside(adapter, ADAPTER_CONFIG)
    if file is None:
        raise InputError(f"{where} cannot be loaded: it has no {_ADAPTER}", field="backend")
    if config is not None and read_object(config).get("megatron_config"):  # peft imports the module that it names
        raise _runs_code(where, field="backend")
    try:
        with safe_open(file, "pt") as held:
            names = set(held.keys())
            refuse_not_finite(((name, held.get_tensor(name)) for name in names), where, field="backend")
    except InputError:
        raise
    except Exception as error:  # safetensors has an error of its own, and raises others
        raise InputError(f"{where} cannot be loaded: {message_line(error)}", field="backend") from error
    return names


def _attached(model: PreTrainedModel, adapter: str, where: str) -> Any:
    from peft import PeftModel

    try:
        with quiet_peft():
            warnings.filterwarnings("ignore", message="Found missing adapter keys")  # `_check_adapter` refuses them
            return PeftModel.from_pretrained(model, adapter)
    except KeyError as error:  # a prompt tuning's vectors, or the like, by their name
        raise _lacking({str(error.args[0])}, where) from error
    except Exception as error:  # peft, torch and the hub's client raise whatever they like, without a root
        raise InputError(f"{where} does not go with this model: {message_line(error)}", field="backend") from error


def _check_adapter(adapted: Any, names: set[str], where: str) -> None:
    """Refuses an adapter without tensors that one of its kind is saved with; names those that went nowhere."""
    from peft import get_peft_model_state_dict

    wanted = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    if wanted - names:
        raise _lacking(wanted - names, where)
    surplus = names - wanted - set(adapted.state_dict())
    if surplus:
        logger.warning("%s has %s that this model has no place for; left out", where, _listed(surplus))


def _lacking(names: set[str], where: str) -> InputError:
    return InputError(f"{where} lacks {_listed(names)}; fetch or train it again", field="backend")
