"""Fits the verifier's head on cached vectors: partial labels, a margin between twins, an average of late weights.

Needs the extra `train`. The encoder is not trained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from eirene.core.errors import TrainingStoppedError
from recipes.verifier.cache import CachedPair, HasPairs
from recipes.verifier.data import VerifierRow, twins, units
from recipes.verifier.graph import HeadShape, PairBatch, PairReader, PairSide
from recipes.verifier.state import TrainingState

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
    folder: Path | None = None,
    max_steps: int | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    after_epoch: Callable[[int, PairReader], None] | None = None,
) -> tuple[PairReader, list[float]]:
    """The trained head (averaged weights, in evaluation mode) and the loss of each step.

    A checkpoint is written into `folder` after every epoch, and where `should_stop` says so after a step: then
    `TrainingStoppedError` is raised. The same call goes on there, to the same weights.
    """
    torch.manual_seed(seed)
    groups = units(rows)
    state = TrainingState(recipe.shape, learning_rate=recipe.learning_rate, weight_decay=recipe.weight_decay)
    state.load(folder)
    losses = state.losses
    counts = [sum(1 for _ in _epoch_batches(groups, cache, recipe, seed, n)) for n in range(recipe.epochs)]
    steps = sum(counts) if max_steps is None else min(sum(counts), max_steps)
    for epoch in range(recipe.epochs):
        first = sum(counts[:epoch])
        if first >= steps or first + counts[epoch] <= len(losses):
            continue
        state.model.train()
        for step, chosen in enumerate(_epoch_batches(groups, cache, recipe, seed, epoch), start=first):
            if step < len(losses):
                continue  # done before it was stopped
            if step >= steps:
                break
            if should_stop():
                state.save(folder)
                raise TrainingStoppedError(f"stopped at step {step} of {steps}; the same command goes on there")
            batch = collate([cache[n] for n in chosen])
            _learn(state, batch, [rows[n] for n in chosen], recipe, rate=_rate(step, steps, recipe.warmup))
            if progress is not None:
                progress(len(losses), steps, sum(losses[-50:]) / len(losses[-50:]))
        state.save(folder)
        if after_epoch is not None:
            with torch.random.fork_rng(devices=[]):  # what it draws must not change the training
                after_epoch(epoch, state.averaged())
    return state.averaged(), losses


def _learn(
    state: TrainingState, batch: PairBatch, rows: Sequence[VerifierRow], recipe: VerifierRecipe, *, rate: float
) -> None:
    for part in state.optimiser.param_groups:
        part["lr"] = recipe.learning_rate * rate
    loss = loss_of(state.model(batch), rows, range(len(rows)), recipe)
    state.optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
    state.optimiser.step()
    state.losses.append(loss.item())
    state.average(recipe.averaged)


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


def described(recipe: VerifierRecipe) -> dict[str, Any]:
    """The recipe for a card."""
    return asdict(recipe)
