"""The call layer: one `ChatModel` for every role that calls a LangChain chat model.

What it adds to the model: retries of our own, a time limit for each attempt, a limit on concurrent calls, and the usage
of every attempt. What it takes away: the client's own retries, response caches (twenty equal prompts would become one
call, and so twenty equal critiques) and streaming (which gives one choice, whatever `n` says). A call cache of our own
(`eirene.models.cache`) knows samples of one prompt apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eirene.core.errors import MalformedReplyError
from eirene.core.logs import get_logger
from eirene.core.loop_settings import Structured
from eirene.core.signature import rng_for
from eirene.core.usage import Meter, Usage
from eirene.models.attempt import Attempt, reply_limit, try_call
from eirene.models.cache import CallCache, reply_keys
from eirene.models.call_spans import TracedCall, note_response, response_of
from eirene.models.choice_tokens import ChoiceTokens
from eirene.models.clients import ModelPerLoop, identity_of, server_address
from eirene.models.costs import Price, priced
from eirene.models.faults import Fault
from eirene.models.http_guard import current_call
from eirene.models.limits import Limiter, RetryPolicy, Sleep
from eirene.models.messages import SYSTEM, has_system, wants_breakpoint, with_breakpoint, without_system
from eirene.models.replies import Reply, Tokens, replies_of, tokens_of
from eirene.models.structured import PARAMETER, ReplyForm, SchemaRequest, SchemaSupport, guided_replies
from eirene.prompts import Message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

logger = get_logger(__name__)

NOSTREAM = "nostream"
"""LangGraph's tag for calls whose tokens stay out of `stream_mode="messages"`: drafts are not for the reader."""
_SEED_BITS = 31  # the widest that every provider's seed field takes


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are drawn. None leaves the model's own setting; what a model has no field for is not sent.

    `top_logprobs`: for each token, so many of the likeliest with their log-probabilities are asked for. `form`: the
    JSON that replies are asked for where the server takes a schema; its messages then take the place of the text's.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    form: ReplyForm | None = None

    def fields(self) -> dict[str, Any]:
        """The fields to send."""
        seed = None if self.seed is None else self.seed % 2**_SEED_BITS
        given = {"temperature": self.temperature, "top_p": self.top_p, "seed": seed}
        if self.top_logprobs is not None:
            given |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        return {name: value for name, value in given.items() if value is not None}

    def asked(self) -> dict[str, Any]:
        """Every field but the seed, as it is asked for: what a reply hangs on beside the messages and its seed."""
        fields: dict[str, Any] = {
            "temperature": self.temperature, "top_p": self.top_p, "top_logprobs": self.top_logprobs,
        }  # fmt: skip
        if self.form is not None:
            said = [[message.role, message.content] for message in self.form.messages]
            fields["form"] = [self.form.name, self.form.schema, said]
        return fields


