"""The upstream model: draws drafts from it, with messages and settings as the client gave them."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from eirene.agent.server.protocol import ChatRequest
from eirene.core.errors import MalformedReplyError, UnusableReplyError
from eirene.core.logs import get_logger
from eirene.core.signature import rng_for
from eirene.core.usage import Usage
from eirene.models.attempt import Attempt, reply_limit, try_call
from eirene.models.call_spans import TracedCall, note_response
from eirene.models.clients import ModelPerLoop, server_address
from eirene.models.faults import Fault
from eirene.models.http_guard import current_call
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply, Tokens, replies_of, restore_fields, tokens_of, whole_message
from eirene.models.system_role import SYSTEM, has_system, without_system

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import LLMResult

logger = get_logger(__name__)

_LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of one limit: servers know the one, the other, or both."""
_NO_NAME = re.compile(
    r"\bnot? (?:support|permit|allow|longer)|\bextra\b|extra_|\bun(?:supported|known|expected|recogni[sz]ed)\b"
    r"|\badditional propert|\bdeprecated\b|\binstead\b|\binvalid (?:parameter|field|argument)",
    re.IGNORECASE,
)
"""How servers say that they do not know a name, rather than that its value is wrong."""
_KEPT_BACK = frozenset({"metadata", "store"})
"""What OpenAI would keep of a chat with the drafts, which are not what its user saw."""
_OTHERS = frozenset({"chat_template_kwargs", "min_p", "reasoning", "repetition_penalty", "thinking", "top_k"})
"""Fields of vLLM, llama.cpp, OpenRouter and DeepSeek."""
_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "presence_penalty", "frequency_penalty")
_FIELDS = (*_SAMPLING, "reasoning_effort")
_ROLES = {"human": "user", "ai": "assistant"}
_DEFAULT_RETRY = RetryPolicy(attempts=3)  # a person waits, and the client has retries of its own


@dataclass(frozen=True, slots=True)
class ModelDraft:
    """One reply of the model, and why it ended (`stop`, `length`, ...), where that is known."""

    message: AIMessage
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Drafts:
    """The replies to one request, and what all of them cost."""

    drafts: tuple[ModelDraft, ...]
    usage: Usage


