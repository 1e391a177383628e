"""Requests for drafts: the client's own words to a server of OpenAI's protocol, or a call of a LangChain model."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from eirene.agent.server.messages import from_openai
from eirene.agent.server.protocol import ChatRequest
from eirene.core.errors import MalformedReplyError
from eirene.core.usage import Usage
from eirene.models.call_spans import note_response, response_of
from eirene.models.messages import SYSTEM, has_system, without_system
from eirene.models.replies import Tokens, read_completion, replies_of, tokens_of, whole_message

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of one limit: servers know the one, the other, or both."""
_KEPT_BACK = frozenset({"metadata", "store"})
"""What OpenAI would keep of a chat with the drafts, which are not what its user saw."""
_OTHERS = frozenset({"chat_template_kwargs", "min_p", "reasoning", "repetition_penalty", "thinking", "top_k"})
"""Fields of vLLM, llama.cpp, OpenRouter and DeepSeek."""
_SERVED = frozenset({"id", "object", "created", "model", "eirene"})
"""Fields of a reply that are the server's own."""
_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "presence_penalty", "frequency_penalty")
_FIELDS = (*_SAMPLING, "reasoning_effort")
_ROLES = {"human": "user", "ai": "assistant"}


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


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """One request as `send` sends it; `optional` is what it can go without, if the server says that it takes it not."""

    model: BaseChatModel
    messages: Sequence[BaseMessage]
    request: ChatRequest | None
    n: int
    send: Callable[[], Awaitable[Drafts]]
    optional: frozenset[str]

    @property
    def sampling(self) -> dict[str, Any]:
        """What its span tells of it."""
        return {**{name: getattr(self.request, name, None) for name in _SAMPLING}, "n": self.n}

    @property
    def told(self) -> list[tuple[str, str]]:
        """Roles and texts."""
        return [(_ROLES.get(m.type, m.type), str(m.text)) for m in self.messages]

    @property
    def most_tokens(self) -> int | None:
        """Of a reply, where the client says it."""
        return None if self.request is None else self.request.max_completion_tokens or self.request.max_tokens

    @property
    def top_logprobs(self) -> int | None:
        """How many log-probabilities a token the client asks for."""
        asked = {} if self.request is None else self.request.model_extra or {}
        most = asked.get("top_logprobs")
        return most if isinstance(most, int) else 0 if asked.get("logprobs") else None


def openai_request(
    model: Any, messages: Sequence[BaseMessage], request: ChatRequest, *, name: str, n: int, without: Collection[str]
) -> DraftRequest:
    """A request by the SDK's client in a LangChain model of OpenAI's protocol: LangChain's class renames fields, drops
    those that it does not know, and fails on some replies. `without`: what the server is known not to take."""
    body = {**(model.extra_body or {}), **_body(request, without), **({"n": n} if n > 1 else {})}
    optional = {limit for limit, other in LIMITS.items() if limit in body and other not in without}
    optional |= {SYSTEM} if has_system(body["messages"]) else set()
    optional |= {"n"} if n > 1 else set()

    async def send() -> Drafts:
        named = model.model_name or name.partition(":")[2]
        # What is in the extra body takes the place of arguments, and goes as it is.
        reply = await model.async_client.with_raw_response.create(model=named, messages=[], extra_body=body)
        found = read_completion(reply.content)
        note_response(found.fields)
        drafts = tuple(ModelDraft(from_openai(c.message, c.logprobs), c.finish_reason) for c in found.choices)
        fields = {key: value for key, value in found.fields.items() if key not in _SERVED}
        return Drafts(drafts, _usage(found.tokens), fields)

    return DraftRequest(model, messages, request, n, send, frozenset(optional))


def langchain_request(
    model: BaseChatModel, messages: Sequence[BaseMessage], request: ChatRequest | None, *, name: str, n: int
) -> DraftRequest:
    """A call of a LangChain model of any class, with what of the request it has a field for."""
    taken = type(model).model_fields
    fields: dict[str, Any] = {"cache": False, "disable_streaming": True}
    fields |= {"streaming": False} if "streaming" in taken else {}
    fields |= {"n": n} if n > 1 else {}
    asked, arguments = _settings(model, request)
    copy = model.model_copy(update=fields | {key: value for key, value in asked.items() if key in taken})

    async def send() -> Drafts:
        result = await copy.agenerate([list(messages)], **arguments)
        note_response(response_of(result))
        replies = replies_of(result)
        if not replies:
            raise MalformedReplyError(f"{name}: the reply holds no choice")
        whole = [cast("AIMessage", whole_message(cast("Any", g).message)) for g in result.generations[0]]
        drafts = (ModelDraft(m, r.finish_reason) for m, r in zip(whole, replies, strict=True))
        return Drafts(tuple(drafts), _usage(tokens_of(result)))

    return DraftRequest(copy, messages, request, n, send, frozenset({"n"} if n > 1 else ()))


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


def _body(request: ChatRequest, without: Collection[str]) -> dict[str, Any]:
    """What the client asks, but for what the server does not take, and for fields of no protocol."""
    known = _known_fields()
    sent = {name: value for name, value in request.passed_on.items() if name in known}
    for name, other in LIMITS.items():
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


def _usage(tokens: Tokens) -> Usage:
    return Usage(input_tokens=tokens.input, output_tokens=tokens.output, cached_tokens=tokens.cached, cost_usd=None)
