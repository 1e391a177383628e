"""Log-probabilities of a given text by a local model, token by token. Needs the extra `local`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

from eirene.core.errors import BackendError, InputError, TooLongError
from eirene.core.usage import Meter, Usage
from eirene.models.faults import out_of_memory_as_error
from eirene.models.token_scores import Count, ScoredToken
from eirene.prompts import Message

if TYPE_CHECKING:
    from transformers.cache_utils import Cache

    from eirene.models.local.model import LocalModel

T = TypeVar("T")
_CHUNK = 256
"""Tokens of one pass: the logits of so many, and no more, are in memory at once."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """The log-probabilities of the tokens in `places` (of the text), as the model has them before each of them."""

    start: int
    logprobs: torch.Tensor


async def score_text(
    model: LocalModel, before: Sequence[int], text: str, *, top: int, meter: Meter
) -> list[ScoredToken]:
    """The tokens of `text` after the prompt `before`, each with its log-probability and those of the `top` likeliest.

    The text is read whole, in pieces that share one cache. Special tokens that it spells out are plain text. One call
    on the meter. Raises `TooLongError` where prompt and text together exceed the model's context, `BackendError` when
    memory runs out; `InputError` for a tokenizer that cannot say where its tokens stand.
    """
    if not before:
        raise ValueError("the prompt must have a token, or nothing comes before the text's first")
    return await model.compute(lambda: _score(model, list(before), text, top, meter))


def _score(model: LocalModel, before: list[int], text: str, top: int, meter: Meter) -> list[ScoredToken]:
    ids, spans = _encode(model, text)
    _check_room(model, len(before), len(ids))
    started = time.perf_counter()
    meter.add(Usage(calls=1, input_tokens=len(before) + len(ids)))
    found: list[ScoredToken] = []
    try:
        with out_of_memory_as_error(model.name, f"{len(before) + len(ids)} tokens"):
            for part in _passes(model, before, ids):
                own = torch.tensor(ids[part.start : part.start + len(part.logprobs)], device=part.logprobs.device)
                chosen = part.logprobs.gather(1, own[:, None])[:, 0].tolist()
                best, which = part.logprobs.topk(min(top, part.logprobs.shape[1]), dim=1)
                for n, (logprob, others, kept) in enumerate(zip(chosen, best.tolist(), which.tolist(), strict=True)):
                    alternatives = others if ids[part.start + n] in kept else [*others, logprob]
                    found.append(ScoredToken(*spans[part.start + n], logprob, tuple(alternatives)))
    finally:
        meter.add(Usage(seconds=time.perf_counter() - started))
    return found


def _encode(model: LocalModel, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    tokenizer = cast(Any, model.tokenizer)
    if not tokenizer.is_fast:
        raise InputError(
            f"{model.name}: its tokenizer cannot say where its tokens stand; use a fast one", field="local-model"
        )
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True)
    return list(found["input_ids"]), [(int(start), int(end)) for start, end in found["offset_mapping"]]


def _check_room(model: LocalModel, n_before: int, n_text: int) -> None:
    needed = _needed(model, n_before, n_text)
    if model.context_tokens is not None and needed > model.context_tokens:
        raise TooLongError(
            f"{model.name}: prompt and text have {needed} tokens and the model takes {model.context_tokens}; "
            "nothing is cut off: shorten the item, or use a model with a longer context"
        )


def _needed(model: LocalModel, n_before: int, n_text: int) -> int:
    return (0 if model.soft_prompt is None else int(model.soft_prompt.shape[1])) + n_before + n_text


@torch.inference_mode()
def _passes(model: LocalModel, before: list[int], ids: list[int]) -> Iterator[_Pass]:
    """Reads prompt and text piece by piece; each gives the log-probabilities of the tokens that follow its own."""
    network: Any = model.model
    everything = [*before, *ids[:-1]] if ids else []
    cache: Cache | None = None
    for at in range(0, len(everything), _CHUNK):
        piece = torch.tensor([everything[at : at + _CHUNK]], device=network.device)
        if at == 0 and model.soft_prompt is not None:
            words = network.get_input_embeddings()(piece)
            given = {"inputs_embeds": torch.cat([model.soft_prompt.to(words), words], dim=1)}
        else:
            given = {"input_ids": piece}
        out = network(**given, past_key_values=cache, use_cache=True)
        cache = getattr(out, "past_key_values", None)
        if cache is None and at + _CHUNK < len(everything):
            raise InputError(
                f"{model.name}: it keeps no cache, so that it cannot read a text in pieces", field="local-model"
            )
        # The state after everything[i] speaks of everything[i + 1], and from the prompt's last token on, of the text.
        first = max(at, len(before) - 1)
        wanted = at + piece.shape[1] - first
        if wanted > 0:
            logprobs = out.logits[0, -wanted:].float().log_softmax(-1)
            if bool(logprobs.isnan().any()):  # of an infinite logit as well, which half precision makes of a large one
                raise BackendError(f"{model.name}: its scores are not numbers; its weights or its dtype are at fault")
            yield _Pass(first - (len(before) - 1), logprobs)


class LocalScorer:
    """A local model as a `TokenScorer`: by its chat template where it has one, else as plain text."""

    def __init__(self, model: LocalModel) -> None:
        self._model = model
        self.name = model.name

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        """The tokens of `text` as the model's reply, or on the line after the prompt."""
        before = await self._model.compute(lambda: self._before(messages))
        return await score_text(self._model, before, text, top=top, meter=meter)

    async def laid_out(self, lay_out: Callable[[Count, int | None], T]) -> T:
        """What `lay_out` makes, in the model's thread, of its count and of its context."""

        def count(messages: Sequence[Message], text: str) -> int:
            return _needed(self._model, len(self._before(messages)), len(_encode(self._model, text)[0]))

        return await self._model.compute(lambda: lay_out(count, self._model.context_tokens))

    def _before(self, messages: Sequence[Message]) -> list[int]:
        if self._model.layout == "chat":
            return self._model.encode_chat(messages)
        return self._model.encode_text("\n\n".join(m.content for m in messages) + "\n")
