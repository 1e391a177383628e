"""The call layer: one `ChatModel` for every role that calls a LangChain chat model; `eirene.models.drawing` draws many.

What it adds to the model: retries of our own, a time limit for each attempt, a limit on concurrent calls, and the usage
of every attempt (`eirene.models.calls`). What it takes away: the client's own retries, response caches (twenty equal
prompts would become one call, and so twenty equal critiques) and streaming (which gives one choice, whatever `n` says).
A call cache of our own (`eirene.models.cache`) knows samples of one prompt apart.

What a server takes is found out by asking. It is asked for everything; a field that it refuses is left out from then
on, `n`, the system message and the JSON schema among them, and so is one that it ignores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eirene.core.errors import MalformedReplyError
from eirene.core.logs import get_logger
from eirene.core.loop_settings import Structured
from eirene.core.usage import Meter, Usage
from eirene.models.cache import CallCache, reply_keys
from eirene.models.call_spans import TracedCall, note_response, response_of
from eirene.models.calls import Answered, Caller, Request, has_system, reply_limit, without_system
from eirene.models.clients import ModelPerLoop, identity_of, server_address
from eirene.models.costs import Price, rough_count
from eirene.models.faults import RESPONSE_FORMAT, SYSTEM
from eirene.models.http_guard import current_call
from eirene.models.limits import Limiter, RetryPolicy, Sleep
from eirene.models.replies import Reply, Tokens, replies_of, tokens_of
from eirene.models.structured import ReplyForm, asks_for_schemas, guided_replies, json_object, schema_fields
from eirene.prompts import Message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

logger = get_logger(__name__)

NOSTREAM = "nostream"
"""LangGraph's tag for calls whose tokens stay out of `stream_mode="messages"`: drafts are not for the reader."""
LEAST_TOKENS = 1024
"""A shorter prompt Anthropic does not keep in its prompt cache (some models want more, and ignore the breakpoint)."""
_SEED_BITS = 31  # the widest that every provider's seed field takes
_COUNTS_ALL = ("api.openai.com", ".openai.azure.com", "api.anthropic.com")
"""Servers whose usage is that of every choice. llama.cpp's speaks of the first one whatever `n` is."""
_LONG_TOKEN = 8
"""Characters; no tokenizer's average token is as long. Where more came than that, choices were left out."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are drawn. None leaves the model's own setting; what a model has no field for is not sent.

    `top_logprobs`: for each token, so many of the likeliest with their log-probabilities are asked for. `form`: the
    JSON that replies are asked for where the server takes a schema; its messages then take the place of the text's.
    `max_tokens`: how long a reply may be; None leaves the model's own limit.
    """

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    form: ReplyForm | None = None
    max_tokens: int | None = None

    def fields(self) -> dict[str, Any]:
        """The fields to send."""
        seed = None if self.seed is None else self.seed % 2**_SEED_BITS
        given = {"temperature": self.temperature, "top_p": self.top_p, "seed": seed, "max_tokens": self.max_tokens}
        if self.top_logprobs is not None:
            given |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        return {name: value for name, value in given.items() if value is not None}

    def asked(self) -> dict[str, Any]:
        """Every field but the seed, as it is asked for: what a reply hangs on beside the messages and its seed."""
        fields: dict[str, Any] = {
            "temperature": self.temperature, "top_p": self.top_p, "top_logprobs": self.top_logprobs,
        }  # fmt: skip
        if self.max_tokens is not None:
            fields["max_tokens"] = self.max_tokens
        if self.form is not None:
            said = [[message.role, message.content] for message in self.form.messages]
            fields["form"] = [self.form.name, self.form.schema, said]
        return fields


