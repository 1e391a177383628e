"""Reads the replies of chat models off LangChain's results, and off the JSON of chat completions in OpenAI's form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eirene.text.unicode import mend_surrogates, mend_values

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.outputs import Generation, LLMResult

# What the providers call the same three endings.
_LENGTH = (
    "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "token_limit",
    "context_length", "incomplete", "truncated",
)  # fmt: skip
_STOP = ("stop", "end_turn", "stop_sequence", "eos", "complete", "completed")
_FILTER = (
    "content_filter", "content_filtered", "safety", "recitation", "refusal", "prohibited_content", "blocklist", "spii",
    "guardrail_intervened",
)  # fmt: skip
_ENDINGS = {
    **dict.fromkeys(_LENGTH, "length"), **dict.fromkeys(_STOP, "stop"), **dict.fromkeys(_FILTER, "content_filter"),
}  # fmt: skip
_CALLED = ("tool_use", "tool_calls")
ENDINGS = frozenset({*_ENDINGS.values(), *_CALLED, "function_call"})
"""The endings that are known, in our words."""
_ENDING_KEYS = ("finish_reason", "stop_reason", "done_reason", "status")
_MESSAGE_TEXTS = (
    "content", "additional_kwargs", "response_metadata", "name", "id", "tool_calls", "invalid_tool_calls"
)  # fmt: skip
_WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Where LangChain has what was put into a prompt cache: in the first, or by how long it stays in the others."""
_COUNTED = frozenset({"choices", "usage"})
_MOST_TOKENS = 10**9  # of one request; a count beyond it is none


