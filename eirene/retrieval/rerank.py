"""A cross-encoder as reranker: any Hugging Face sequence classifier that scores pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eirene.extras import require

_TOGETHER = 16


class CrossEncoder:
    """Scores of (query, text): the one logit of a regression head, else that of the last label.

    On the CPU in single precision, so that the same pair gives the same score. Pairs longer than the model reads are
    cut at their longer side. Raises `MissingExtraError` without the extra `local`, and `InputError` for a model that
    cannot be loaded whole.
    """

    def __init__(self, name: str) -> None:
        require("torch", "transformers")
        from transformers import AutoModelForSequenceClassification

        from eirene.models.local_checkpoint import load_model, load_tokenizer

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
