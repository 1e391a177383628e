"""BERT's forward pass without padding, for training and for export.

Only the real tokens go through the matrix multiplications; attention alone sees the padded shape. A text's
result then does not depend on what it was batched with, and a mixed batch costs no more than its tokens.
This file needs torch and is imported by the training and export code only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from transformers import BertModel

_MASKED = -1e4
"""Added to the attention score of padding; exp of it is exactly 0 in float32."""


@dataclass(frozen=True)
class _Packing:
    """How real tokens and padded positions map to each other."""

    real: torch.Tensor
    """Flat padded position of each real token."""
    padded: torch.Tensor
    """Real token of each flat padded position; some valid one where there is only padding."""
    bias: torch.Tensor
    """Added to attention scores, [texts, 1, 1, tokens]."""
    shape: torch.Size
    """[texts, tokens]."""


def _pack(mask: torch.Tensor) -> _Packing:
    """The packing of a mask of 0 and 1, int64 [texts, tokens], ones first in each row."""
    flat = mask.reshape(-1)
    return _Packing(
        real=flat.nonzero().squeeze(1),
        padded=(torch.cumsum(flat, 0) - 1).clamp(min=0),
        bias=(1.0 - mask[:, None, None, :].to(torch.float32)) * _MASKED,
        shape=mask.shape,
    )


class PackedBert(nn.Module):
    """A BERT encoder with mean pooling and L2 normalisation, over packed tokens.

    `forward(input_ids, attention_mask)` takes int64 [n, tokens], padded at the end, and gives float32
    [n, hidden] of length 1. Training and export share it, so that what is trained is what is shipped.
    """

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.heads = int(bert.config.num_attention_heads)
        # Any: the layers' own types are too wide (Tensor | Module) to be called.
        self.bert: Any = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Embeddings of the texts, float32 [n, hidden]."""
        packing = _pack(attention_mask)
        positions = (torch.cumsum(attention_mask, 1) - 1).reshape(-1)[packing.real]
        hidden = self._embed(input_ids.reshape(-1)[packing.real], positions)
        for layer in self.bert.encoder.layer:
            hidden = self._layer(layer, hidden, packing)
        spread = hidden[packing.padded].reshape(packing.shape[0], packing.shape[1], hidden.shape[1])
        weights = attention_mask[:, :, None].to(hidden.dtype)
        pooled = (spread * weights).sum(1) / weights.sum(1).clamp(min=1.0)
        unit: torch.Tensor = pooled / pooled.norm(dim=1, keepdim=True).clamp(min=1e-12)
        return unit

    def _embed(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        table = self.bert.embeddings
        summed = (
            table.word_embeddings(ids) + table.position_embeddings(positions) + table.token_type_embeddings.weight[0]
        )
        normed: torch.Tensor = table.dropout(table.LayerNorm(summed))
        return normed

    def _layer(self, layer: Any, hidden: torch.Tensor, packing: _Packing) -> torch.Tensor:
        texts, tokens = packing.shape
        attention, width = layer.attention, hidden.shape[1]
        one = attention.self
        # Each [n, heads, tokens, width per head].
        query, key, value = (
            part(hidden)[packing.padded].reshape(texts, tokens, self.heads, width // self.heads).transpose(1, 2)
            for part in (one.query, one.key, one.value)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads) + packing.bias
        mixed = one.dropout(scores.softmax(-1)) @ value
        context = mixed.transpose(1, 2).reshape(texts * tokens, width)[packing.real]
        hidden = attention.output.LayerNorm(attention.output.dropout(attention.output.dense(context)) + hidden)
        grown = nn.functional.gelu(layer.intermediate.dense(hidden))
        out: torch.Tensor = layer.output.LayerNorm(layer.output.dropout(layer.output.dense(grown)) + hidden)
        return out