class Upstream:
    """A LangChain chat model that writes drafts, with retries of our own around it. It is copied, never changed."""

    def __init__(
        self,
        model: BaseChatModel,
        *,
        name: str,
        rebuild: Callable[[], BaseChatModel] | None = None,
        retry: RetryPolicy = _DEFAULT_RETRY,
        timeout_s: float = 60.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self._models = ModelPerLoop(model, name=name, rebuild=rebuild)
        self._fields = frozenset(type(model).model_fields)
        self._speaks_openai = any(c.__name__ == "BaseChatOpenAI" for c in type(model).__mro__)
        self._retry = retry
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._takes_n = "n" in self._fields
        self._refused: frozenset[str] = frozenset()

    async def draw(self, messages: Sequence[BaseMessage], request: ChatRequest | None, *, n: int) -> Drafts:
        """`n` drafts, in one request where the provider takes `n`. Raises `BackendError`."""
        found = await self._ask(messages, request, n if self._takes_n else 1)
        if len(found.drafts) < n:  # refused, ignored, or not asked for
            if n > 1:
                self._takes_n = False
            missing = [self._ask(messages, request, 1) for _ in range(n - len(found.drafts))]
            for more in await _all(missing):
                found = Drafts((*found.drafts, *more.drafts), found.usage + more.usage)
        return Drafts(found.drafts[:n], found.usage)

    async def _ask(self, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int) -> Drafts:
        usage = Usage()

        async def ask(before: int) -> Drafts | Fault:
            nonlocal usage
            without, faults = set(self._refused), list[Fault]()
            while True:
                outcome = await self._attempt(self._asked(messages, request, n, without), tries=before + len(faults))
                usage += Usage(calls=1, retries=int(before + len(faults) > 0))
                if not isinstance(outcome, Fault):
                    self._refused |= without
                    return outcome
                if outcome.parameter == "n":
                    return Drafts((), Usage())
                faults.append(outcome)
                if outcome.parameter is None or not _is_name_refused(outcome):
                    return faults[0]  # what came of another try says nothing of what the client asked
                without.add(outcome.parameter)

        found = await self._retry.run(ask, rng=rng_for(0, "draft"), sleep=self._sleep)
        return Drafts(found.drafts, usage + found.usage)

    async def _attempt(self, asked: _Asked, *, tries: int) -> Drafts | Fault:
        limit = reply_limit(asked.model, max_tokens=asked.most_tokens, top_logprobs=asked.top_logprobs)
        attempt = Attempt(asked.model, self.name, self._timeout_s, limit, asked.optional)

        async def ask() -> Drafts:
            result = await asked.model.agenerate([asked.messages], **asked.arguments)
            note_response(result)
            call = current_call()
            restore_fields(result, b"" if call is None else call.body)
            return _drafts(result, self.name)

        told = ((_ROLES.get(m.type, m.type), str(m.text)) for m in asked.messages)
        call = TracedCall(self.name, asked.model, asked.sampling, told, tries, server_address(asked.model))
        try:
            with call.open() as found:
                outcome = await try_call(ask, attempt)
                if isinstance(outcome, Fault):
                    call.told(found, outcome)
                else:
                    replies = [Reply(str(d.message.text), d.finish_reason) for d in outcome.drafts]
                    used = outcome.usage
                    call.told(found, replies, Tokens(used.input_tokens, used.output_tokens, used.cached_tokens))
                return outcome
        except Exception as error:  # a fault of the client's own: its user gets an error in the protocol's form
            logger.warning("the model behind the server failed: %s", type(error).__name__, exc_info=True)
            return Fault(UnusableReplyError(f"{self.name}: {type(error).__name__}"), retryable=False)

    def _asked(
        self, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int, without: Collection[str]
    ) -> _Asked:
        """The request. A model of OpenAI's protocol is sent the client's own words, others what they have a field for.

        `without`: what the server is known not to take.
        """
        model = self._models.here()
        fields: dict[str, Any] = {"cache": False, "disable_streaming": True}
        fields |= {"streaming": False} if "streaming" in self._fields else {}
        fields |= {"n": n} if n > 1 else {}
        optional = {"n"} if n > 1 else set()
        arguments: dict[str, Any] = {}
        if request is not None and self._speaks_openai and not getattr(model, "use_responses_api", None):
            sent = _body(request, without)
            optional |= {name for name, other in _LIMITS.items() if name in sent and other not in without}
            optional |= {SYSTEM} if has_system(sent["messages"]) else set()
            # LangChain's classes rename fields and drop those that they do not know; what is in this one goes as it is.
            arguments["extra_body"] = {**(getattr(model, "extra_body", None) or {}), **sent}
        elif request is not None:
            more, arguments = self._settings(model, request)
            fields |= more
        return _Asked(model.model_copy(update=fields), list(messages), arguments, request, frozenset(optional))

    def _settings(self, model: BaseChatModel, request: ChatRequest) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields of a model's class and the arguments of a call that say what a request asks."""
        asked = request.passed_on
        if request.max_completion_tokens is not None:
            asked["max_tokens"] = request.max_completion_tokens
        arguments: dict[str, Any] = {}
        if request.stop:
            arguments["stop"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
        if request.tools:
            choice: dict[str, Any] = {} if request.tool_choice is None else {"tool_choice": request.tool_choice}
            arguments |= getattr(model.bind_tools(request.tools, **choice), "kwargs", {})
        return {name: asked[name] for name in _FIELDS if name in asked and name in self._fields}, arguments


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request as it is sent; `optional` is what it can go without, if the server says that it does not take it."""

    model: BaseChatModel
    messages: list[BaseMessage]
    arguments: dict[str, Any]
    request: ChatRequest | None
    optional: frozenset[str]

    @property
    def sampling(self) -> dict[str, Any]:
        """What its span tells."""
        return {name: getattr(self.request, name, None) for name in _SAMPLING} | {
            "n": getattr(self.model, "n", None) or 1
        }

    @property
    def most_tokens(self) -> int | None:
        """Of a reply, where the client says it."""
        return None if self.request is None else self.request.max_completion_tokens or self.request.max_tokens

    @property
    def top_logprobs(self) -> int | None:
        """How many log-probabilities a token the client asks for."""
        asked = {} if self.request is None else self.request.passed_on
        most = asked.get("top_logprobs")
        return most if isinstance(most, int) else 0 if asked.get("logprobs") else None


def _body(request: ChatRequest, without: Collection[str]) -> dict[str, Any]:
    """What the client asks, but for what the server does not take, and for fields of no protocol."""
    known = _known_fields()
    sent = {name: value for name, value in request.passed_on.items() if name in known}
    for name, other in _LIMITS.items():
        if name in sent and name in without:
            sent.setdefault(other, sent.pop(name))
    if SYSTEM in without:
        sent["messages"] = without_system(sent["messages"])
    return sent


@functools.cache
def _known_fields() -> frozenset[str]:
    """Fields that a server may know; all others are what an application tells of its users and its chats."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase

    return frozenset(CompletionCreateParamsBase.__annotations__) - _KEPT_BACK | _OTHERS


def _is_name_refused(fault: Fault) -> bool:
    return fault.parameter not in _LIMITS or _NO_NAME.search(str(fault.error)) is not None


async def _all(asked: Sequence[Any]) -> list[Drafts]:
    """All results; the first failure ends the others."""
    tasks = [asyncio.ensure_future(a) for a in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _drafts(result: LLMResult, name: str) -> Drafts:
    replies = replies_of(result)
    if not replies:
        raise MalformedReplyError(f"{name}: the reply holds no choice")
    messages = [cast("AIMessage", whole_message(cast("Any", g).message)) for g in result.generations[0]]
    tokens = tokens_of(result)
    usage = Usage(input_tokens=tokens.input, output_tokens=tokens.output, cached_tokens=tokens.cached, cost_usd=None)
    return Drafts(tuple(ModelDraft(m, r.finish_reason) for m, r in zip(messages, replies, strict=True)), usage)
