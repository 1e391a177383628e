"""Responses in OpenAI's form, whole and streamed, with the trace in the field `eirene`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from eirene.agent.record import record_outcome
from eirene.agent.server.engine import Answer, Choice
from eirene.agent.server.streaming import DONE, sse

_PIECES = re.compile(r"\s*\S+|\s+\Z")
_ENDINGS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stands around every answer of one request."""

    run_id: str
    created: int
    model: str

    def body(self, kind: str, choices: list[Json], **more: Any) -> Json:
        """An answer or a chunk of one."""
        common = {"id": f"chatcmpl-{self.run_id.removeprefix('run-')}", "object": kind, "created": self.created}
        return {**common, "model": self.model, "choices": choices, **more}


def completion(envelope: Envelope, answer: Answer, *, trace: str) -> Json:
    """The whole answer."""
    choices = [
        {"index": n, "message": _message(c.message), "logprobs": None, "finish_reason": _ending(c)}
        for n, c in enumerate(answer.choices)
    ]
    return envelope.body(
        "chat.completion", choices, usage=_usage(answer), eirene=trace_of(envelope.run_id, answer, trace=trace)
    )


def chunks(envelope: Envelope, answer: Answer, *, trace: str, include_usage: bool) -> Iterator[str]:
    """The answer as server-sent events, a word each; the trace comes with the last that has a choice.

    No word of a draft is in them, but for those that the answer shares with it.
    """
    kind = "chat.completion.chunk"
    usage: Json = {"usage": None} if include_usage else {}

    def event(n: int, delta: Json, finish: str | None = None, **more: Any) -> str:
        choice = {"index": n, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse(envelope.body(kind, [choice], **usage, **more))

    last = len(answer.choices) - 1
    for n, choice in enumerate(answer.choices):
        message = _message(choice.message)
        yield event(n, {"role": "assistant", "content": "" if message["content"] is not None else None})
        for piece in _PIECES.findall(message["content"] or ""):
            yield event(n, {"content": piece})
        if message.get("refusal"):
            yield event(n, {"refusal": message["refusal"]})
        for at, call in enumerate(message.get("tool_calls", ())):
            yield event(n, {"tool_calls": [{"index": at, **call}]})
        more = {"eirene": _streamed_trace(envelope.run_id, answer, trace)} if n == last else {}
        yield event(n, {}, _ending(choice), **more)
    if include_usage:
        yield sse(envelope.body(kind, [], usage=_usage(answer)))
    yield DONE


def trace_of(run_id: str, answer: Answer, *, trace: str) -> Json:
    """What became of each choice: its record, without the rounds unless `trace` is `full`."""
    first = answer.choices[0]
    return {
        "run_id": run_id,
        "status": status_of(first),
        "why": first.why,
        "records": [_outcome(choice, trace) for choice in answer.choices],
    }


def _streamed_trace(run_id: str, answer: Answer, trace: str) -> Json:
    """The trace without the drafts, unless it was asked for in full: a stream shows no word of them."""
    found = trace_of(run_id, answer, trace=trace)
    if trace != "full":
        for record in found["records"]:
            record.pop("original", None)
    return found


def status_of(choice: Choice) -> str:
    """The record's status, or `untouched` for a reply that was not refined."""
    return "untouched" if choice.record is None else choice.record.status


def _outcome(choice: Choice, trace: str) -> Json:
    if choice.record is None:
        return {"status": "untouched", "why": choice.why}
    record = choice.record
    if trace == "full":
        return record.model_dump(mode="json")
    return {**record_outcome(record), **({"passages": list(record.passages)} if record.passages else {})}


def _ending(choice: Choice) -> str:
    return choice.finish_reason if choice.finish_reason in _ENDINGS else "stop"


def _message(message: AIMessage) -> Json:
    calls = [_call(c["id"], c["name"], json.dumps(c["args"], ensure_ascii=False)) for c in message.tool_calls]
    calls += [_call(c["id"], c["name"], c["args"]) for c in message.invalid_tool_calls]
    text = str(message.text)
    found: Json = {"role": "assistant", "content": text if text or not calls else None}
    refusal = message.additional_kwargs.get("refusal")
    found["refusal"] = refusal if isinstance(refusal, str) and refusal else None
    if found["refusal"] and not text:
        found["content"] = None
    if calls:
        found["tool_calls"] = calls
    return found


def _call(id_: str | None, name: str | None, arguments: str | None) -> Json:
    return {"id": id_ or "call_0", "type": "function", "function": {"name": name or "", "arguments": arguments or ""}}


def _usage(answer: Answer) -> Json:
    read, written = answer.usage.input_tokens, answer.usage.output_tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": answer.usage.cached_tokens},
    }
