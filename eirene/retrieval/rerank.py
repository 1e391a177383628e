"""A cross-encoder as reranker: any Hugging Face sequence classifier that scores pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eirene.errors import EncoderError, MissingExtraError

_TOGETHER = 16


class CrossEncoder:
    """Scores of (query, text): the one logit of a regression head, else that of the last label.

    On the CPU in single precision, so that the same pair gives the same score. Pairs longer than the model reads are
    cut at their longer side.
    """

    def __init__(self, name: str) -> None:
        try:
            import torch
            from transformers import AutoModelForSequenceClassification, AutoTokenizer
        except ImportError:
            raise MissingExtraError("local", "transformers") from None
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name)
            self._model: Any = AutoModelForSequenceClassification.from_pretrained(name, dtype=torch.float32).eval()
        except (OSError, ValueError) as error:
            raise EncoderError(f"the reranker {name!r} cannot be loaded: {error}") from None
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