@dataclass(frozen=True, slots=True)
class ReplyToken:
    """One token of a reply, and the likeliest in its place with their log-probabilities, as far as they were sent."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", mend_surrogates(self.text))
        object.__setattr__(self, "top", tuple((mend_surrogates(text), logprob) for text, logprob in self.top))


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, whole. `finish_reason` is `stop`, `length`, `content_filter`, the provider's own word, or None.

    `tokens` are there where log-probabilities were asked for and sent. Half a surrogate pair is legal in JSON, and not
    in a file, a request or a tokenizer: no text here has one, wherever the reply comes from.
    """

    text: str
    finish_reason: str | None = None
    tokens: tuple[ReplyToken, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", mend_surrogates(self.text))
        object.__setattr__(
            self, "finish_reason", None if self.finish_reason is None else mend_surrogates(self.finish_reason)
        )

    @property
    def is_cut_off(self) -> bool:
        """Whether the provider says that the reply ended at a token limit."""
        return self.finish_reason == "length"

    @property
    def is_filtered(self) -> bool:
        """Whether the provider's content filter ended the reply, or the model refused."""
        return self.finish_reason == "content_filter"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one request. `is_unknown` when the provider reported none.

    `cached` came from its prompt cache, `written` were put there; both are among `input`.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    written: int = 0
    is_unknown: bool = False


def replies_of(result: LLMResult, *, tool: str | None = None) -> tuple[Reply, ...]:
    """The choices of a one-prompt result, in order. Thinking that comes apart from the text is left out.

    `tool` is one that the model had to call to give its reply: the text is then the call's arguments, as JSON.
    """
    return tuple(_reply(g, tool) for g in result.generations[0])


def _reply(generation: Generation, tool: str | None) -> Reply:
    ended = _finish_reason(generation)
    for call in getattr(getattr(generation, "message", None), "tool_calls", None) or ():
        if tool is not None and call["name"] == tool:
            return Reply(json.dumps(call["args"], ensure_ascii=False), "stop" if ended in _CALLED else ended)
    return Reply(_text(generation), ended, _reply_tokens(generation))


def tokens_of(result: LLMResult) -> Tokens:
    """The tokens of a one-prompt request, counted once.

    Clients put the request's total on each of its choices; where the choices differ, each has its own part.
    """
    found = [u for g in result.generations[0] if (u := getattr(getattr(g, "message", None), "usage_metadata", None))]
    if not found:
        return Tokens(is_unknown=True)
    shared = len(found) == len(result.generations[0]) and all(u == found[0] for u in found)
    parts = [_tokens(u) for u in (found[:1] if shared else found)]
    return Tokens(
        sum(p.input for p in parts),
        sum(p.output for p in parts),
        sum(p.cached for p in parts),
        sum(p.written for p in parts),
        is_unknown=all(p.is_unknown for p in parts),
    )


def whole_message(message: BaseMessage) -> BaseMessage:
    """The message with whole texts, those of tool calls and metadata among them. Raises `ValueError` if too deep."""
    names = [name for name in _MESSAGE_TEXTS if hasattr(message, name)]
    return message.model_copy(update={name: mend_values(getattr(message, name)) for name in names})


def token_count(value: object) -> int | None:
    """A number of tokens as a provider reports it; None for what can be none: a text, a negative or absurd number."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    told = usage.get("input_token_details")
    details = told if isinstance(told, Mapping) else {}
    read, said = token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens"))
    cached = min(token_count(details.get("cache_read")) or 0, read or 0)
    written = min(sum(token_count(details.get(key)) or 0 for key in _WRITTEN), (read or 0) - cached)
    return Tokens(read or 0, said or 0, cached, written, is_unknown=read is None and said is None)


def _text(generation: Generation) -> str:
    message = getattr(generation, "message", None)
    # `message.text` joins the text blocks of a content list; `generation.text` has the first of them only.
    return generation.text if message is None else str(message.text)


def _reply_tokens(generation: Generation) -> tuple[ReplyToken, ...]:
    """The tokens in OpenAI's form; none where anything in them is not as it should be."""
    sent = (getattr(getattr(generation, "message", None), "response_metadata", None) or {}).get("logprobs")
    content = sent.get("content") if isinstance(sent, Mapping) else None
    try:
        return tuple(
            ReplyToken(
                str(token["token"]),
                _logprob(token),
                tuple((str(other["token"]), _logprob(other)) for other in token.get("top_logprobs") or ()),
            )
            for token in content or ()
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _logprob(token: Mapping[str, Any]) -> float:
    """A token's log-probability; raises `ValueError` for NaN, as a server sends whose weights are damaged."""
    value = float(token["logprob"])
    if math.isnan(value):
        raise ValueError("NaN")
    return value


def _finish_reason(generation: Generation) -> str | None:
    message = getattr(generation, "message", None)
    for source in (getattr(message, "response_metadata", None), generation.generation_info):
        for key in _ENDING_KEYS:
            value = (source or {}).get(key)
            if isinstance(value, str) and value:
                return ending(value)
    return None


def ending(word: str) -> str:
    """Why a reply ended, in our words, from the provider's."""
    word = word.strip().casefold()
    return _ENDINGS.get(word, word)


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: its message with every field, why it ended (see `Reply`), and its log-probabilities as they came.

    The message is empty where there is none.
    """

    message: dict[str, Any]
    finish_reason: str | None
    logprobs: object

    @property
    def text(self) -> str:
        """The message's text; "" for content of another form."""
        content = self.message.get("content")
        return content if isinstance(content, str) else ""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply's choices, its tokens, and what else stands in it (`model`, `id`, `citations`, ...)."""

    choices: tuple[Choice, ...]
    tokens: Tokens
    fields: dict[str, Any]


def read_completion(body: bytes | bytearray) -> Completion:
    """The completion in a response's body, half surrogate pairs mended.

    Raises `ValueError`, as LangChain does: for what is none, and with the server's error where it sent one as a reply.
    """
    try:
        found = mend_values(json.loads(body))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if isinstance(found, dict) and found.get("error"):
        raise ValueError(found["error"])
    choices = choices_of(found) if isinstance(found, dict) else ()
    if not choices or not all(choice.message for choice in choices):
        raise ValueError("no choice with a message")
    fields = {key: value for key, value in found.items() if key not in _COUNTED}
    return Completion(choices, usage_of(found), fields)


def choices_of(completion: Mapping[str, Any]) -> tuple[Choice, ...]:
    """The choices of a completion as JSON, in the order of their `index`; what is none is left out."""
    sent = completion.get("choices")
    choices = [choice for choice in sent if isinstance(choice, dict)] if isinstance(sent, list) else []
    if all(isinstance(choice.get("index"), int) for choice in choices):
        choices.sort(key=lambda choice: choice["index"])
    return tuple(_choice(choice) for choice in choices)


def _choice(sent: Mapping[str, Any]) -> Choice:
    message, ended = sent.get("message"), sent.get("finish_reason")
    finish_reason = ending(ended) if isinstance(ended, str) and ended else None
    return Choice(message if isinstance(message, dict) else {}, finish_reason, sent.get("logprobs"))


def usage_of(completion: Mapping[str, Any]) -> Tokens:
    """The tokens that a completion as JSON reports."""
    usage = completion.get("usage")
    if not isinstance(usage, Mapping):
        return Tokens(is_unknown=True)
    details = usage.get("prompt_tokens_details")
    read, written = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
    cached = token_count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Tokens(read or 0, written or 0, min(cached or 0, read or 0), is_unknown=read is None and written is None)
