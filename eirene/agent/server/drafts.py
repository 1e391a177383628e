"""Drafts: the model behind the server, asked in the client's own words (OpenAI's protocol) or through LangChain."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Callable, Coroutine, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from eirene.agent.server.messages import from_openai
from eirene.agent.server.protocol import ChatRequest
from eirene.core.errors import BackendError, MalformedReplyError, UnusableReplyError
from eirene.core.logs import get_logger
from eirene.core.usage import Meter, Usage
from eirene.models.call_spans import SAMPLING_FIELDS, TracedCall, note_response, response_of
from eirene.models.calls import Answered, Caller, Request, has_system, reply_limit, without_system
from eirene.models.clients import ModelPerLoop, server_address
from eirene.models.faults import LIMITS, SYSTEM
from eirene.models.http_guard import ReplyLimit
from eirene.models.limits import Limiter, RetryPolicy
from eirene.models.replies import Reply, Tokens, read_completion, replies_of, tokens_of, whole_message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

logger = get_logger(__name__)

_KEPT_BACK = re.compile(
    r"background_tasks|chat_id|features|id|metadata|params|session_id|store|tags|tool_servers|variables"
    r"|models|model_.*|plugins|preset|provider|route|organization|client|.*(?:url|host|endpoint|proxy|header|credential"
    r"|secret|passw|auth|callback|fallback|bucket|config|deploy|guardrail|mock|bootstrap|transfer|region).*"
    r"|(?:.*_)?api.*|.*(?<!cache)[_-]key|.*token|(?:aws|azure|custom|extra|litellm|vertex)_.*|.*_(?:path|provider)",
    re.IGNORECASE,
)
"""What OpenAI would keep of a chat with the drafts, which are not what its user saw; what Open WebUI tells of its users
and chats; and what would send LiteLLM, OpenRouter or vLLM elsewhere, or bring a key."""
_SERVED = frozenset({"id", "object", "created", "model", "eirene"})
"""Fields of a reply that are the server's own."""
_FIELDS = (*SAMPLING_FIELDS, "reasoning_effort")
_ROLES = {"human": "user", "ai": "assistant"}
_DEFAULT_RETRY = RetryPolicy(attempts=3)  # a person waits, and the client has retries of its own
_NO_LIMIT = 10_000  # calls at a time: the server bounds the chats


