"""Constrained decoding: leaves a local model, at each place of a reply, the tokens that a grammar allows.

llguidance compiles the grammar and computes the masks. The model's own probabilities decide among what is left.
Needs the extra `local`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from eirene.core.errors import InputError
from eirene.core.extras import importing

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Vocabulary:
    """A tokenizer's vocabulary as llguidance wants it; made once for a model.

    `end_ids` end a reply. Raises `MissingExtraError` without llguidance, `InputError` for a tokenizer that it cannot
    take (one without a fast form).
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, end_ids: frozenset[int], *, name: str) -> None:
        with importing("llguidance"):
            from llguidance import hf
        self._name = name
        self._end_ids = sorted(end_ids)
        try:
            self._tokens: Any = hf.from_tokenizer(cast("Any", tokenizer))
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:  # whatever a tokenizer lacks
            raise InputError(
                f"{name}: replies cannot be held to a form with this tokenizer ({error}); use --structured text",
                field="structured",
            ) from error

    def constrain(self, grammar: str, samples: int) -> Constraint:
        """What holds so many samples to the grammar. Raises `InputError` for one that cannot be compiled."""
        from llguidance import LLMatcher

        problem = LLMatcher.validate_grammar(grammar, self._tokens)
        if problem:
            raise InputError(f"{self._name}: the grammar of replies cannot be used: {problem}")
        first = LLMatcher(self._tokens, grammar, log_level=0)
        return Constraint([first, *(first.deep_copy() for _ in range(samples - 1))], self._end_ids)


class Constraint:
    """Holds the samples of one batch to their grammar, each at its own place."""

    def __init__(self, matchers: Sequence[Any], end_ids: Sequence[int]) -> None:
        self._matchers = list(matchers)
        self._end_ids = list(end_ids)

    def masked(self, logits: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        """`logits` (rows, vocabulary) of the given samples, with minus infinity for what the grammar does not allow.

        Where it allows nothing more, an end token is left.
        """
        allowed = torch.stack([self._allowed(row, logits.shape[-1]) for row in rows])
        return logits.masked_fill(~allowed.to(logits.device), float("-inf"))

    def _allowed(self, row: int, vocabulary: int) -> torch.Tensor:
        matcher = self._matchers[row]
        allowed = np.zeros(vocabulary, dtype=bool)
        if not matcher.is_stopped():
            bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8), bitorder="little")
            allowed[: len(bits)] = bits[:vocabulary]
        if not allowed.any():
            allowed[self._end_ids] = True
        return torch.from_numpy(allowed)

    def take(self, row: int, token: int) -> None:
        """Moves a sample on by the token that was picked."""
        matcher = self._matchers[row]
        if not matcher.is_stopped():
            matcher.consume_token(token)
