"""Encoders and rerankers by name: what `--corpus-encoder` and `--rerank` stand for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import InputError, message_line
from eirene.core.extras import importing, require

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

SHIPPED = "embedded"
AS_FAVA = "?as=fava"
"""Ends the name of an encoder whose vectors keep their lengths, as Contriever's do."""
_FIELD = "corpus-encoder"
_PROBE = "What tells two encoders apart?"
_PARTS = ("modules.json", "router_config.json")
_TOGETHER = 16


def encoder_named(name: str = SHIPPED) -> Encodes:
    """The encoder behind a name: `embedded`, or what `sentence_transformers.SentenceTransformer` takes.

    With `AS_FAVA` behind it its vectors are not brought to length 1: passages are compared by inner product, as FAVA
    does with Contriever (sections 5 and 6.2), and one of them comes by the name of an entity (`Retriever`).

    Raises `MissingExtraError` without that package, and `InputError` for a model that it cannot load, that would run
    code of its own, whose weights hold NaN, or lack tensors: then its vectors are others at every load.
    """
    if name == SHIPPED:
        from eirene.models.encoder.runtime import shipped_encoder

        return shipped_encoder()
    model, option, rest = name.partition("?")
    if option + rest not in ("", AS_FAVA) or (model == SHIPPED and option):
        raise InputError(f"an encoder is named {SHIPPED}, NAME or NAME{AS_FAVA}, got {name!r}", field=_FIELD)
    _refuse_code(model)
    first, second = (_loaded(name, seed=seed) for seed in (0, 1))
    if first.digest != second.digest:
        raise InputError(f"the encoder {name!r} lacks tensors, which would be random; fetch it again", field=_FIELD)
    return first


def _loaded(name: str, *, seed: int) -> _SentenceEncoder:
    """The model as the library loads it. What its weights do not bring is drawn: by another seed it is another."""
    model_name = name.removesuffix(AS_FAVA)
    with importing("sentence_transformers"):
        import torch
        from sentence_transformers import SentenceTransformer
    from eirene.models.local.loading import quiet_transformers, refuse_not_finite

    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(seed)
        try:
            model = SentenceTransformer(
                model_name, device="cpu", trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
            encoder = _SentenceEncoder(name, model)
        except Exception as error:  # the library raises whatever its loaders and the hub raise
            raise InputError(f"the encoder {name!r} cannot be loaded: {message_line(error)}", field=_FIELD) from error
    refuse_not_finite(model.state_dict().items(), f"the encoder {name!r}", field=_FIELD)
    return encoder


def _refuse_code(name: str) -> None:
    """Older releases of the library run code that lies in a folder, whatever they are told to trust."""
    for file in (f for kind in _PARTS for f in (Path(name).rglob(kind) if Path(name).is_dir() else ())):
        try:
            types = list(_types(json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"the encoder {name!r} cannot be loaded: {file.name}: {error}", field=_FIELD) from None
        foreign = [t for t in types if not t.startswith("sentence_transformers.")]
        if foreign:
            raise InputError(
                f"the encoder {name!r} wants to run code of its own ({foreign[0]!r} in {file.name}), which is never "
                "done; name a model that sentence-transformers loads without any",
                field=_FIELD,
            )


def _types(value: Any) -> Iterator[str]:
    """The classes that a list of a model's parts names, under `type`, or under `types` by the part's name."""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            named = part.get("types")
            yield from map(str, named.values() if isinstance(named, dict) else ())
            if "type" in part:
                yield str(part["type"])


class _SentenceEncoder:
    def __init__(self, name: str, model: Any) -> None:
        self._model = model
        self.by_product = name.endswith(AS_FAVA)
        # Two models of one name differ in their weights: the vector of a fixed text tells them apart.
        probe = np.round(self.encode([_PROBE]), 3).tobytes()
        self.digest = hashlib.sha256(name.encode() + probe).hexdigest()[:12]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = self._model.encode(list(texts), normalize_embeddings=not self.by_product, show_progress_bar=False)
        return np.asarray(found, np.float32)


class CrossEncoder:
    """Scores of (query, text): the one logit of a regression head, else that of the last label.

    On the CPU in single precision, so that the same pair gives the same score. Pairs longer than the model reads are
    cut at their longer side. Raises `MissingExtraError` without the extra `local`, and `InputError` for a model that
    cannot be loaded whole.
    """

    def __init__(self, name: str) -> None:
        require("torch", "transformers")
        from transformers import AutoModelForSequenceClassification

        from eirene.models.local.loading import load_model, load_tokenizer

        self._tokenizer: Any = load_tokenizer(name, field="rerank")
        self._model: Any = load_model(
            AutoModelForSequenceClassification, name, what="reranker", field="rerank", dtype="float32"
        ).train(False)
        self.digest = str(name)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The score of each text, in order."""
        import torch

        longest = min(
            self._tokenizer.model_max_length, getattr(self._model.config, "max_position_embeddings", 512), 512
        )
        found: list[float] = []
        for start in range(0, len(texts), _TOGETHER):
            some = list(texts[start : start + _TOGETHER])
            encoded = self._tokenizer(
                [query] * len(some), some, truncation="longest_first", max_length=longest, padding=True,
                return_tensors="pt",
            )  # fmt: skip
            with torch.no_grad():
                logits = self._model(**encoded).logits
            found += [float(v) for v in logits[:, -1]]
        return found