class ChatModel:
    """A LangChain chat model with our own retries, limits and usage around it; share one between the roles of a run.

    `model` is copied, never changed. `price` None leaves costs unknown; `rebuild` makes such a model anew for another
    event loop; `sleep` is what waits between attempts. Replies that `cache` knows are not asked for again. `structured`
    says whether replies are asked for by JSON schema (`eirene.models.structured`).
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        name: str | None = None,
        limiter: Limiter | None = None,
        retry: RetryPolicy | None = None,
        timeout_s: float = 60.0,
        price: Price | None = None,
        rebuild: Callable[[], BaseChatModel] | None = None,
        cache: CallCache | None = None,
        structured: Structured = "auto",
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.name = name or model_name(model)
        self.cache = cache
        self.structured = structured
        self._schema = SchemaSupport(model, structured, name=self.name)
        self._counting = ChoiceTokens(server_address(model))
        self._identity = identity_of(model, name)
        self._fields = frozenset(type(model).model_fields)
        self._models = ModelPerLoop(model, name=self.name, rebuild=rebuild)
        self._limiter = Limiter() if limiter is None else limiter
        self._retry = RetryPolicy() if retry is None else retry
        self._timeout_s = timeout_s
        self._price = price
        self._sleep = sleep
        # `disable_streaming` is LangChain's switch; OpenAI's class sends its own field `streaming` all the same.
        self._ours = {
            "cache": False,
            "disable_streaming": True,
            **({"streaming": False} if "streaming" in self._fields else {}),
        }
        self._refused: set[str] = set()
        self._has_answered = False
        self._takes_n = self._has_field("n")

    @property
    def model(self) -> BaseChatModel:
        """The model as it was given."""
        return self._models.given

    def form_of(self, sampling: Sampling) -> ReplyForm | None:
        """The JSON that a request with `sampling` asks for, as far as is known; None where it asks for text."""
        return sampling.form if self._schema.is_usable else None

    def wants_breakpoint(self, messages: Sequence[Message], sampling: Sampling) -> bool:
        """Whether requests that share this prompt should say so, for the provider to keep it."""
        form = self.form_of(sampling)
        return wants_breakpoint(self.model, messages if form is None or not form.messages else form.messages)

    @property
    def takes_n(self) -> bool:
        """Whether several replies may be asked for in one request. Starts as a guess; a request finds out."""
        return self._takes_n and "n" not in self._refused

    def settable(self, sampling: Sampling) -> dict[str, Any]:
        """The fields of `sampling` that this model has and that the provider has not refused so far."""
        return {k: v for k, v in sampling.fields().items() if self._has_field(k) and k not in self._refused}

    async def ask(self, messages: Sequence[Message], *, sampling: Sampling, meter: Meter) -> Reply:
        """The model's one reply, from the call cache where it is there. Raises what `send` raises."""
        seeds = [sampling.seed]
        (known,) = await self.recall(messages, sampling=sampling, seeds=seeds, meter=meter)
        if known is not None:
            return known
        return (await self.send(messages, sampling=sampling, seeds=seeds, meter=meter))[0]

    async def recall(
        self, messages: Sequence[Message], *, sampling: Sampling, seeds: Sequence[int | None], meter: Meter
    ) -> list[Reply | None]:
        """What the call cache knows of each seed's reply; the hits are put on the meter."""
        if self.cache is None:
            return [None] * len(seeds)
        keys = self.keys(messages, sampling=sampling, seeds=seeds)
        found = await self.cache.recall([key for key in keys if key is not None])
        if found:
            meter.add(Usage(cache_hits=len(found)))
        return [None if key is None else found.get(key) for key in keys]

    async def send(
        self,
        messages: Sequence[Message],
        *,
        sampling: Sampling,
        seeds: Sequence[int | None],
        meter: Meter,
        is_shared: bool = False,
    ) -> tuple[Reply, ...]:
        """The model's replies, one a seed, by one request that has the first seed; the call cache is told of them.

        `is_shared`: other requests have the same messages, and the provider's prompt cache is told of it.

        Fewer where the provider gives fewer, none where it refuses `n`: `takes_n` is False from then on, and one reply
        is to be asked for a request. Raises `BackendError` (see `eirene.core.errors` for its kinds) when no attempt
        succeeds or none may help.
        """
        first = replace(sampling, seed=seeds[0])
        is_kept = is_shared and self.wants_breakpoint(messages, sampling)
        replies = await self._answered(messages, first, meter, n=len(seeds), is_kept=is_kept)
        if self.cache is None:
            return replies
        keys = self.keys(messages, sampling=sampling, seeds=seeds[: len(replies)])
        fresh = {key: reply for key, reply in zip(keys, replies, strict=True) if key is not None}
        before = await self.cache.keep(fresh)  # by a call for the same at the same time: a rerun will get that one
        return tuple(reply if key is None else before.get(key, reply) for key, reply in zip(keys, replies, strict=True))

    def keys(
        self, messages: Sequence[Message], *, sampling: Sampling, seeds: Sequence[int | None]
    ) -> list[bytes | None]:
        """What the call cache files each seed's reply under; None for one that is drawn and has no seed to tell it by.

        The model's name and server are in it, and of a model object all its settings.
        """
        known = [0 if seed is None and sampling.temperature == 0 else seed for seed in seeds]
        numbers = [seed for seed in known if seed is not None]
        asked = (replace(sampling, form=None) if self.structured == "text" else sampling).asked()
        made = iter(reply_keys(self._identity, messages, asked, seeds=numbers))
        return [None if seed is None else next(made) for seed in known]

    async def _answered(
        self, messages: Sequence[Message], sampling: Sampling, meter: Meter, *, n: int, is_kept: bool
    ) -> tuple[Reply, ...]:
        """The replies of one request, retried as the policy says; none where the provider refuses `n`.

        A server that turns out to take no schema is asked for text at once; where it fails within for the second time
        and no schema has worked yet, text is tried once.
        """
        refused = 0

        async def ask(before: int) -> tuple[Reply, ...] | Fault:
            nonlocal refused
            form = self.form_of(sampling)
            several = n if n > 1 and self.takes_n else 1
            counts = self._counting.wants_logprobs(several)
            counted = replace(sampling, top_logprobs=1) if counts and not sampling.top_logprobs else sampling
            fields = self.settable(counted)
            if several > 1:
                fields["n"] = n
            asked = messages if form is None or not form.messages else form.messages
            outcome = await self._attempt(asked, fields, form, meter=meter, tries=before + refused, is_kept=is_kept)
            if isinstance(outcome, Fault) and form is not None and before == 1 and self._schema.is_suspect(outcome):
                fault, form = outcome, None
                tries = before + refused + 1
                outcome = await self._attempt(messages, fields, None, meter=meter, tries=tries, is_kept=is_kept)
                if not isinstance(outcome, Fault):
                    self._schema.refused(fault.error)
            if isinstance(outcome, Fault):
                if outcome.parameter is None or (outcome.parameter == PARAMETER and not self._schema.may_fall_back):
                    return outcome
                self._give_up(outcome.parameter, outcome)
                refused += 1  # none of the policy's attempts: it has told us something, and cannot happen twice
                return () if outcome.parameter == "n" else await ask(before)
            if form is not None:
                self._schema.look_at(outcome)
            if len(outcome) < fields.get("n", 1):
                logger.info("%s gave %d of %d replies: one a request from now on", self.name, len(outcome), n)
                self._takes_n = False
            # Log-probabilities that came for the count alone are nobody's.
            return outcome[:n] if sampling.top_logprobs else tuple(replace(reply, tokens=()) for reply in outcome[:n])

        return await self._retry.run(ask, rng=rng_for(sampling.seed or 0, "retry"), sleep=self._sleep)

    async def _attempt(
        self,
        messages: Sequence[Message],
        fields: Mapping[str, Any],
        form: ReplyForm | None,
        *,
        meter: Meter,
        tries: int,
        is_kept: bool,
    ) -> tuple[Reply, ...] | Fault:
        """One request. It is on the meter from the moment it is sent, so that a cancelled one is not forgotten."""
        model = self._models.here()
        by_schema = SchemaRequest({}, {}) if form is None else self._schema.request(model, form)
        model = model.model_copy(update={**self._ours, **fields, **by_schema.fields})
        asked = [{"role": message.role, "content": message.content} for message in messages]
        if SYSTEM in self._refused:
            asked = without_system(asked)
        told = {*fields, *([] if form is None else [PARAMETER]), *([SYSTEM] if has_system(asked) else [])}
        address = server_address(model)
        attempt = Attempt(
            model, self.name, self._timeout_s, reply_limit(model), frozenset(told), address, self._has_answered
        )
        lc_messages = _to_langchain(asked, is_kept=is_kept)
        call = TracedCall(
            self.name, model, fields, ((m["role"], m["content"]) for m in asked), tries, address,
            output=None if form is None else "json",
        )  # fmt: skip
        async with self._limiter.slot() as slot:
            unpriced = None if self._price is None else 0.0
            meter.add(Usage(calls=1, retries=int(tries > 0), cost_usd=unpriced))
            with call.open() as found:
                outcome = await try_call(lambda: _answer(model, lc_messages, by_schema), attempt)
                if isinstance(outcome, Fault):
                    call.told(found, outcome)
                    return slot.failed(outcome)
                replies, tokens = outcome
                tokens = self._counting.settled(tokens, replies)
                nothing = Fault(MalformedReplyError(f"{self.name}: the reply holds no choice"), retryable=True)
                call.told(found, replies or nothing, tokens)
        meter.add(self._usage(tokens))
        self._has_answered |= bool(replies)
        return replies or nothing

    def _usage(self, tokens: Tokens) -> Usage:
        if tokens.is_unknown:
            logger.info("%s reports no token usage; it counts as 0 tokens", self.name)
        return priced(
            self._price, input_tokens=tokens.input, output_tokens=tokens.output, cached_tokens=tokens.cached,
            written_tokens=tokens.written,
        )  # fmt: skip

    def _give_up(self, parameter: str, fault: Fault) -> None:
        if parameter == PARAMETER:
            self._schema.refused(fault.error)
            return
        if parameter in self._refused:  # a concurrent call has found it out, too
            return
        self._refused.add(parameter)
        tell = logger.info if parameter == "n" else logger.warning
        tell("%s does not take %r, going on without it: %s", self.name, parameter, fault.error)

    def _has_field(self, name: str) -> bool:
        return name in self._fields


