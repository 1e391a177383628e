"""Measures how a model ranks preference pairs: log-likelihoods, reward accuracy, intervals.

Nothing here goes through TRL, so that its losses and ours can be compared.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eirene.models.training.examples import IGNORED, EncodedExample, collate
from eirene.refiners.training.examples import EncodedPair

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

_Z = 1.959964  # two-sided 95 %


@dataclass(frozen=True, slots=True)
class RankedPair:
    """One pair: log-likelihoods of its replies, in nats, by the trained model and by the one it started from."""

    key: str
    chosen: float
    rejected: float
    chosen_before: float
    rejected_before: float
    n_chosen: int
    n_rejected: int

    @property
    def log_ratio(self) -> float:
        """How much more the training has raised the preferred reply than the other: the DPO reward over beta."""
        return (self.chosen - self.chosen_before) - (self.rejected - self.rejected_before)


def rank(
    model: Any,
    pairs: Sequence[EncodedPair],
    *,
    at_once: int,
    filler: int,
    reference: PreTrainedModel | None = None,
    context: AbstractContextManager[Any] | None = None,
) -> list[RankedPair]:
    """A row for each pair, in order. `reference` is the model before training; None is `model` with its adapter off.

    `context` is what forward passes run in. The models are in evaluation mode afterwards.
    """
    import torch

    sides = [e for pair in pairs for e in (pair.chosen, pair.rejected)]
    batches = [sides[i : i + 2 * at_once] for i in range(0, len(sides), 2 * at_once)]
    with torch.inference_mode(), contextlib.nullcontext() if context is None else context:
        after = [v for batch in batches for v in _log_likelihoods(model.train(False), batch, filler)]
        with contextlib.nullcontext() if reference is not None else model.disable_adapter():
            other = model if reference is None else reference.train(False)
            first = [v for batch in batches for v in _log_likelihoods(other, batch, filler)]
    return [
        RankedPair(
            pair.key, after[2 * i], after[2 * i + 1], first[2 * i], first[2 * i + 1],
            len(pair.chosen.ids) - pair.chosen.n_prompt, len(pair.rejected.ids) - pair.rejected.n_prompt,
        )
        for i, pair in enumerate(pairs)
    ]  # fmt: skip


def summarise(rows: Sequence[RankedPair], *, beta: float) -> dict[str, Any]:
    """Figures before and after, with 95 % Wilson intervals in which a prompt counts once; ties count one half.

    `preference_accuracy`: how often the preferred reply is the likelier one, whole and per token; `reward_accuracy`:
    how often the training raised it more than the other. `loss`, `reward_margin`: DPO's own; before training they are
    ln 2 and 0 for every pair. `longer_preferred`: how often the preferred reply is the longer one, which a model can
    learn without reading either.
    """
    n = len({row.key for row in rows})

    def accuracy(margins: Sequence[float]) -> dict[str, float]:
        value = sum(1.0 if m > 0 else 0.5 if m == 0 else 0.0 for m in margins) / len(margins)
        low, high = wilson(value, n)
        return {"value": round(value, 4), "low": round(low, 4), "high": round(high, 4)}

    rewards = [beta * row.log_ratio for row in rows]
    return {
        "pairs": len(rows),
        "questions": n,
        "before": {
            "loss": round(math.log(2), 4),
            "reward_margin": 0.0,
            "preference_accuracy": accuracy([r.chosen_before - r.rejected_before for r in rows]),
            "preference_accuracy_per_token": accuracy(
                [r.chosen_before / r.n_chosen - r.rejected_before / r.n_rejected for r in rows]
            ),
        },
        "after": {
            "loss": round(sum(_softplus(-reward) for reward in rewards) / len(rewards), 4),
            "reward_margin": round(sum(rewards) / len(rewards), 4),
            "reward_accuracy": accuracy(rewards),
            "preference_accuracy": accuracy([r.chosen - r.rejected for r in rows]),
            "preference_accuracy_per_token": accuracy(
                [r.chosen / r.n_chosen - r.rejected / r.n_rejected for r in rows]
            ),
        },
        "longer_preferred": accuracy([r.n_chosen - r.n_rejected for r in rows]),
    }


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share of `n` (Wilson 1927)."""
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def _log_likelihoods(model: Any, batch: Sequence[EncodedExample], filler: int) -> list[float]:
    """The summed log-probability of each reply's tokens, its end token included."""
    tensors = {name: t.to(model.device) for name, t in collate(batch, filler=filler).items()}
    labels = tensors.pop("labels")[:, 1:]
    logits: torch.Tensor = model(**tensors, use_cache=False).logits[:, :-1].float()
    known = labels != IGNORED
    picked = logits.gather(2, labels.masked_fill(~known, 0)[..., None])[..., 0] - logits.logsumexp(dim=2)
    found: list[float] = (picked * known).sum(dim=1).tolist()
    return found


def _softplus(x: float) -> float:
    """ln(1 + e^x), for any x."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
