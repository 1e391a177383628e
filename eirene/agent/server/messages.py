"""Chat messages between OpenAI's form and LangChain's; fields that the protocol does not name are kept, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, convert_to_messages
from pydantic import JsonValue

from eirene.agent.server.errors import ApiError

Json = dict[str, Any]
_NAMED = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})


def to_langchain(messages: Sequence[Json]) -> list[BaseMessage]:
    """The messages as LangChain's; raises `ApiError` for those that make no conversation."""
    try:
        return [_to_langchain(message) for message in messages]
    # What a message lacks shows in several ways: LangChain checks some of it, and looks up the rest.
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        said = " ".join(str(error).split())[:200]
        raise ApiError(400, f"messages cannot be read: {said}", param="messages", code="invalid_value") from None


def draft_in(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """The last message where it is an answer of the assistant: the draft to refine."""
    last = messages[-1]
    calls = isinstance(last, AIMessage) and (last.tool_calls or last.additional_kwargs.get("function_call"))
    return last if isinstance(last, AIMessage) and not calls else None


def from_openai(message: Json, logprobs: object = None) -> AIMessage:
    """A reply of a model, with its calls as it wrote them, too."""
    made = _to_langchain({**message, "role": "assistant"})
    assert isinstance(made, AIMessage)
    calls = message.get("tool_calls")
    made.additional_kwargs |= {"tool_calls": calls} if calls else {}
    made.response_metadata = {"logprobs": logprobs} if logprobs else {}
    return made


def to_openai(message: AIMessage) -> Json:
    """A reply in OpenAI's form, calls as the model wrote them."""
    more = {name: value for name, value in message.additional_kwargs.items() if _is_sent(name, value)}
    calls = _calls(message)
    text, refusal = str(message.text), more.get("refusal")
    refused = refusal if isinstance(refusal, str) and refusal else None
    has_text = text or not (calls or any(more.values()))
    found = {"role": "assistant", "content": text if has_text else None, "refusal": refused}
    return {**more, **found, **({"tool_calls": calls} if calls else {})}


def _to_langchain(message: Json) -> BaseMessage:
    calls = message.get("tool_calls")
    plain = {name: message[name] for name in _NAMED - {"tool_calls"} if message.get(name) is not None}
    if calls and message["role"] == "assistant":
        plain["tool_calls"] = [_call(call) for call in calls if isinstance(call, Mapping)]
    if message["role"] == "tool":
        plain.setdefault("tool_call_id", "")  # some clients answer a call without its number
    (made,) = convert_to_messages([{**plain, "content": message.get("content") or ""}])
    more = {name: value for name, value in message.items() if name not in _NAMED and value is not None}
    made.additional_kwargs = {**made.additional_kwargs, **more}
    return made


def _call(call: Mapping[str, JsonValue]) -> ToolCall:
    kind = call.get("function") or call.get("custom")
    told = kind if isinstance(kind, Mapping) else {}
    number, arguments = call.get("id"), _arguments(told.get("arguments", told.get("input")))
    return ToolCall(name=str(told.get("name") or ""), args=arguments, id=None if number is None else str(number))


def _arguments(sent: JsonValue) -> Json:
    """A call's arguments as an object, the only kind that LangChain takes; all else stands in one, whole."""
    try:
        read = json.loads(sent, strict=False) if isinstance(sent, str) and sent.strip() else sent or None
    except (ValueError, RecursionError):
        read = sent
    return read if isinstance(read, dict) else {} if read is None else {"arguments": sent}


def _calls(message: AIMessage) -> list[Json]:
    sent = message.additional_kwargs.get("tool_calls")
    if isinstance(sent, list) and sent and all(isinstance(call, dict) for call in sent):
        return [{"id": "call_0", "type": "function", **call} for call in sent]
    calls = [(c["id"], c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in message.tool_calls]
    calls += [(c["id"], c["name"] or "", c["args"] or "") for c in message.invalid_tool_calls]
    return [
        {"id": number or "call_0", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, name, arguments in calls
    ]


def _is_sent(name: str, value: object) -> bool:
    """Whether a field is one of the reply, rather than of LangChain's own: what is no JSON, or marked as private."""
    if name in _NAMED or name.startswith("__") or value is None:
        return False
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
