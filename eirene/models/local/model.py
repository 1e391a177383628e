"""Local causal language models, with or without a PEFT adapter. Importing this loads no torch.

One model serves all roles of a run. It works in one thread of its own, one request after the other: two at a time would
share the same cores or the same GPU, and finish no earlier.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eirene.core.errors import BackendError, InputError, TooLongError, message_line
from eirene.core.extras import require
from eirene.core.usage import Meter, Usage
from eirene.models.call_spans import TracedCall
from eirene.models.faults import out_of_memory_as_error
from eirene.models.local.layout import as_text, encode_chat, encode_chat_frame, encode_reply, encode_text
from eirene.models.local.spec import ADAPTER_CONFIG, PROMPT_FILE, Layout, LocalSpec, parse_spec, read_object
from eirene.models.replies import Reply, Tokens
from eirene.prompts import Message

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from eirene.models.local.sampling import Constraint, LocalSampling, Prefilled, Vocabulary

T = TypeVar("T")


class LocalModel:
    """A loaded model with its tokenizer; `load_local` makes one, and so may anyone who has the two at hand.

    `soft_prompt` (1, n, width) are a prompt-tuning adapter's virtual tokens. `prompt` is what the adapter carries in
    `eirene_prompt.json`, as read. `layout` is what prompts are written in: `chat` where the tokenizer has a template.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        name: str,
        soft_prompt: torch.Tensor | None = None,
        prompt: dict[str, Any] | None = None,
        layout: Layout | None = None,
        version: str | None = None,
    ) -> None:
        self.name = name
        self.model = model
        model.train(False)
        self.tokenizer = tokenizer
        self.soft_prompt = soft_prompt
        self.prompt = prompt
        self.layout: Layout = layout or ("chat" if tokenizer.chat_template else "instruct")
        if self.layout == "chat" and not tokenizer.chat_template:
            raise InputError(f"{name}: the tokenizer has no chat template; use layout=instruct", field="layout")
        self.version = version
        self.end_ids = _end_ids(model, tokenizer)
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.context_tokens = positions if isinstance(positions, int) and positions > 0 else None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="eirene-local")
        self._last: tuple[tuple[int, ...], Prefilled] | None = None
        self._vocabulary: Vocabulary | None = None

    def encode_text(self, text: str) -> list[int]:
        """The tokens of a prompt that is plain text."""
        return encode_text(self.tokenizer, text)

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of a chat up to where the model's reply begins, by the tokenizer's template."""
        return encode_chat(self.tokenizer, messages)

    def encode_messages(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of messages in the model's layout: its chat template, or plain text."""
        return self.encode_chat(messages) if self.layout == "chat" else self.encode_text(as_text(messages))

    def encode_more(self, text: str) -> list[int]:
        """The tokens of a text that goes on after others: no start token, no end token."""
        return encode_reply(self.tokenizer, text)

    def encode_frame(self, before: str = "") -> tuple[list[int], list[int]]:
        """The tokens around a text that someone else encodes: what opens a prompt, and what leads to the reply."""
        if self.layout == "chat":
            return encode_chat_frame(self.tokenizer, before)
        return self.encode_text(before), []

    async def sample(
        self, ids: Sequence[int], seeds: Sequence[int], *, sampling: LocalSampling, meter: Meter
    ) -> list[Reply]:
        """One reply a seed to the prompt `ids`, in the order of the seeds, from one prefill: one call on the meter.

        The same model, prompt, seed and sampling give the same reply, whatever else runs. A cancelled call stops at
        the next token. Raises `TooLongError` for a prompt beyond the model's context, `BackendError` when memory runs
        out.
        """
        call, spent = self._traced(ids, seeds, sampling), Meter(also=meter)
        with call.open() as found:
            replies = await self.draw(ids, seeds, sampling=sampling, meter=spent)
            used = spent.total
            call.told(found, replies, Tokens(used.input_tokens, used.output_tokens, used.cached_tokens))
            return replies

    async def draw(
        self, ids: Sequence[int], seeds: Sequence[int], *, sampling: LocalSampling, meter: Meter
    ) -> list[Reply]:
        """What `sample` does, without a span of its own."""
        if (room := self._room(len(ids))) is not None:
            sampling = replace(sampling, max_new_tokens=min(sampling.max_new_tokens, room))
        stopped = threading.Event()
        try:
            return await self.compute(lambda: self._sample(tuple(ids), seeds, sampling, meter, stopped))
        finally:
            stopped.set()

    async def next_tokens(self, ids: Sequence[int], *, top: int, meter: Meter) -> list[tuple[str, float]]:
        """The `top` likeliest tokens after a prompt with their log-probabilities (natural), the likeliest first.

        What the prompt shares with the beginning of the one before is not read again; it changes the last digits.
        Raises what `sample` raises.
        """
        self._room(len(ids))
        return await self.compute(lambda: self._next_tokens(tuple(ids), top, meter))

    def _next_tokens(self, ids: tuple[int, ...], top: int, meter: Meter) -> list[tuple[str, float]]:
        from eirene.models.local.sampling import check_numbers, prefill_after

        started = time.perf_counter()
        with out_of_memory_as_error(self.name, f"{len(ids)} tokens"):
            found, known = prefill_after(self.model, ids, self._last, self.soft_prompt)
        self._last = (ids, found)
        values, tokens = found.logits[0].float().log_softmax(-1).topk(min(top, found.logits.shape[-1]))
        check_numbers(values)
        meter.add(
            Usage(
                calls=1, input_tokens=len(ids), output_tokens=1, cached_tokens=known,
                seconds=time.perf_counter() - started,
            )
        )  # fmt: skip
        texts = [str(self.tokenizer.decode([token])) for token in tokens.tolist()]
        return list(zip(texts, values.tolist(), strict=True))

    def _traced(self, ids: Sequence[int], seeds: Sequence[int], sampling: LocalSampling) -> TracedCall:
        fields = {
            "n": len(seeds), "seed": seeds[0] if len(seeds) == 1 else None, "temperature": sampling.temperature,
            "top_p": sampling.top_p, "max_tokens": sampling.max_new_tokens,
        }  # fmt: skip
        name = self.name if self.name.startswith("hf:") else f"hf:{self.name}"
        return TracedCall(name, None, fields, (("user", str(self.tokenizer.decode(list(ids)))) for _ in (0,)))

    async def compute(self, work: Callable[[], T]) -> T:
        """Does other work with the model, such as taking gradients, in its thread and in its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _sample(
        self,
        ids: tuple[int, ...],
        seeds: Sequence[int],
        sampling: LocalSampling,
        meter: Meter,
        stopped: threading.Event,
    ) -> list[Reply]:
        import torch

        from eirene.models.local.sampling import StoppedError, prefill, sample_continuations

        if stopped.is_set():
            return []
        started = time.perf_counter()
        known = self._last is not None and self._last[0] == ids
        meter.add(Usage(calls=1, input_tokens=len(ids), cached_tokens=len(ids) if known else 0))
        try:
            if self._last is None or not known:
                self._last = None  # frees the old cache before the new one is made
                self._last = (ids, prefill(self.model, ids, self.soft_prompt))
            found = sample_continuations(
                self.model, self._last[1], seeds, sampling=sampling, end_ids=self.end_ids, is_stopped=stopped.is_set,
                constrain=None if sampling.grammar is None else functools.partial(self._constrain, sampling.grammar),
            )  # fmt: skip
        except StoppedError:
            return []
        except torch.OutOfMemoryError as error:
            self._last = None
            raise BackendError(
                f"{self.name}: out of memory with {min(len(seeds), sampling.max_batch)} samples of {len(ids)} prompt "
                f"tokens at once; lower max_batch, or use a narrower dtype ({message_line(error, 200)})"
            ) from error
        finally:
            meter.add(Usage(seconds=time.perf_counter() - started))
        meter.add(Usage(output_tokens=sum(c.n_tokens for c in found)))
        return [
            Reply(
                str(self.tokenizer.decode(list(c.ids), skip_special_tokens=True)), "length" if c.is_cut_off else "stop"
            )
            for c in found
        ]

    def _constrain(self, grammar: str, samples: int) -> Constraint:
        from eirene.models.local.sampling import Vocabulary

        if self._vocabulary is None:
            self._vocabulary = Vocabulary(self.tokenizer, self.end_ids, name=self.name)
        return self._vocabulary.constrain(grammar, samples)

    def _room(self, n_prompt: int) -> int | None:
        """How many tokens a reply may have, one at least; None where the model does not say."""
        if self.context_tokens is None:
            return None
        virtual = 0 if self.soft_prompt is None else self.soft_prompt.shape[1]
        room = self.context_tokens - n_prompt - virtual
        if room < 1:
            raise TooLongError(
                f"{self.name}: the prompt has {n_prompt + virtual} tokens and the model takes {self.context_tokens}, "
                "reply included; shorten the item, or use a model with a longer context"
            )
        return room


def load_local(spec: str | LocalSpec, *, device: str | None = None, dtype: str | None = None) -> LocalModel:
    """Loads `hf:path-or-id[+adapter]`; see `parse_spec` for the form and `docs/guides/local_models.md` for what fits.

    Without `device` a GPU is used if there is one (`auto` spreads a model over all of them); without `dtype` weights
    stay as they are on a GPU and become float32 on a CPU. LoRA adapters are merged into the weights, prompt tuning
    is kept as virtual tokens. Raises `MissingExtraError`, and `InputError` for what cannot be loaded.
    """
    require("torch", "transformers", "peft")
    from eirene.models.local.loading import file_beside, load

    spec = parse_spec(spec, device=device, dtype=dtype) if isinstance(spec, str) else spec
    loaded = load(spec)
    file = file_beside(spec.adapter or spec.model, PROMPT_FILE)
    prompt = None if file is None else read_object(file)
    layout = spec.layout or (prompt or {}).get("layout")
    return LocalModel(
        loaded.model,
        loaded.tokenizer,
        name=spec.name,
        soft_prompt=loaded.soft_prompt,
        prompt=prompt,
        layout=layout,
        version=version_of(spec, loaded.model),
    )


def version_of(spec: LocalSpec, model: PreTrainedModel) -> str:
    """12 hex digits that change with the model: small files by content, weights by name, size and time of change.

    Hashing the weights themselves would take longer than loading them.
    """
    from eirene.models.local.loading import file_beside

    found = hashlib.sha256(str(getattr(model.config, "_commit_hash", None)).encode())
    adapter = None if spec.adapter is None else file_beside(spec.adapter, ADAPTER_CONFIG)
    for folder in (Path(spec.model), *(() if adapter is None else (adapter.parent,))):
        for file in sorted(p for p in folder.glob("*") if p.is_file()):
            if file.suffix == ".json" or file.stat().st_size < 1 << 26:
                found.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
            else:
                found.update(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}".encode())
    found.update(str(model.dtype).encode())
    return found.hexdigest()[:12]


def _end_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Every token that ends a reply: the tokenizer's and the model's own (chat models have several)."""
    ids: set[int] = set()
    for value in (
        tokenizer.eos_token_id,
        getattr(model.generation_config, "eos_token_id", None),
        model.config.eos_token_id,
    ):
        if value is not None:
            ids |= {value} if isinstance(value, int) else set(value)
    return frozenset(ids)
