"""Samples many continuations of one prompt from a causal language model: one prefill, one batch, a seed per sample.

`generate(num_return_sequences=k)` reads the prompt k times and draws from torch's global generator. Here the prompt is
read once, its prefix cache (KV cache) copied, and every sample draws from random numbers of its own. Needs the extra
`local`.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

from eirene.core.errors import InputError, MalformedReplyError
from eirene.core.extras import importing
from eirene.core.signature import rng_for

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


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


_WORTH_KEEPING = 16  # tokens; to keep fewer saves nothing
_HEAD = 256  # tokens that nearly always hold the nucleus; the whole vocabulary is sorted only where they do not


@dataclass(frozen=True, slots=True)
class LocalSampling:
    """How continuations are drawn; every field is always applied, whatever the model's own generation config says.

    `temperature` 0 takes the likeliest token; `top_p` in (0, 1] is the nucleus (Holtzman et al. 2020). At most
    `max_batch` samples run at once: their caches are what fills a small GPU. `grammar` (of llguidance) leaves at each
    place the tokens that it allows, with their probabilities in proportion.
    """

    max_new_tokens: int = 1024
    temperature: float = 1.0
    top_p: float = 0.9
    max_batch: int = 32
    grammar: str | None = None

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.max_batch < 1:
            name = "max_new_tokens" if self.max_new_tokens < 1 else "max_batch"
            raise InputError(f"{name} must be at least 1, got {getattr(self, name)}", field=name)
        if not 0.0 <= self.temperature < float("inf"):
            raise InputError(f"temperature must be a number from 0 up, got {self.temperature}", field="temperature")
        if not 0.0 < self.top_p <= 1.0:
            raise InputError(f"top_p must lie in (0, 1], got {self.top_p}", field="top_p")


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A prompt that the model has read: its cache for one row, and the first new token's logits (1, vocabulary)."""

    cache: Cache
    logits: torch.Tensor
    length: int


@dataclass(frozen=True, slots=True)
class Continuation:
    """One sample's tokens without the end token; `is_cut_off` when it reached the limit without one.

    `n_tokens` counts what was generated, the end token included.
    """

    ids: tuple[int, ...]
    is_cut_off: bool
    n_tokens: int


class StoppedError(Exception):
    """Nobody waits for these samples any more."""


@torch.inference_mode()
def prefill(model: PreTrainedModel, ids: Sequence[int], soft_prompt: torch.Tensor | None = None) -> Prefilled:
    """Reads a prompt once. `soft_prompt` (1, n, width) are the virtual tokens of a prompt-tuning adapter, put first.

    Raises `InputError` for a model whose memory of the prompt cannot be shared between samples.
    """
    device = model.device
    tokens = torch.tensor([list(ids)], device=device)
    if soft_prompt is None:
        out = model(input_ids=tokens, use_cache=True, **_last_only(model))
    else:
        words = model.get_input_embeddings()(tokens)
        embeds = torch.cat([soft_prompt.to(words), words], dim=1)
        out = model(inputs_embeds=embeds, use_cache=True, **_last_only(model))
    cache = getattr(out, "past_key_values", None)
    if not isinstance(cache, Cache) or not all(hasattr(layer, "batch_repeat_interleave") for layer in cache.layers):
        raise InputError(
            f"{type(model).__name__} keeps its memory of the prompt in a form that samples cannot share; "
            "use a model with an attention cache, or serve this one and reach it as a chat model"
        )
    return Prefilled(cache, out.logits[:, -1], len(ids) + (0 if soft_prompt is None else soft_prompt.shape[1]))


@torch.inference_mode()
def prefill_after(
    model: PreTrainedModel,
    ids: Sequence[int],
    before: tuple[Sequence[int], Prefilled] | None,
    soft_prompt: torch.Tensor | None = None,
) -> tuple[Prefilled, int]:
    """`prefill` of a prompt, and how many of its tokens were not read again: those that it begins with and that the
    prompt `before` did, where the cache allows. `before` stays as it is.
    """
    known = 0
    if before is not None and soft_prompt is None:
        pairs = zip(ids[:-1], before[0], strict=False)
        known = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(ids) - 1, len(before[0])))
    cache = None if before is None or known < _WORTH_KEEPING else _first_states(before[1].cache, known)
    if cache is None:
        return prefill(model, ids, soft_prompt), 0
    rest = torch.tensor([list(ids[known:])], device=model.device)
    out: Any = model(input_ids=rest, past_key_values=cache, use_cache=True, **_last_only(model))
    return Prefilled(out.past_key_values, out.logits[:, -1], len(ids)), known


def sample_continuations(
    model: PreTrainedModel,
    prefilled: Prefilled,
    seeds: Sequence[int],
    *,
    sampling: LocalSampling,
    end_ids: frozenset[int],
    is_stopped: Callable[[], bool] = lambda: False,
    constrain: Callable[[int], Constraint] | None = None,
) -> list[Continuation]:
    """One continuation a seed, in the order of the seeds; `prefilled` stays as it is and may serve again.

    `constrain` makes what holds so many samples to the grammar.

    A sample depends on its seed alone, whatever runs beside it, up to the rounding that differs between batch sizes.
    Raises `StoppedError` soon after `is_stopped` turns true, `MalformedReplyError` when the model gives no numbers.
    """
    found: list[Continuation] = []
    for at in range(0, len(seeds), sampling.max_batch):
        chunk = seeds[at : at + sampling.max_batch]
        draws = np.stack([rng_for(s, "tokens").random(sampling.max_new_tokens) for s in chunk])
        held = None if constrain is None else constrain(len(chunk))
        found += _sample_batch(
            model, prefilled, draws, sampling=sampling, end_ids=end_ids, is_stopped=is_stopped, held=held
        )
    return found


