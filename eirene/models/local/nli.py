"""Natural language inference (NLI): how surely a premise entails a hypothesis. Importing this loads no torch."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.models.faults import out_of_memory_as_error

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

T = TypeVar("T")
PREFIX = "hf:"
_ENTAILS = "entails"
_BATCH = 16
_NO_LIMIT = 100_000  # tokenizers without a limit of their own give a huge number


class NliModel:
    """A loaded classifier; `entails` is the number of its label for entailment.

    It works in one thread of its own, like a local language model.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str,
        entails: int | None = None,
        version: str = "",
    ) -> None:
        self.name = name
        self.version = version
        model.train(False)
        self._model = cast(Any, model)
        self._tokenizer: Any = tokenizer
        if entails is None:
            entails = _entailment(self._model.config.id2label, name=name)
        self.entails = entails
        if not 0 <= self.entails < self._model.config.num_labels:
            raise InputError(f"{name} has {self._model.config.num_labels} labels; there is no label {self.entails}",
                             field="nli")  # fmt: skip
        limits = (getattr(tokenizer, "model_max_length", None), _positions(self._model))
        self.max_tokens = min([n for n in limits if isinstance(n, int) and 0 < n < _NO_LIMIT], default=512)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="eirene-nli")

    async def compute(self, work: Callable[[], T]) -> T:
        """Does work with the model in its thread and in its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def length(self, text: str) -> int:
        """How many tokens a text has by itself."""
        return len(self._tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"])

    def tokens(self, premise: str, hypothesis: str) -> int:
        """How many tokens a pair has, those that hold it together included."""
        return len(self._tokenizer(premise, hypothesis, truncation=False, verbose=False)["input_ids"])

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability in [0, 1] that each premise entails its hypothesis; none may be longer than `max_tokens`.

        Raises `BackendError` when memory runs out.
        """
        import torch

        order = sorted(range(len(pairs)), key=lambda n: len(pairs[n][0]) + len(pairs[n][1]))
        found = [0.0] * len(pairs)
        device = self._model.device
        with torch.inference_mode():
            for start in range(0, len(order), _BATCH):
                batch = order[start : start + _BATCH]
                encoded = self._tokenizer(
                    [pairs[n][0] for n in batch], [pairs[n][1] for n in batch], padding=True, return_tensors="pt"
                ).to(device)
                with out_of_memory_as_error(
                    self.name, f"{len(batch)} pairs of up to {encoded['input_ids'].shape[1]} tokens"
                ):
                    shares = self._model(**encoded).logits.double().softmax(-1)[:, self.entails].tolist()
                for n, share in zip(batch, shares, strict=True):
                    found[n] = share
        return found


def load_nli(spec: str, *, device: str | None = None) -> NliModel:
    """Loads `hf:path-or-id[?entails=N]`; without `entails` the label named entailment is taken.

    Raises `MissingExtraError` without the extra `local`, `InputError` for what cannot be loaded or has no such label.
    """
    require("torch", "transformers")
    path, entails = _parsed(spec)
    from transformers import AutoModelForSequenceClassification

    from eirene.models.local.loading import choose_device, load_model, load_tokenizer

    tokenizer = load_tokenizer(path, field="nli")
    model = load_model(AutoModelForSequenceClassification, path, what="classifier", field="nli")
    return NliModel(
        model.to(choose_device(device)), tokenizer, name=PREFIX + path, entails=entails, version=_version(path, model)
    )


def _parsed(spec: str) -> tuple[str, int | None]:
    if not spec.startswith(PREFIX) or spec == PREFIX:
        raise InputError(f"a sequence classifier is named hf:path-or-id, got {spec!r}", field="nli")
    path, _, option = spec.removeprefix(PREFIX).partition("?")
    if not option:
        return path, None
    name, _, value = option.partition("=")
    if name != _ENTAILS or not value.isdecimal():
        raise InputError(f"{option!r} is no option of a sequence classifier; known: {_ENTAILS}=N", field="nli")
    return path, int(value)


def _positions(model: Any) -> int:
    """How many tokens have a place of their own; RoBERTa and its kin count from behind the padding token's number."""
    most = int(getattr(model.config, "max_position_embeddings", 0) or 0)
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and (padding := getattr(part, "padding_idx", None)) is not None:
            return most - int(padding) - 1
    return most


def _entailment(labels: dict[int, str], *, name: str) -> int:
    found = [n for n, label in labels.items() if label.lower().startswith("entail")]
    if len(found) != 1:
        raise InputError(
            f"{name} has the labels {', '.join(labels.values())}, of which none is known for entailment; "
            f"name its number: {name}?{_ENTAILS}=N",
            field="nli",
        )
    return int(found[0])


def _version(path: str, model: Any) -> str:
    """12 hex digits that change with the model: its configuration, and the weights' names, sizes and times."""
    found = hashlib.sha256(
        str(getattr(model.config, "_commit_hash", None)).encode() + model.config.to_json_string().encode()
    )
    for file in sorted(Path(path).glob("*.safetensors")):
        found.update(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}".encode())
    return found.hexdigest()[:12]
