"""Loads pretrained checkpoints whole or not at all: safetensors, no code of their folder, no missing tensor, no NaN.

Needs the extra `local`. Everything that loads a model by transformers does it here; adapters are in `loading`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging
from transformers.utils.hub import cached_file

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.models.local.spec import ADAPTER_CONFIG

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = get_logger(__name__)

_SHOWN = 300
_NAMED = 3
_CONFIG = "config.json"
_TOKENIZER_CONFIG = "tokenizer_config.json"
_OWN_GENERATE = "custom_generate/generate.py"
_SAFE = ("model.safetensors", "model.safetensors.index.json")
_PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "pytorch_model.pt", "model.bin")


def load_model(auto: Any, path: str, *, what: str, field: str, may_lack: tuple[str, ...] = (), **options: Any) -> Any:
    """The model at `path`, by one of transformers' `Auto` classes, with every weight as its files have it.

    Raises `InputError` for what cannot be loaded, would run code of its own, is pickled, lacks tensors (but for those
    whose names begin with one of `may_lack`: parts that the caller never asks), has them in another shape, or holds
    NaN or infinity. Tensors that the model has no use for are named in the log.
    """
    check_folder(path, field=field)
    refuse_code(path, what=what, field=field)
    _refuse_pickles(path, what=what, field=field)
    _refuse_two(path, what=what, field=field)
    try:
        with quiet_transformers():
            model, info = auto.from_pretrained(
                path, trust_remote_code=False, use_safetensors=True, output_loading_info=True,
                ignore_mismatched_sizes=True, **options,
            )  # fmt: skip
    except Exception as error:  # transformers, safetensors and the hub's client raise what they like, without a root
        raise _unloadable(path, error, what=what, field=field) from error
    where = f"the {what} {path!r}"
    _refuse_gaps(info, where, field=field, may_lack=may_lack)
    refuse_not_finite(model.state_dict().items(), where, field=field)
    _tell_surplus(info["unexpected_keys"], where)
    return model


def load_tokenizer(path: str, *, field: str = "backend") -> PreTrainedTokenizerBase:
    """The tokenizer at `path`; raises `InputError` where it cannot be loaded, or would run code of its own."""
    check_folder(path, field=field)
    try:
        with quiet_transformers():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # as above
        raise _unloadable(path, error, what="tokenizer of", field=field) from error
    return tokenizer


def file_beside(path: str, name: str) -> Path | None:
    """A file that lies beside a model's or adapter's weights, None where there is none.

    In its folder or, for a name on the hub, in the hub's cache, where it is fetched to if need be.
    """
    if Path(path).is_dir():
        file = Path(path) / name
        return file if file.is_file() else None
    try:
        found = cached_file(
            path,
            name,
            _raise_exceptions_for_gated_repo=False,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )
    except Exception:  # no such name: that is for the weights to say
        return None
    return None if found is None else Path(found)


def refuse_code(path: str, *, what: str, field: str) -> None:
    """Raises `InputError` for code of a folder that transformers would run although it is told to trust none.

    Older releases run `custom_generate/generate.py` of a folder on disk; a configuration can name compiled kernels.
    Code under `auto_map` is never run: transformers uses its own in its place, or refuses.
    """
    if Path(path).is_dir() and (Path(path) / _OWN_GENERATE).is_file():
        raise _code(path, _OWN_GENERATE, what=what, field=field)
    for key, value in _entries(_json(file_beside(path, _CONFIG))):
        if key in ("attn_implementation", "_attn_implementation") and isinstance(value, str) and "/" in value:
            raise _code(path, f"{key} {value!r} in {_CONFIG}", what=what, field=field)


def refuse_not_finite(tensors: Any, where: str, *, field: str) -> None:
    """Raises `InputError` that names the tensors, of (name, tensor) pairs, that hold NaN or infinity."""
    bad = [name for name, tensor in tensors if not _is_finite(tensor)]
    if bad:
        raise InputError(f"{where} is damaged: NaN or infinity in {listed(bad)}; fetch or train it again", field=field)


def check_folder(path: str, *, field: str = "backend") -> None:
    """Raises for what is meant as a folder and is none; the hub's client would take it for a name, and a bad one."""
    if path.startswith(("/", ".", "~")) and not Path(path).is_dir():
        raise InputError(f"there is no folder {path!r}", field=field)