class ChatModel:
    """A LangChain chat model with our own retries, limits and usage around it; share one between the roles of a run.

    `model` is copied, never changed. `price` None leaves costs unknown; `rebuild` makes such a model anew for another
    event loop; `sleep` is what waits between attempts. Replies that `cache` knows are not asked for again. `structured`
    says whether replies are asked for by JSON schema. Raises `InputError` where they must be, and the model's class has
    no place for one.
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
        self._has_schemas = asks_for_schemas(model, structured)
        self._holds_to_schemas = False  # a reply has shown it
        address = server_address(model)
        # Whether usage is that of all choices; None until a request for several has shown it.
        self._counts_all = True if address is None or any(known in address for known in _COUNTS_ALL) else None
        self._identity = identity_of(model, name)
        self._fields = frozenset(type(model).model_fields)
        self._models = ModelPerLoop(model, name=self.name, rebuild=rebuild)
        self._calls = Caller(
            self.name, limiter=limiter, retry=retry, timeout_s=timeout_s, price=price, sleep=sleep
        )  # fmt: skip
        # `disable_streaming` is LangChain's switch; OpenAI's class sends its own field `streaming` all the same.
        self._ours = {"cache": False, "disable_streaming": True}
        if "streaming" in self._fields:
            self._ours["streaming"] = False

    @property
    def model(self) -> BaseChatModel:
        """The model as it was given."""
        return self._models.given

    @property
    def digest(self) -> str | None:
        """What stands for the weights of a model that runs in this process; None of one that a server has."""
        digest: str | None = getattr(self.model, "digest", None)
        return digest

    @property
    def version(self) -> str:
        """The name, and what stands for the weights where these are here: a name stays when its file changes."""
        return self.name if self.digest is None else f"{self.name},{self.digest}"

    def form_of(self, sampling: Sampling, refused: Set[str] | None = None) -> ReplyForm | None:
        """The JSON that a request with `sampling` asks for, as far as is known; None where it asks for text."""
        refused = self._calls.refused if refused is None else refused
        return sampling.form if self._has_schemas and RESPONSE_FORMAT not in refused else None

    def wants_breakpoint(self, messages: Sequence[Message], sampling: Sampling) -> bool:
        """Whether requests that share this prompt should say so: Anthropic keeps what stands before a breakpoint.

        OpenAI, llama.cpp and vLLM know the beginning of a prompt again by themselves.
        """
        if "anthropic_api_key" not in self._fields:
            return False
        return sum(rough_count(m.content) for m in _asked(messages, self.form_of(sampling))) >= LEAST_TOKENS

    @property
    def takes_n(self) -> bool:
        """Whether several replies may be asked for in one request. Starts as a guess; a request finds out."""
        return "n" in self._fields and "n" not in self._calls.refused

    def settable(self, sampling: Sampling, refused: Set[str] | None = None) -> dict[str, Any]:
        """The fields of `sampling` that this model has and that the provider has not refused so far."""
        refused = self._calls.refused if refused is None else refused
        return {k: v for k, v in sampling.fields().items() if k in self._fields and k not in refused}

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
        """The replies of one request; none where the provider refuses `n`.

        Log-probabilities that come for the count of tokens alone are nobody's.
        """
        several = n if n > 1 and self.takes_n else 1
        counts = several > 1 and not self._counts_all and not sampling.top_logprobs
        asked = replace(sampling, top_logprobs=1) if counts else sampling
        replies, form = await self._calls.run(
            lambda refused: self._request(messages, asked, refused, n=several, is_kept=is_kept),
            meter=meter,
            seed=sampling.seed or 0,
        )
        if form is not None:
            self._look_at(replies)
        if 0 < len(replies) < several:
            self._calls.refuse({"n"})
        return tuple(replace(r, tokens=()) for r in replies[:n]) if not sampling.top_logprobs else replies[:n]

    def _request(
        self, messages: Sequence[Message], sampling: Sampling, refused: Set[str], *, n: int, is_kept: bool
    ) -> Request[tuple[tuple[Reply, ...], ReplyForm | None]]:
        """The request as it is to be sent to a server that refuses these fields."""
        form = self.form_of(sampling, refused)
        fields = self.settable(sampling, refused) | ({"n": n} if n > 1 else {})
        model = self._models.here()
        more, arguments = ({}, {}) if form is None else schema_fields(model, form)
        model = model.model_copy(update={**self._ours, **fields, **more})
        asked = [{"role": m.role, "content": m.content} for m in _asked(messages, form)]
        asked = without_system(asked) if SYSTEM in refused else asked
        lc_messages = _to_langchain(asked, is_kept=is_kept)

        async def send() -> Answered[tuple[tuple[Reply, ...], ReplyForm | None]]:
            replies, tokens = await _answer(model, lc_messages, form, arguments)
            if not replies:
                raise MalformedReplyError(f"{self.name}: the reply holds no choice")
            return Answered((replies, form), self._all_tokens(tokens, replies), replies)

        may_be_text = form is not None and self.structured == "auto"
        optional = {*fields, *([RESPONSE_FORMAT] if may_be_text else []), *([SYSTEM] if has_system(asked) else [])}
        span = TracedCall(
            self.name, model, fields, ((m["role"], m["content"]) for m in asked), address=server_address(model),
            output=None if form is None else "json",
        )  # fmt: skip
        # Servers that compile a schema fail in many ways, and some say no more than "internal server error".
        doubtful = RESPONSE_FORMAT if may_be_text and not self._holds_to_schemas else None
        return Request(send, span, reply_limit(model), frozenset(optional), doubtful, without_n=((), None))

    def _look_at(self, replies: Sequence[Reply]) -> None:
        """Learns from the replies to a request with a schema: text says that the server has ignored it.

        One JSON object settles it. Nothing is said by replies that are blank, cut off or filtered. What came stands:
        it was asked for as JSON by the prompt as well, and its reader takes both. Raises `MalformedReplyError` for
        text where a schema is insisted on.
        """
        told = [r for r in replies if r.text.strip() and not r.is_cut_off and not r.is_filtered]
        self._holds_to_schemas |= any(json_object(r.text) is not None for r in told)
        if self._holds_to_schemas or not told:
            return
        if self.structured == "schema":
            raise MalformedReplyError(
                f"{self.name}: the server was sent a JSON schema and replied with text "
                f"({' '.join(told[0].text.split())[:60]!r}); use --structured auto or text"
            )
        self._calls.refuse({RESPONSE_FORMAT})

    def _all_tokens(self, tokens: Tokens, replies: Sequence[Reply]) -> Tokens:
        """The usage of a request with these choices, put right where the server counted one of them.

        Log-probabilities come one a token, so that their number is the count.
        """
        if len(replies) < 2 or tokens.is_unknown:
            return tokens
        counted = sum(len(reply.tokens) for reply in replies)
        if all(reply.tokens for reply in replies):
            self._counts_all = counted <= tokens.output
            return replace(tokens, output=max(counted, tokens.output))
        characters = sum(len(reply.text) for reply in replies)
        if characters <= _LONG_TOKEN * tokens.output:
            self._counts_all = True if self._counts_all is None else self._counts_all
            return tokens
        guessed = round(tokens.output * characters / max(1, len(replies[0].text)))
        logger.info("the server counts one choice of %d: about %d tokens came", len(replies), guessed)
        return replace(tokens, output=max(tokens.output, guessed))


def model_name(model: BaseChatModel) -> str:
    """What a model calls itself: its model's name where it has one, else its class."""
    for field in ("model_name", "model", "model_id"):
        value = getattr(model, field, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def _asked(messages: Sequence[Message], form: ReplyForm | None) -> Sequence[Message]:
    return messages if form is None or not form.messages else form.messages


def _to_langchain(messages: Sequence[dict[str, Any]], *, is_kept: bool) -> list[BaseMessage]:
    """The messages; where `is_kept`, with a breakpoint at the end, in the form of Anthropic's API."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
    contents: list[Any] = [message["content"] for message in messages]
    if is_kept:
        contents[-1] = [{"type": "text", "text": contents[-1], "cache_control": {"type": "ephemeral"}}]
    return [kinds[m["role"]](content=content) for m, content in zip(messages, contents, strict=True)]


async def _answer(
    model: BaseChatModel, messages: list[BaseMessage], form: ReplyForm | None, arguments: Mapping[str, Any]
) -> tuple[tuple[Reply, ...], Tokens]:
    """What a request gives: every choice, where `ainvoke` keeps the first, as a child of the caller's run."""
    from langchain_core.runnables.config import ensure_config

    config = ensure_config()
    result = await model.agenerate(
        [messages],
        callbacks=config.get("callbacks"),
        tags=[*config.get("tags", []), NOSTREAM],
        metadata=config.get("metadata"),
        **arguments,
    )
    note_response(response_of(result))
    replies = replies_of(result, tool=(arguments.get("tool_choice") or {}).get("name"))
    if form is None or all(reply.text.strip() for reply in replies):
        return replies, tokens_of(result)
    call = current_call()
    return guided_replies(replies, result, b"" if call is None else call.body), tokens_of(result)
