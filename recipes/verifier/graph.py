"""The verifier's head in torch, for training and export: a claim's tokens look for themselves in the premise's.

Each layer: the claim attends to itself, then to the premise; what it finds there is compared with it (both, difference,
product). Pooled by mean, maximum and by how unmatched a token is. The encoder below it stays as it is.
This file needs torch and is imported by the training and export code only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from recipes.verifier.columns import FLAGS, LINKS

LABELS = ("supported", "unsupported", "contradicted")
_MASKED = -1e4


@dataclass(frozen=True)
class HeadShape:
    """Sizes of the head. `vectors`: width of one layer of the encoder; two are given.

    `dropout`: within the head; `unseen`: share of the flags that are hidden from a token in training, so that no label
    hangs on one of them alone.
    """

    vectors: int = 384
    width: int = 128
    heads: int = 4
    layers: int = 2
    dropout: float = 0.2
    unseen: float = 0.1


class PairSide(NamedTuple):
    """The claims or the premises of n pairs: vectors [n, t, 768], flags [n, t, 13], mask [n, t], float32."""

    vectors: torch.Tensor
    flags: torch.Tensor
    mask: torch.Tensor


class PairBatch(NamedTuple):
    """n pairs, padded at the end; `links` [n, c, p, 4]."""

    claim: PairSide
    premise: PairSide
    links: torch.Tensor


class PairReader(nn.Module):
    """Logits of the three `LABELS` for pairs."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        self.shape = shape
        self.project = nn.Linear(2 * shape.vectors, shape.width)
        self.flag = nn.Linear(len(FLAGS), shape.width, bias=False)
        self.nearest = nn.Linear(4, shape.width)
        self.norm = nn.LayerNorm(shape.width)
        self.drop = nn.Dropout(shape.dropout)
        self.unseen = nn.Dropout(shape.unseen)
        self.layers = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))
        self.last = nn.LayerNorm(shape.width)
        self.unmatched = nn.Linear(shape.width, 1)
        self.out = nn.Sequential(
            nn.Linear(3 * shape.width + 8, shape.width), nn.GELU(), nn.Dropout(shape.dropout), nn.Linear(shape.width, 3)
        )

    def forward(self, pairs: PairBatch) -> torch.Tensor:
        """Float32 [n, 3]."""
        (claim, claim_flags, claim_mask), (premise, premise_flags, premise_mask), links = pairs
        half = self.shape.vectors
        hidden = 1.0 - claim_mask[:, :, None] * premise_mask[:, None, :]
        near = [_cosines(claim[..., part], premise[..., part]) for part in (slice(0, half), slice(half, 2 * half))]
        near = [cosine - 2.0 * hidden for cosine in near]
        links = torch.cat([links, torch.stack(near, dim=-1)], dim=-1)
        tops = torch.stack([cosine.amax(2) for cosine in near], dim=-1)  # [n, c, 2]
        back = torch.stack([cosine.amax(1) for cosine in near], dim=-1)
        x = self.drop(self._read(claim, claim_flags, tops))
        given = self._read(premise, premise_flags, back)
        own_bias = (1.0 - claim_mask)[:, None, None, :] * _MASKED
        other_bias = (1.0 - premise_mask)[:, None, None, :] * _MASKED
        for layer in self.layers:
            x = layer(x, given, links, own_bias, other_bias)
        x = self.last(x)
        weight = claim_mask[:, :, None]
        total = weight.sum(1).clamp(min=1.0)
        mean = (x * weight).sum(1) / total
        most = (x - (1.0 - weight) * 1e4).amax(1)
        by = (self.unmatched(x) + (1.0 - weight) * _MASKED).softmax(1)
        worst = (x * by).sum(1)
        # Of the text as a whole: how near its tokens are on average, and at worst; what share of it is there.
        shares = (claim_flags[..., [0, 2, 5, 8]] * weight).sum(1) / total
        means = (tops * weight).sum(1) / total
        lows = (tops + (1.0 - weight) * 4.0).amin(1)  # of what is padded: 2, above every cosine
        out: torch.Tensor = self.out(self.drop(torch.cat([mean, most, worst, shares, means, lows], dim=-1)))
        return out

    def _read(self, vectors: torch.Tensor, flags: torch.Tensor, tops: torch.Tensor) -> torch.Tensor:
        # Near 1, small distances matter: a root spreads them.
        far = (1.0 - tops).clamp(min=1e-4).sqrt()
        read: torch.Tensor = self.norm(
            self.project(vectors) + self.flag(self.unseen(flags)) + self.nearest(torch.cat([tops, far], dim=-1))
        )
        return read


def _cosines(claim: torch.Tensor, premise: torch.Tensor) -> torch.Tensor:
    """Of every token of a claim with every one of its premise, [n, c, p]; 0 where one is padding."""
    lengths = torch.linalg.vector_norm(claim, dim=-1), torch.linalg.vector_norm(premise, dim=-1)
    products = lengths[0][:, :, None] * lengths[1][:, None, :]
    cosines: torch.Tensor = claim @ premise.transpose(1, 2) / products.clamp(min=1e-6)
    return cosines


class _Layer(nn.Module):
    """The claim attends to itself and to the premise, and is compared with what it finds."""

    def __init__(self, shape: HeadShape) -> None:
        super().__init__()
        width = shape.width
        self.heads = shape.heads
        self.own_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.own_in, self.own_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.link = nn.Linear(len(LINKS) + 2, shape.heads, bias=False)
        self.compare = nn.Sequential(
            nn.Linear(4 * width, 2 * width), nn.GELU(), nn.Dropout(shape.dropout), nn.Linear(2 * width, width)
        )
        self.drop = nn.Dropout(shape.dropout)

    def forward(
        self, x: torch.Tensor, given: torch.Tensor, links: torch.Tensor, own_bias: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        query, key, value = self.own_in(self.own_norm(x)).chunk(3, dim=-1)
        x = x + self.drop(self.own_out(_attended(query, key, value, own_bias, self.heads)))
        y = self.norm(x)
        beside = bias + self.link(links).permute(0, 3, 1, 2)
        found = _attended(self.query(y), self.key(given), self.value(given), beside, self.heads)
        out: torch.Tensor = x + self.drop(self.compare(torch.cat([y, found, y - found, y * found], dim=-1)))
        return out


def _attended(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor, heads: int
) -> torch.Tensor:
    n, tokens, width = query.shape
    size = width // heads
    query, key, value = (part.reshape(n, -1, heads, size).transpose(1, 2) for part in (query, key, value))
    weights = (query @ key.transpose(-1, -2) / math.sqrt(size) + bias).softmax(-1)
    return (weights @ value).transpose(1, 2).reshape(n, tokens, width)
