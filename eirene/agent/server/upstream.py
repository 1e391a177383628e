"""The upstream model: draws drafts from it, with messages and settings as the client gave them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply, Tokens, replies_of, tokens_of, whole_message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import LLMResult

logger = get_logger(__name__)

_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "presence_penalty", "frequency_penalty")
_SENT = (*_SAMPLING, "max_completion_tokens", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "user")
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
            outcome = await self._attempt(messages, request, n, tries=before)
            usage += Usage(calls=1, retries=int(before > 0))
            is_refused = isinstance(outcome, Fault) and outcome.parameter == "n"
            return Drafts((), Usage()) if is_refused else outcome

        found = await self._retry.run(ask, rng=rng_for(0, "draft"), sleep=self._sleep)
        return Drafts(found.drafts, usage + found.usage)

    async def _attempt(
        self, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int, *, tries: int
    ) -> Drafts | Fault:
        model, arguments = self._prepared(request, n)
        asked = None if request is None else request.max_completion_tokens or request.max_tokens
        limit = reply_limit(model, max_tokens=asked)
        attempt = Attempt(model, self.name, self._timeout_s, limit, frozenset({"n"} if n > 1 else ()))

        async def ask() -> Drafts:
            result = await model.agenerate([list(messages)], **arguments)
            note_response(result)
            return _drafts(result, self.name)

        fields = {name: getattr(request, name, None) for name in _SAMPLING} | {"n": n}
        asked_of = ((_ROLES.get(m.type, m.type), str(m.text)) for m in messages)
        call = TracedCall(self.name, model, fields, asked_of, tries, server_address(model))
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

    def _prepared(self, request: ChatRequest | None, n: int) -> tuple[BaseChatModel, dict[str, Any]]:
        """The model and the call's arguments: OpenAI's class takes all of them, others what they have a field for."""
        model = self._models.here()
        asked = {} if request is None else {k: v for k in _SENT if (v := getattr(request, k)) is not None}
        fields: dict[str, Any] = {"cache": False, "disable_streaming": True}
        if "streaming" in self._fields:
            fields["streaming"] = False
        arguments: dict[str, Any] = {}
        stop = None if request is None else request.stop
        if stop:
            arguments["stop"] = [stop] if isinstance(stop, str) else list(stop)
        if n > 1:
            fields["n"] = n
        if not self._speaks_openai:
            fields |= {k: v for k, v in asked.items() if k in _SAMPLING and k in self._fields}
            if asked.get("tools"):
                choice = {"tool_choice": asked["tool_choice"]} if "tool_choice" in asked else {}
                arguments |= getattr(model.bind_tools(asked["tools"], **choice), "kwargs", {})
            return model.model_copy(update=fields), arguments
        arguments |= asked
        if request is not None and request.response_format is not None:
            # Beside the client's own handling, which would parse the reply and insist on strict tools.
            body = {**(getattr(model, "extra_body", None) or {}), "response_format": request.response_format}
            arguments["extra_body"] = body
        return model.model_copy(update=fields), arguments


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