@torch.inference_mode()
def _sample_batch(
    model: PreTrainedModel,
    prefilled: Prefilled,
    draws: np.ndarray[Any, np.dtype[np.float64]],
    *,
    sampling: LocalSampling,
    end_ids: frozenset[int],
    is_stopped: Callable[[], bool],
    held: Constraint | None,
) -> list[Continuation]:
    """`draws` (samples, steps) are uniform numbers in [0, 1). Rows leave the batch when they end."""
    samples, steps = draws.shape
    device = prefilled.logits.device
    uniform = torch.from_numpy(draws.astype(np.float32)).to(device)
    ends = torch.tensor(sorted(end_ids), device=device, dtype=torch.long)
    batch, logits = DecodingBatch(model, prefilled.cache, samples), prefilled.logits.expand(samples, -1)
    live = list(range(samples))
    tokens: list[list[int]] = [[] for _ in range(samples)]
    for step in range(steps):
        if is_stopped():
            raise StoppedError
        if held is not None:
            logits = held.masked(logits, live)
        picked = pick(logits, uniform[live, step], temperature=sampling.temperature, top_p=sampling.top_p)
        goes_on = ~torch.isin(picked, ends)
        for row, token in zip(live, picked.tolist(), strict=True):
            tokens[row].append(token)
            if held is not None:
                held.take(row, token)
        kept = goes_on.nonzero()[:, 0]
        if len(kept) == 0 or step == steps - 1:
            break
        if len(kept) < len(live):
            batch.keep(kept)
            live = [live[i] for i in kept.tolist()]
        logits = batch.forward(picked[kept])
    return [_continuation(found, end_ids) for found in tokens]


class DecodingBatch:
    """The samples of one prompt as the model goes on with them, a token each at a time."""

    def __init__(self, model: PreTrainedModel, cache: Cache, rows: int) -> None:
        self._model = model
        self._cache = _copied_cache(cache, rows)

    def keep(self, rows: torch.Tensor) -> None:
        """Drops all but the given rows."""
        self._cache.batch_select_indices(rows)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits after one more token a row, (rows, vocabulary)."""
        out = self._model(
            input_ids=tokens[:, None], past_key_values=self._cache, use_cache=True, **_last_only(self._model)
        )
        logits: torch.Tensor = out.logits[:, -1]
        return logits


def pick(logits: torch.Tensor, uniform: torch.Tensor, *, temperature: float, top_p: float) -> torch.Tensor:
    """One token a row of `logits` (rows, vocabulary) by the row's uniform number in [0, 1): the inverse of the nucleus'
    distribution function, tokens in the vocabulary's order. The nucleus is the smallest set that reaches `top_p`.

    In order of probability two tokens that are nearly as likely would change places, and so be taken for each other,
    with the last bit of a logit, which hangs on how many rows are computed together.
    """
    if temperature == 0.0:
        best, token = logits.max(dim=-1)
        check_numbers(best)
        return token
    probabilities = (logits.float() / temperature).softmax(dim=-1)
    head, ids = probabilities.topk(min(_HEAD, probabilities.shape[-1]))
    check_numbers(head)
    if head.shape[-1] < probabilities.shape[-1] and float(head.sum(dim=-1).min()) < top_p:
        head, ids = probabilities.sort(dim=-1, descending=True)
    up_to = head.cumsum(dim=-1)
    head = head.masked_fill(up_to - head >= top_p, 0.0)
    ids, order = ids.sort(dim=-1)
    up_to = head.gather(1, order).cumsum(dim=-1)
    place = (up_to <= uniform[:, None] * up_to[:, -1:]).sum(dim=-1)
    last = (up_to < up_to[:, -1:]).sum(dim=-1)  # a uniform number that rounds to 1 must not leave the nucleus
    return ids.gather(1, torch.minimum(place, last)[:, None])[:, 0]


def check_numbers(values: torch.Tensor) -> None:
    """Raises `MalformedReplyError` where a model gives no numbers."""
    if bool(values.isnan().any()):
        raise MalformedReplyError(
            "the model's scores are not numbers: its weights are damaged, or its dtype is too narrow (float16 "
            "overflows where bfloat16 and float32 do not)"
        )


def _continuation(tokens: Sequence[int], end_ids: frozenset[int]) -> Continuation:
    ended = bool(tokens) and tokens[-1] in end_ids
    return Continuation(tuple(tokens[:-1] if ended else tokens), not ended, len(tokens))


def _last_only(model: PreTrainedModel) -> dict[str, int]:
    """Asks for the last position's logits alone, where the model can be asked: a prompt has one that matters."""
    return {"logits_to_keep": 1} if takes_logits_to_keep(model) else {}


def takes_logits_to_keep(model: Any) -> bool:
    """Whether the model, or the one under its adapter, can be asked for the last positions' logits alone."""
    under = getattr(model, "get_base_model", None)
    kind: Any = type(model if under is None else under())
    return _takes_logits_to_keep(kind)


@functools.cache
def _takes_logits_to_keep(kind: Any) -> bool:
    return "logits_to_keep" in inspect.signature(kind.forward).parameters


@torch.inference_mode()
def _copied_cache(cache: Cache, rows: int) -> Cache:
    """A cache for `rows` samples, each with its own copy of the prompt. `cache` stays as it is."""
    other = copy.deepcopy(cache)
    other.batch_repeat_interleave(rows)
    return other


def _first_states(cache: Cache, length: int) -> Cache | None:
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
