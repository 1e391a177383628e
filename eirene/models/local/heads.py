"""Classification heads on this machine, by a published protocol: of a pair of texts, or of each token of an answer.

Also the first token of a sequence-to-sequence model, which answers a question of two labels. Importing this loads no
torch.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, cast

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.models.faults import out_of_memory_as_error
from eirene.models.local.layout import break_special_tokens
from eirene.models.local.spec import PREFIX, LocalSpec, read_object
from eirene.models.protocols import Protocol

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

T = TypeVar("T")
FIELD = "detector-model"
_ENTAILS = "entails"
_BATCH = 16
_NO_LIMIT = 100_000  # tokenizers without a limit of their own give a huge number


class HeadModel:
    """A loaded model that is read as its protocol says; `label` is the number of the label that counts.

    It works in one thread of its own, like a local language model.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        row: Protocol,
        *,
        name: str,
        label: int | None = None,
        version: str = "",
    ) -> None:
        self.name = name
        self.version = version
        self.row = row
        model.train(False)
        self._model = cast(Any, model)
        self._tokenizer: Any = tokenizer
        count = len(row.tokens) or int(self._model.config.num_labels)
        if row.labels not in (None, count):
            raise InputError(f"{name} has {count} labels, and {row.name} has {row.labels}", field=FIELD)
        label = row.label if label is None else label
        self.label = _entailment(self._model.config.id2label, name=name) if label is None else label
        if not 0 <= self.label < count:
            raise InputError(f"{name} has {count} labels; there is no label {self.label}", field=FIELD)
        self._against = _contradiction(self._model.config.id2label, self.label, name=name) if row.of_two else None
        limits = (getattr(tokenizer, "model_max_length", None), _positions(self._model))
        own = min([n for n in limits if isinstance(n, int) and 0 < n < _NO_LIMIT], default=512)
        self.max_tokens = row.longest or own
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="eirene-head")

    async def compute(self, work: Callable[[], T]) -> T:
        """Does work with the model in its thread and in its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def length(self, text: str) -> int:
        """How many tokens a text has by itself."""
        return len(self._tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"])

    def tokens(self, premise: str, hypothesis: str) -> int:
        """How many tokens a pair has, those that hold it together included."""
        return len(self._encoded([(premise, hypothesis)])["input_ids"][0])

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The probability in [0, 1] that each premise supports its hypothesis; none may be longer than `max_tokens`.

        Raises `BackendError` when memory runs out.
        """
        order = sorted(range(len(pairs)), key=lambda n: len(pairs[n][0]) + len(pairs[n][1]))
        found = [0.0] * len(pairs)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            encoded = self._encoded([pairs[n] for n in batch], padding=True, return_tensors="pt")
            for n, shares in zip(batch, self._shares(encoded), strict=True):
                # A head over tokens, and a first token: what stands at the beginning counts.
                found[n] = float((shares[0] if shares.dim() > 1 else shares)[self.label])
        return found

    def marks(self, prompt: str, answer: str) -> list[tuple[int, int, float]]:
        """The tokens of the answer, read after the prompt: character offsets, and the probability of the label.

        Raises `BackendError` when memory runs out.
        """
        encoded = self._encoded([(prompt, answer)], return_tensors="pt", return_offsets_mapping=True)
        places, sides = encoded.pop("offset_mapping")[0].tolist(), encoded.sequence_ids(0)
        shares = self._shares(encoded)[0][:, self.label].tolist()
        read = zip(places, sides, shares, strict=True)
        return [(start, end, share) for (start, end), side, share in read if side == 1 and end > start]

    def _encoded(self, pairs: Sequence[tuple[str, str]], **options: Any) -> Any:
        """The pairs in the protocol's layout; a special token that a text spells out is broken up, or read as text."""
        options |= {"truncation": False, "verbose": False}
        layout = self.row.layout
        if layout is None or self.row.kind == "token head":
            one, other = zip(*pairs, strict=True)
            return self._tokenizer(list(one), list(other), split_special_tokens=True, **options)
        end = self._tokenizer.eos_token
        clean = [[break_special_tokens(self._tokenizer, text) for text in pair] for pair in pairs]
        texts = [layout.format(premise=premise, hypothesis=hypothesis, end=end) for premise, hypothesis in clean]
        return self._tokenizer(texts, **options)

    def _shares(self, encoded: Any) -> Any:
        """Probabilities of the labels: [batch, labels], or [batch, tokens, labels]."""
        import torch

        encoded = encoded.to(self._model.device)
        rows, length = encoded["input_ids"].shape
        if self.row.tokens:
            start = self._model.config.decoder_start_token_id
            encoded["decoder_input_ids"] = torch.full((rows, 1), start, device=self._model.device)
        with torch.inference_mode(), out_of_memory_as_error(self.name, f"{rows} pairs of up to {length} tokens"):
            logits = self._model(**encoded).logits
        if self.row.tokens:
            logits = logits[..., list(self.row.tokens)]
        if self._against is not None:
            others = [n for n in range(logits.shape[-1]) if n not in (self.label, self._against)]
            logits = logits.index_fill(-1, torch.tensor(others, device=logits.device, dtype=torch.long), -torch.inf)
        return logits.double().softmax(-1).cpu()


