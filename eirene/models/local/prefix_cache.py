"""The prefix cache (KV cache) of a prompt that is read once: copied for many samples, cut for another prompt."""

from __future__ import annotations

import copy
from typing import Any, cast

import torch
from transformers.cache_utils import Cache, DynamicLayer


@torch.inference_mode()
def copied_cache(cache: Cache, rows: int) -> Cache:
    """A cache for `rows` samples, each with its own copy of the prompt. `cache` stays as it is."""
    other = copy.deepcopy(cache)
    other.batch_repeat_interleave(rows)
    return other


def first_states(cache: Cache, length: int) -> Cache | None:
    """A cache of the first `length` tokens; None where a layer is not plain. `cache` stays as it is."""
    layers: list[Any] = []
    for layer in cast("list[Any]", cache.layers):
        if type(layer) is not DynamicLayer or layer.keys is None or layer.values is None:
            return None
        kept = DynamicLayer()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
        kept.update(layer.keys[:, :, :length], layer.values[:, :, :length])
        layers.append(kept)
    other = copy.copy(cache)
    other.layers = layers
    return other
