"""The prefix cache (KV cache) of many samples of one prompt: its states kept once, or at least copied once.

With all samples on one prompt, attention to it is the same matrix for all of them: their queries, one a sample, are put
to it together, as if they were the tokens of one sequence. Nothing is copied a sample but what the sample itself adds.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import torch
from transformers import AttentionInterface
from transformers.cache_utils import Cache, DynamicLayer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ROOM = 64  # tokens by which a full cache grows
_NAME = "eirene_shared_prompt"


class NotSharableError(Exception):
    """This model's attention does something that the shared one does not."""


class _CachedPrompt:
    """One layer's states of the prompt, each (1, key heads, tokens, width), and how often attention has used them."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        self.keys = keys
        self.values = values
        self.uses = 0


class _RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]  # transformers' __init_subclass__
    """A cache layer with room at its end: a new token is written in place, where the plain layer copies everything."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
        self.lazy_initialization(keys, values)
        self._fill(keys, values)

    def _fill(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        self._room = tuple(_with_room(t) for t in (keys, values))
        self._show(keys.shape[-2])

    def _show(self, length: int) -> None:
        self.keys, self.values = (t[:, :, :length] for t in self._room)

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Adds the states of new tokens; returns views of all states so far."""
        start = self.keys.shape[-2]
        end = start + key_states.shape[-2]
        if end > self._room[0].shape[-2]:
            self._fill(self.keys, self.values)
        self._room[0][:, :, start:end] = key_states
        self._room[1][:, :, start:end] = value_states
        self._show(end)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Keeps the given rows."""
        self._fill(self.keys[indices], self.values[indices])


class _SharedLayer(_RoomyLayer):  # type: ignore[no-untyped-call]  # as above
    """Holds what the samples have added themselves; the keys that it hands out carry the prompt's states along."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, rows: int) -> None:
        super().__init__(*(t[:, :, :0].expand(rows, -1, -1, -1) for t in (keys, values)))
        self.prompt = _CachedPrompt(keys, values)

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Adds the states of new tokens; returns the samples' own."""
        keys, values = super().update(key_states, value_states)
        keys.eirene_prompt = self.prompt
        return keys, values

    def get_seq_length(self) -> int:
        """Tokens so far, the prompt's included: positions hang on it."""
        return self.prompt.keys.shape[-2] + self.keys.shape[-2]


def shared_cache(cache: Cache, rows: int) -> Cache | None:
    """A cache for `rows` samples that keeps the prompt once; None where a layer is not plain. `cache` stays."""
    if not all(_is_plain(layer) for layer in cache.layers):
        return None
    layers: list[Any] = list(cache.layers)
    return _with_layers(cache, [_SharedLayer(layer.keys, layer.values, rows) for layer in layers])


def copied_cache(cache: Cache, rows: int) -> Cache:
    """A cache for `rows` samples, each with its own copy of the prompt. `cache` stays as it is."""
    return _with_layers(cache, [_copied(layer, rows) for layer in cache.layers])


def first_states(cache: Cache, length: int) -> Cache | None:
    """A cache of the first `length` tokens; None where a layer is not plain. `cache` stays as it is."""
    if not all(_is_plain(layer) for layer in cache.layers):
        return None
    layers: list[Any] = []
    for layer in cast("list[Any]", cache.layers):
        kept = DynamicLayer()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
        kept.update(layer.keys[:, :, :length], layer.values[:, :, :length])
        layers.append(kept)
    return _with_layers(cache, layers)


def was_shared(cache: Cache) -> bool:
    """Whether attention has gone through the shared prompt in every layer: a model may have an attention of its own."""
    return all(isinstance(layer, _SharedLayer) and layer.prompt.uses == 1 for layer in cache.layers)


@contextlib.contextmanager
def shared_attention(model: PreTrainedModel) -> Iterator[None]:
    """Lets the model attend to a `shared_cache`."""
    AttentionInterface.register(_NAME, _attend)
    config: Any = model.config
    before = config._attn_implementation
    config._attn_implementation = _NAME
    try:
        yield
    finally:
        config._attn_implementation = before


def _attend(  # noqa: PLR0917  # transformers' signature
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one new token a sample, query (samples, heads, 1, width), to the prompt and to the sample's own."""
    prompt: _CachedPrompt | None = getattr(key, "eirene_prompt", None)
    special = any(options.get(name) is not None for name in ("softcap", "s_aux", "sliding_window", "position_bias"))
    if prompt is None or attention_mask is not None or special or query.shape[2] != 1:
        raise NotSharableError
    prompt.uses += 1
    samples, heads, _, width = query.shape
    groups, tokens = key.shape[1], prompt.keys.shape[-2]
    scale = width**-0.5 if scaling is None else scaling
    own = query.reshape(samples, groups, heads // groups, width)
    # (groups, samples x heads a group, width): for the prompt all samples are one batch.
    together = own.transpose(0, 1).reshape(groups, -1, width)
    to_prompt = (together @ prompt.keys[0].transpose(1, 2)).view(groups, samples, -1, tokens).transpose(0, 1)
    scores = torch.cat([to_prompt, own @ key.transpose(2, 3)], dim=-1)
    shares = (scores.float() * scale).softmax(dim=-1).to(query.dtype)
    at_prompt = shares[..., :tokens].transpose(0, 1).reshape(groups, -1, tokens)
    from_prompt = (at_prompt @ prompt.values[0]).view(groups, samples, heads // groups, -1).transpose(0, 1)
    out = from_prompt + shares[..., tokens:] @ value
    return out.reshape(samples, 1, heads, -1), None


def _with_layers(cache: Cache, layers: list[Any]) -> Cache:
    other = copy.copy(cache)
    other.layers = layers
    return other


def _is_plain(layer: Any) -> bool:
    return type(layer) is DynamicLayer and layer.keys is not None


def _copied(layer: Any, rows: int) -> Any:
    if _is_plain(layer):
        keys, values = (t.expand(rows, -1, -1, -1) for t in (layer.keys, layer.values))
        return _RoomyLayer(keys, values)
    own = copy.deepcopy(layer)
    own.batch_repeat_interleave(rows)
    return own


def _with_room(states: torch.Tensor) -> torch.Tensor:
    rows, heads, length, width = states.shape
    room = states.new_empty(rows, heads, length + _ROOM, width)
    room[:, :, :length] = states
    return room