def model_name(model: BaseChatModel) -> str:
    """What a model calls itself: its model's name where it has one, else its class."""
    for field in ("model_name", "model", "model_id"):
        value = getattr(model, field, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def _to_langchain(messages: Sequence[dict[str, Any]], *, is_kept: bool) -> list[BaseMessage]:
    """The messages; the provider is to keep them for later requests where `is_kept`."""
    from langchain_core.messages import HumanMessage, SystemMessage

    kinds: dict[str, type[SystemMessage | HumanMessage]] = {"system": SystemMessage, "user": HumanMessage}
    contents: list[Any] = [message["content"] for message in messages]
    if is_kept:
        contents[-1] = with_breakpoint(contents[-1])
    return [kinds[m["role"]](content=content) for m, content in zip(messages, contents, strict=True)]


async def _answer(
    model: BaseChatModel, messages: list[BaseMessage], by_schema: SchemaRequest
) -> tuple[tuple[Reply, ...], Tokens]:
    """What a request gives: every choice, where `ainvoke` keeps the first, as a child of the caller's run."""
    from langchain_core.runnables.config import ensure_config

    config = ensure_config()
    result = await model.agenerate(
        [messages],
        callbacks=config.get("callbacks"),
        tags=[*config.get("tags", []), NOSTREAM],
        metadata=config.get("metadata"),
        **by_schema.arguments,
    )
    note_response(response_of(result))
    replies = replies_of(result, tool=(by_schema.arguments.get("tool_choice") or {}).get("name"))
    if by_schema.is_empty or all(reply.text.strip() for reply in replies):
        return replies, tokens_of(result)
    call = current_call()
    return guided_replies(replies, result, b"" if call is None else call.body), tokens_of(result)
