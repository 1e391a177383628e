"""Fits the verifier's head on cached vectors: partial labels, a margin between twins, an average of late weights.

Needs the extra `train`. The encoder is not trained.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from recipes.verifier.cache import CachedPair, HasPairs
from recipes.verifier.data import VerifierRow, twins, units
from recipes.verifier.graph import HeadShape, PairBatch, PairReader, PairSide

Progress = Callable[[int, int, float], None]
"""Called after each step with (step from 1, steps, smoothed loss)."""
_CLASSES = {"supported": (0,), "unsupported": (1,), "contradicted": (2,), "not_supported": (1, 2)}
_POOL = 40
"""Batches that are drawn together and sorted by length, so that little is padded."""


@dataclass(frozen=True)
class VerifierRecipe:
    """Everything that decides a run besides data and seed.

    `margin`: wanted difference in log odds between twins. `edits`: the share of the rows that get twins made by rule.
    `arguments`: the most rows that are made of a file of topics.
    """

    epochs: int = 3
    batch: int = 64
    learning_rate: float = 1.5e-3
    warmup: float = 0.05
    weight_decay: float = 0.05
    margin: float = 2.0
    margin_weight: float = 0.3
    averaged: float = 0.997
    edits: float = 0.5
    arguments: int = 3000
    shape: HeadShape = field(default_factory=HeadShape)


def collate(pairs: Sequence[CachedPair]) -> PairBatch:
    """The pairs as one padded batch, float32."""
    n = len(pairs)
    c, p = (max(1, *map(len, texts)) for texts in ([x.claim for x in pairs], [x.premise for x in pairs]))
    width, flags, links = pairs[0].claim.shape[1], pairs[0].claim_flags.shape[1], pairs[0].links.shape[2]
    vectors = [np.zeros((n, size, width), np.float32) for size in (c, p)]
    known = [np.zeros((n, size, flags), np.float32) for size in (c, p)]
    masks = [np.zeros((n, size), np.float32) for size in (c, p)]
    linked = np.zeros((n, c, p, links), np.float32)
    for row, x in enumerate(pairs):
        for side, (rows, own) in enumerate(((x.claim, x.claim_flags), (x.premise, x.premise_flags))):
            vectors[side][row, : len(rows)] = rows
            known[side][row, : len(rows)] = own
            masks[side][row, : len(rows)] = 1.0
        linked[row, : len(x.claim), : len(x.premise)] = x.links
    sides = [PairSide(*map(torch.from_numpy, arrays)) for arrays in zip(vectors, known, masks, strict=True)]
    return PairBatch(sides[0], sides[1], torch.from_numpy(linked))


def batches(
    groups: Sequence[tuple[int, ...]], lengths: NDArray[np.int64], size: int, rng: np.random.Generator
) -> Iterator[list[int]]:
    """Every group once, in random order, groups of like length beside each other."""
    order = rng.permutation(len(groups))
    pool: list[tuple[int, ...]] = []
    for place, index in enumerate(order):
        pool.append(groups[index])
        if sum(map(len, pool)) < size * _POOL and place + 1 < len(order):
            continue
        pool.sort(key=lambda group: int(lengths[list(group), 1].max()))
        cut: list[list[int]] = [[]]
        for group in pool:
            if len(cut[-1]) + len(group) > size and cut[-1]:
                cut.append([])
            cut[-1] += group
        for n in rng.permutation(len(cut)):
            yield cut[n]
        pool = []


def log_odds(logits: torch.Tensor) -> torch.Tensor:
    """Of "supported", [n]."""
    return logits[:, 0] - torch.logsumexp(logits[:, 1:], dim=1)


def loss_of(
    logits: torch.Tensor, rows: Sequence[VerifierRow], chosen: Sequence[int], recipe: VerifierRecipe
) -> torch.Tensor:
    """The mean loss: the probability of all classes that a label allows, and hinge losses between twins."""
    allowed = torch.full_like(logits, -1e4)
    for place, n in enumerate(chosen):
        allowed[place, list(_CLASSES[rows[n].label])] = 0.0
    log_p = logits.log_softmax(1)
    loss = -torch.logsumexp(log_p + allowed, dim=1).mean()
    pairs = twins(rows, chosen)
    if pairs and recipe.margin_weight:
        odds = log_odds(logits)
        good, bad = (torch.tensor(part) for part in zip(*pairs, strict=True))
        loss = loss + recipe.margin_weight * functional.relu(recipe.margin - odds[good] + odds[bad]).mean()
    return loss


def fit(
    rows: Sequence[VerifierRow],
    cache: HasPairs,
    *,
    recipe: VerifierRecipe,
    seed: int,
    max_steps: int | None = None,
    progress: Progress | None = None,
) -> tuple[PairReader, list[float]]:
    """The trained head (averaged weights, in evaluation mode) and the loss of each step."""
    torch.manual_seed(seed)
    groups, losses = units(rows), list[float]()
    model = PairReader(recipe.shape).train()
    averaged = copy.deepcopy(model).eval()
    optimiser = torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    epochs = [list(_epoch_batches(groups, cache, recipe, seed, n)) for n in range(recipe.epochs)]
    steps = list(chain.from_iterable(epochs))[:max_steps]
    for step, chosen in enumerate(steps):
        for part in optimiser.param_groups:
            part["lr"] = recipe.learning_rate * _rate(step, len(steps), recipe.warmup)
        loss = loss_of(model(collate([cache[n] for n in chosen])), rows, chosen, recipe)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        _average(averaged, model, min(recipe.averaged, len(losses) / (len(losses) + 10)))
        if progress is not None:
            progress(len(losses), len(steps), sum(losses[-50:]) / len(losses[-50:]))
    return averaged, losses


@torch.no_grad()
def _average(averaged: PairReader, model: PairReader, keep: float) -> None:
    """Moves the running average towards the weights of now; early on `keep` is small."""
    for old, new in zip(averaged.state_dict().values(), model.state_dict().values(), strict=True):
        old.lerp_(new, 1.0 - keep)


def _epoch_batches(
    groups: Sequence[tuple[int, ...]], cache: HasPairs, recipe: VerifierRecipe, seed: int, epoch: int
) -> Iterator[list[int]]:
    return batches(groups, cache.lengths, recipe.batch, np.random.default_rng([seed, epoch]))


def _rate(step: int, steps: int, warmup: float) -> float:
    rising = max(int(steps * warmup), 1)
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1.0 + math.cos(math.pi * (step - rising) / max(steps - rising, 1)))


@torch.no_grad()
def probabilities(model: PairReader, cache: HasPairs, count: int, *, batch: int = 64) -> NDArray[np.float32]:
    """The probabilities of the three labels for the first `count` rows of a cache, float32 [count, 3]."""
    out = np.zeros((count, 3), np.float32)
    order = np.argsort(cache.lengths[:count, 1], kind="stable")
    for start in range(0, count, batch):
        chosen = order[start : start + batch]
        out[chosen] = model(collate([cache[int(n)] for n in chosen])).softmax(1).numpy()
    return out