def load_head(row: Protocol, spec: str | None = None, *, device: str | None = None) -> HeadModel:
    """Loads `hf:path-or-id`, or else the checkpoint of the protocol.

    A protocol that takes the label named entailment knows `hf:path-or-id?entails=N` as well. Raises
    `MissingExtraError` without the extra `local`, `InputError` for what cannot be loaded or has other labels.
    """
    if spec is None and row.hub is None:
        raise InputError(f"name the model of {row.name}: --{FIELD} {row.name}={PREFIX}path-or-id", field=FIELD)
    require("torch", "transformers")
    path, label = _parsed(spec or f"{PREFIX}{row.hub}", row)
    import transformers

    from eirene.models.local.loading import choose_device, load_model, load_tokenizer
    from eirene.models.local.model import version_of

    options: dict[str, Any] = {"key_mapping": {f"^{re.escape(old)}": new for old, new in row.renamed}}
    beside = path if row.base is None else _base(row, path)
    tokenizer = load_tokenizer(beside, field=FIELD)
    if beside != path:  # its own configuration names a class of its own
        options["config"] = transformers.AutoConfig.from_pretrained(beside, trust_remote_code=False)
    elif row.labels is not None and row.layout is None:
        options["num_labels"] = row.labels  # a checkpoint of several heads says nothing of how many labels one has
    of_tokens = row.kind == "token head" or row.base is not None
    what = "Seq2SeqLM" if row.tokens else "TokenClassification" if of_tokens else "SequenceClassification"
    model = load_model(
        getattr(transformers, f"AutoModelFor{what}"), path, what="classifier", field=FIELD, **options
    ).to(choose_device(device))
    version = version_of(LocalSpec(path), model)
    return HeadModel(model, tokenizer, row, name=PREFIX + path, label=label, version=version)


def _base(row: Protocol, path: str) -> str:
    """Where configuration and tokenizer are: with the weights, if transformers can read what is there."""
    from eirene.models.local.loading import file_beside

    config = file_beside(path, "config.json")
    return path if config is not None and read_object(config).get("model_type") == "t5" else cast(str, row.base)


def _parsed(spec: str, row: Protocol) -> tuple[str, int | None]:
    if not spec.startswith(PREFIX) or spec == PREFIX:
        raise InputError(f"the model of {row.name} is named hf:path-or-id, got {spec!r}", field=FIELD)
    path, _, option = spec.removeprefix(PREFIX).partition("?")
    if not option:
        return path, None
    name, _, value = option.partition("=")
    if row.label is not None or name != _ENTAILS or not value.isdecimal():
        known = f"known: {_ENTAILS}=N" if row.label is None else "it has none"
        raise InputError(f"{option!r} is no option of the model of {row.name}; {known}", field=FIELD)
    return path, int(value)


def _positions(model: Any) -> int:
    """How many tokens have a place of their own; RoBERTa and its kin count from behind the padding token's number."""
    most = int(getattr(model.config, "max_position_embeddings", 0) or 0)
    for name, part in model.named_modules():
        if name.endswith("position_embeddings") and (padding := getattr(part, "padding_idx", None)) is not None:
            return most - int(padding) - 1
    return most


def _contradiction(labels: dict[int, str], entails: int, *, name: str) -> int:
    """The label named contradiction, or the other one of two."""
    found = [n for n, label in labels.items() if label.lower().startswith("contradict") or len(labels) == 2]
    found = [n for n in found if n != entails]
    if len(found) != 1:
        said = ", ".join(labels.values())
        raise InputError(f"{name} has the labels {said}, of which none is known for contradiction", field=FIELD)
    return int(found[0])


def _entailment(labels: dict[int, str], *, name: str) -> int:
    found = [n for n, label in labels.items() if label.lower().startswith("entail")]
    if len(found) != 1:
        said = f"{name} has the labels {', '.join(labels.values())}, of which none is known for entailment"
        raise InputError(f"{said}; name its number: {name}?{_ENTAILS}=N", field=FIELD)
    return int(found[0])