def listed(names: Collection[str]) -> str:
    """How many names, and the first few of them."""
    shown = ", ".join(sorted(names)[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return f"{len(names)} tensor{'' if len(names) == 1 else 's'} ({shown})"


def short_message(error: BaseException) -> str:
    """An error's message on one line, shortened."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


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


def _refuse_pickles(path: str, *, what: str, field: str) -> None:
    if file_beside(path, _CONFIG) is None or any(file_beside(path, name) is not None for name in _SAFE):
        return  # no model at all, or one that can be read: that is for transformers to say
    pickled = next((name for name in _PICKLED if file_beside(path, name) is not None), None)
    if pickled is not None:
        raise pickles(f"the {what} {path!r}", pickled, field=field)


def _refuse_two(path: str, *, what: str, field: str) -> None:
    """transformers would put an adapter that lies beside a model's weights on it, and say nothing of their gaps."""
    if all(file_beside(path, name) is not None for name in (_CONFIG, ADAPTER_CONFIG)):
        raise InputError(
            f"the {what} {path!r} holds a model and an adapter ({ADAPTER_CONFIG}); keep them in folders of their own, "
            "and name hf:MODEL+ADAPTER",
            field=field,
        )


def pickles(where: str, file: str, *, field: str) -> InputError:
    """The error for weights whose reading may run code."""
    return InputError(
        f"{where} has its weights in {file}, a pickle, which is never read since reading one can run code; save them "
        "as safetensors (in transformers and peft: save_pretrained)",
        field=field,
    )


def _refuse_gaps(info: dict[str, Any], where: str, *, field: str, may_lack: tuple[str, ...]) -> None:
    """transformers fills gaps with random numbers, and asks for no more than a look at a table."""
    lacking = [name for name in info["missing_keys"] if not name.startswith(may_lack)]
    if lacking:
        raise InputError(
            f"{where} lacks {listed(lacking)}, which would be random; fetch it again, or name one that was made for "
            "this use",
            field=field,
        )
    other = [f"{name}: {_shape(there)} for {_shape(wanted)}" for name, there, wanted in info["mismatched_keys"]]
    if other:
        raise InputError(f"{where} has another shape than its configuration says in {listed(other)}", field=field)


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _tell_surplus(names: Collection[str], where: str) -> None:
    if names:
        logger.warning("%s has %s that this use has no place for; left out", where, listed(names))


def _is_finite(tensor: torch.Tensor) -> bool:
    if tensor.is_meta or not tensor.is_floating_point() or not tensor.numel():
        return True  # kept on disk until it is needed, or whole numbers, or nothing
    whole = tensor.float() if tensor.element_size() == 1 else tensor  # torch looks into no float of 8 bits
    lowest, highest = torch.aminmax(whole)  # NaN is both: 40 times as fast as asking each number
    return bool(torch.isfinite(lowest) and torch.isfinite(highest))


def _unloadable(path: str, error: Exception, *, what: str, field: str) -> InputError:
    if "trust_remote_code" in str(error):  # what transformers says where it has no code of its own for the model
        mapped = (n for n in (_CONFIG, _TOKENIZER_CONFIG) if "auto_map" in dict(_entries(_json(file_beside(path, n)))))
        return _code(path, f"auto_map in {next(mapped, _CONFIG)}", what=what, field=field)
    return InputError(f"the {what} {path!r} cannot be loaded: {short_message(error)}", field=field)


def _code(path: str, named: str, *, what: str, field: str) -> InputError:
    return InputError(
        f"the {what} {path!r} wants to run code of its own ({named}), which is never done; name a model that "
        "transformers loads without any",
        field=field,
    )


def _json(file: Path | None) -> Any:
    """What a JSON file holds, None where there is none or it cannot be read: that is for transformers to say."""
    try:
        return None if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key of an object with its value, and those of the objects in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _entries(inner)
