"""What the encoder is trained to do, as losses on the cosines of arguments and response units.

All take `cosines` [arguments, units] in [-1, 1], `owner` [units] (the argument that a unit words) and
`claim_of` [arguments]. The definitions follow the scores of the `alignment` detector, so that what is trained
is what is measured: the mutual alignment for coverage, the highest cosine for hallucination.
"""

from __future__ import annotations

import torch
from torch.nn import functional

MUTUAL_TEMPERATURE = 0.05
"""The temperature of the softmax over arguments in the detector's coverage score."""


def contrastive(cosines: torch.Tensor, owner: torch.Tensor, temperature: float) -> torch.Tensor:
    """InfoNCE in both directions; an argument's several units are all positives (supervised contrastive)."""
    logits = cosines / temperature
    to_argument = functional.cross_entropy(logits.T, owner)
    positive = owner[None, :] == torch.arange(cosines.shape[0], device=cosines.device)[:, None]
    has_unit = positive.any(1)
    log_share = logits - logits.logsumexp(1, keepdim=True)
    per_argument = -(log_share * positive).sum(1)[has_unit] / positive.sum(1)[has_unit]
    return (to_argument + per_argument.mean()) / 2


def coverage_ranking(
    cosines: torch.Tensor, owner: torch.Tensor, claim_of: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Each argument scored with its units and without them: every "with" should rank above every "without".

    A smooth stand-in for 1 - ROC AUC of missing arguments, over all claims of the batch at once.
    """
    same_claim = claim_of[:, None] == claim_of[owner][None, :]
    own = owner[None, :] == torch.arange(cosines.shape[0], device=cosines.device)[:, None]
    share = (cosines / MUTUAL_TEMPERATURE).masked_fill(~same_claim, -torch.inf).softmax(0)
    mutual = (cosines * share).masked_fill(~same_claim, -1.0)
    others = same_claim & ~own
    present = mutual.max(1).values[own.any(1)]
    absent = mutual.masked_fill(own, -1.0).max(1).values[others.any(1)]
    return _ranked(present, absent, temperature)


def hallucination_ranking(
    cosines: torch.Tensor, owner: torch.Tensor, claim_of: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Each unit scored with its argument given and withheld: every "given" should rank above every "withheld"."""
    same_claim = claim_of[:, None] == claim_of[owner][None, :]
    own = owner[None, :] == torch.arange(cosines.shape[0], device=cosines.device)[:, None]
    inside = cosines.masked_fill(~same_claim, -1.0)
    others = same_claim & ~own
    given = inside.max(0).values
    withheld = inside.masked_fill(own, -1.0).max(0).values[others.any(0)]
    return _ranked(given, withheld, temperature)


def _ranked(high: torch.Tensor, low: torch.Tensor, temperature: float) -> torch.Tensor:
    if not high.numel() or not low.numel():
        return high.sum() * 0.0
    return functional.softplus((low[None, :] - high[:, None]) / temperature).mean()