@dataclass(frozen=True, slots=True)
class ModelDraft:
    """One reply of the model, and why it ended (`stop`, `length`, ...), where that is known."""

    message: AIMessage
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Drafts:
    """The replies to one request, what all of them cost, and further fields of the reply that they came in."""

    drafts: tuple[ModelDraft, ...] = ()
    usage: Usage = field(default_factory=Usage)
    fields: dict[str, Any] = field(default_factory=dict)


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
    ) -> None:
        self.name = name
        self._models = ModelPerLoop(model, name=name, rebuild=rebuild)
        self._calls = Caller(name, limiter=Limiter(_NO_LIMIT), retry=retry, timeout_s=timeout_s)
        self._has_n = "n" in type(model).model_fields
        self._speaks_openai = any(c.__name__ == "BaseChatOpenAI" for c in type(model).__mro__)

    async def draw(self, messages: Sequence[BaseMessage], request: ChatRequest | None, *, n: int) -> Drafts:
        """`n` drafts, in one request where the provider takes `n`. Raises `BackendError`."""
        meter = Meter()
        several = n if self._has_n and "n" not in self._calls.refused else 1

        def ask(some: int) -> Coroutine[Any, Any, Drafts]:
            is_openai = request is not None and self._speaks_openai and not getattr(model, "use_responses_api", None)
            make = self._by_openai if is_openai else self._by_langchain
            return self._calls.run(functools.partial(make, model, messages, request, some), meter=meter)

        try:
            model = self._models.here()
            first = await ask(several)
            if 0 < len(first.drafts) < several:
                self._calls.refuse({"n"})
            found = [first, *await _all([ask(1) for _ in range(n - len(first.drafts))])]
        except BackendError:
            raise
        except Exception as error:  # a fault of the client's own: its user gets an error in the protocol's form
            logger.warning("the model behind the server failed: %s", type(error).__name__, exc_info=True)
            raise UnusableReplyError(f"{self.name}: {type(error).__name__}") from error
        drafts = tuple(draft for part in found for draft in part.drafts)[:n]
        return Drafts(drafts, meter.total, next((part.fields for part in found if part.fields), {}))

    def _by_openai(
        self, model: Any, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int, refused: Set[str]
    ) -> Request[Drafts]:
        """A request by the SDK's client in a LangChain model: LangChain's class renames fields, drops those that it
        does not know, and fails on some replies."""
        assert request is not None
        # What the operator has set stands: it may say who gets to see a chat.
        body = {**_body(request, refused), **(model.extra_body or {}), **({"n": n} if n > 1 else {})}
        optional = {limit for limit, other in LIMITS.items() if limit in body and other not in refused}
        optional |= {SYSTEM} if has_system(body["messages"]) else set()
        optional |= {"n"} if n > 1 else set()

        async def send() -> Answered[Drafts]:
            named = model.model_name or self.name.partition(":")[2]
            # What is in the extra body takes the place of arguments, and goes as it is.
            reply = await model.async_client.with_raw_response.create(model=named, messages=[], extra_body=body)
            found = read_completion(reply.content)
            note_response(found.fields)
            drafts = tuple(ModelDraft(from_openai(c.message, c.logprobs), c.finish_reason) for c in found.choices)
            fields = {key: value for key, value in found.fields.items() if key not in _SERVED}
            return _outcome(Drafts(drafts, fields=fields), found.tokens)

        span = self._span(model, messages, request, n)
        return Request(send, span, _limit(model, request, n), frozenset(optional), without_n=Drafts())

    def _by_langchain(
        self, model: BaseChatModel, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int, _: Set[str]
    ) -> Request[Drafts]:
        """A call of a LangChain model of any class, with what of the request it has a field for."""
        taken = type(model).model_fields
        asked, arguments = _settings(model, request)
        ours = {"cache": False, "disable_streaming": True, "streaming": False, **asked, **({"n": n} if n > 1 else {})}
        copy = model.model_copy(update={name: value for name, value in ours.items() if name in taken})

        async def send() -> Answered[Drafts]:
            result = await copy.agenerate([list(messages)], **arguments)
            note_response(response_of(result))
            replies = replies_of(result)
            if not replies:
                raise MalformedReplyError(f"{self.name}: the reply holds no choice")
            whole = [cast("AIMessage", whole_message(cast("Any", g).message)) for g in result.generations[0]]
            drafts = tuple(ModelDraft(m, r.finish_reason) for m, r in zip(whole, replies, strict=True))
            return _outcome(Drafts(drafts), tokens_of(result))

        optional = frozenset({"n"} if n > 1 else ())
        span = self._span(copy, messages, request, n)
        return Request(send, span, _limit(copy, request, n), optional, without_n=Drafts())

    def _span(self, model: object, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int) -> TracedCall:
        fields = {**{name: getattr(request, name, None) for name in SAMPLING_FIELDS}, "n": n}
        told = [(_ROLES.get(m.type, m.type), str(m.text)) for m in messages]
        return TracedCall(self.name, model, fields, told, address=server_address(model))


async def _all(asked: Sequence[Any]) -> list[Drafts]:
    """All results; the first failure ends the others."""
    tasks = [asyncio.ensure_future(a) for a in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _outcome(drafts: Drafts, tokens: Tokens) -> Answered[Drafts]:
    return Answered(drafts, tokens, tuple(Reply(str(d.message.text), d.finish_reason) for d in drafts.drafts))


def _limit(model: object, request: ChatRequest | None, n: int) -> ReplyLimit:
    if request is None:
        return reply_limit(model, n=n)
    more = request.model_extra or {}
    top = more.get("top_logprobs")
    logprobs = top if isinstance(top, int) else 0 if more.get("logprobs") else None
    most = request.max_completion_tokens or request.max_tokens
    return reply_limit(model, max_tokens=most, top_logprobs=logprobs, n=n)


def _settings(model: BaseChatModel, request: ChatRequest | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a model's class and the arguments of a call that say what a request asks."""
    if request is None:
        return {}, {}
    asked = {name: value for name, value in request.passed_on.items() if name in _FIELDS}
    if request.max_completion_tokens is not None:
        asked["max_tokens"] = request.max_completion_tokens
    arguments: dict[str, Any] = {}
    if request.stop:
        arguments["stop"] = [request.stop] if isinstance(request.stop, str) else list(request.stop)
    if request.tools:
        choice: dict[str, Any] = {} if request.tool_choice is None else {"tool_choice": request.tool_choice}
        arguments |= getattr(model.bind_tools(request.tools, **choice), "kwargs", {})
    return asked, arguments


def _body(request: ChatRequest, refused: Set[str]) -> dict[str, Any]:
    """What the client asks, fields that are not known here with it, but for what the server does not take."""
    sent = {name: value for name, value in request.passed_on.items() if not _KEPT_BACK.fullmatch(name)}
    for name, other in LIMITS.items():
        if name in sent and name in refused:
            sent.setdefault(other, sent.pop(name))
    if SYSTEM in refused:
        sent["messages"] = without_system(sent["messages"])
    return sent
