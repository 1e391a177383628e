"""Fits the encoder: one training run of a LoRA, and its losses on the cosines of arguments and response units.

All losses take `cosines` [arguments, units] in [-1, 1], `owner` [units] (the argument that a unit words) and
`claim_of` [arguments]. They follow the scores of the `alignment` detector, so that what is trained is what is measured:
the mutual alignment for coverage, the highest cosine for hallucination. Needs the extra `train`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from recipes.encoder.data import Batching, ClaimBatch, TrainingClaim, epoch
from recipes.encoder.graph import PackedBert

if TYPE_CHECKING:
    import tokenizers
    from transformers import BertModel

MAX_TRAIN_TOKENS = 64
"""Training texts are sentences; the rare longer one is cut here to keep a step's cost even."""

Progress = Callable[[int, int, float], None]
"""Called after each step with (step from 1, steps, smoothed loss)."""
MUTUAL_TEMPERATURE = 0.05
"""The temperature of the softmax over arguments in the detector's coverage score."""


@dataclass(frozen=True)
class EncoderRecipe:
    """Everything that decides a run besides data, base weights and seed."""

    epochs: int = 4
    learning_rate: float = 3e-4
    warmup: float = 0.1
    weight_decay: float = 0.01
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.1
    lora_dropout: float = 0.05
    targets: tuple[str, ...] = ("query", "key", "value", "dense")
    temperature: float = 0.05
    coverage_weight: float = 2.0
    hallucination_weight: float = 2.0
    ranking_temperature: float = 0.1
    batching: Batching = field(default_factory=Batching)


def fit(
    bert: BertModel,
    tokenizer: tokenizers.Tokenizer,
    claims: Sequence[TrainingClaim],
    *,
    recipe: EncoderRecipe,
    seed: int,
    max_steps: int | None = None,
    progress: Progress | None = None,
) -> tuple[BertModel, list[float]]:
    """Trains a LoRA on the claims and merges it. Returns the merged model and the loss of every step.

    Torch's generator is seeded here, for dropout and the adapters' first values; the batches have one of their own.
    """
    torch.manual_seed(seed)
    adapted = _with_adapters(bert, recipe)
    model = PackedBert(adapted.base_model.model).train()
    trained = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    steps = recipe.epochs * math.ceil(len(claims) / recipe.batching.claims)
    losses: list[float] = []
    for step, batch in enumerate(islice(_batches(claims, recipe, seed), max_steps), start=1):
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate * schedule(step, steps, recipe.warmup)
        if not batch.units:
            continue
        loss = batch_loss(model, tokenizer, batch, recipe)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimiser.step()
        losses.append(float(loss.detach()))
        if progress is not None:
            progress(step, steps, float(np.mean(losses[-20:])))
    merged: BertModel = adapted.merge_and_unload().eval()
    return merged, losses


def _with_adapters(bert: BertModel, recipe: EncoderRecipe) -> Any:
    """The model with LoRA adapters in its linear layers, the rest frozen (a `peft.PeftModel`)."""
    from peft import LoraConfig, get_peft_model

    for part in bert.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = recipe.dropout
    config = LoraConfig(
        r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.lora_dropout, target_modules=list(recipe.targets)
    )
    with warnings.catch_warnings():
        # peft still reads a property that transformers has renamed.
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(bert, config)


def _batches(claims: Sequence[TrainingClaim], recipe: EncoderRecipe, seed: int) -> Iterator[ClaimBatch]:
    rng = np.random.default_rng(seed)
    for _ in range(recipe.epochs):
        yield from epoch(list(claims), recipe.batching, rng)


def schedule(step: int, steps: int, warmup: float) -> float:
    """The learning rate's factor in (0, 1]: linear warm-up, then half a cosine down to one hundredth."""
    rising = max(1, round(steps * warmup))
    if step <= rising:
        return step / rising
    done = (step - rising) / max(1, steps - rising)
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def batch_loss(
    model: PackedBert, tokenizer: tokenizers.Tokenizer, batch: ClaimBatch, recipe: EncoderRecipe
) -> torch.Tensor:
    """The weighted sum of the three losses on one batch."""
    vectors = embed(model, tokenizer, [*batch.arguments, *batch.units])
    cosines = vectors[: len(batch.arguments)] @ vectors[len(batch.arguments) :].T
    owner, claim_of = torch.tensor(batch.owner), torch.tensor(batch.claim_of)
    return (
        contrastive(cosines, owner, recipe.temperature)
        + recipe.coverage_weight * coverage_ranking(cosines, owner, claim_of, recipe.ranking_temperature)
        + recipe.hallucination_weight * hallucination_ranking(cosines, owner, claim_of, recipe.ranking_temperature)
    )


def embed(model: PackedBert, tokenizer: tokenizers.Tokenizer, texts: Sequence[str]) -> torch.Tensor:
    """The model's vectors, float32 [n, width], with gradients where they are on."""
    rows = [encoding.ids[:MAX_TRAIN_TOKENS] for encoding in tokenizer.encode_batch_fast(list(texts))]
    ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
    lengths = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(ids.shape[1])[None, :] < lengths[:, None]).to(torch.int64)
    vectors: torch.Tensor = model(ids, mask)
    return vectors


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
