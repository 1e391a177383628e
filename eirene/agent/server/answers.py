"""Responses in OpenAI's form, whole and streamed as server-sent events, with the trace in the field `eirene`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive

from eirene.agent.record import record_outcome
from eirene.agent.server.engine import Answer, Choice
from eirene.agent.server.errors import ApiError, internal_error
from eirene.agent.server.messages import Json, to_openai
from eirene.core.logs import get_logger

logger = get_logger(__name__)

T = TypeVar("T")
DONE = "data: [DONE]\n\n"
_COMMENT = ": refining\n\n"
_WORDS_A_WRITE = 100  # of a stream: a write for each word would cost more
_PIECES = re.compile(r"\s*\S+|\s+\Z")
_ENDINGS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})


def sse(body: Any) -> str:
    """One server-sent event; a text is JSON already."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stands around every answer of one request."""

    run_id: str
    created: int
    model: str

    def body(self, kind: str, choices: list[Json], /, **more: Any) -> Json:
        """An answer or a chunk of one."""
        common = {"id": f"chatcmpl-{self.run_id.removeprefix('run-')}", "object": kind, "created": self.created}
        return {**common, "model": self.model, "choices": choices, **more}


def completion(envelope: Envelope, answer: Answer, *, trace: str) -> Json:
    """The whole answer."""
    choices = [
        {"index": n, "message": to_openai(c.message), "logprobs": _logprobs(c), "finish_reason": _ending(c)}
        for n, c in enumerate(answer.choices)
    ]
    more = {**answer.fields, "usage": _usage(answer), "eirene": trace_of(envelope.run_id, answer, trace=trace)}
    return envelope.body("chat.completion", choices, **more)


def chunks(envelope: Envelope, answer: Answer, *, trace: str, include_usage: bool) -> Iterator[str]:
    """The answer as server-sent events, a word each; the trace comes with the last that has a choice.

    No word of a draft is in them, but for those that the answer shares with it.
    """
    kind = "chat.completion.chunk"
    usage: Json = {"usage": None} if include_usage else {}

    def event(n: int, delta: Json, finish: str | None = None, /, **more: Any) -> str:
        choice = {"index": n, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse(envelope.body(kind, [choice], **usage, **more))

    last = len(answer.choices) - 1
    for n, choice in enumerate(answer.choices):
        message = to_openai(choice.message)
        text, calls = message.pop("content"), message.pop("tool_calls", ())
        yield event(n, {"role": message.pop("role"), "content": None if text is None else ""})
        for name, value in message.items():  # thoughts before the text, as models have them
            if value is not None:
                yield event(n, {name: value})
        for piece in _PIECES.findall(text or ""):
            yield event(n, {"content": piece})
        for at, call in enumerate(calls):
            yield event(n, {"tool_calls": [{"index": at, **call}]})
        more = {**answer.fields, "eirene": _streamed_trace(envelope.run_id, answer, trace)} if n == last else {}
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
    """The trace without the drafts, unless it was asked for in full: a stream shows no word of them.

    Nor does it say why a rewrite was accepted, which names what was taken out.
    """
    found = trace_of(run_id, answer, trace=trace)
    if trace != "full":
        for told in (found, *found["records"]):
            told.pop("original", None)
            if told["status"] == "accepted":
                told["why"] = "rewritten"
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


def _logprobs(choice: Choice) -> Json | None:
    """Those that the client asked for, unless the text is not the model's any more."""
    found = choice.message.response_metadata.get("logprobs")
    is_rewritten = choice.record is not None and choice.record.status == "accepted"
    return found if isinstance(found, dict) and not is_rewritten else None


def _ending(choice: Choice) -> str:
    return choice.finish_reason if choice.finish_reason in _ENDINGS else "stop"


def _usage(answer: Answer) -> Json:
    read, written = answer.usage.input_tokens, answer.usage.output_tokens
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": answer.usage.cached_tokens},
    }


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def while_client_waits(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; a client that goes away ends it. Raises `ClientGoneError` then."""
    task = asyncio.ensure_future(work)
    try:
        await done_within(task, request, seconds=None)
        return task.result()
    finally:
        await _cancel(task)


async def done_within(task: asyncio.Task[T], request: Request, *, seconds: float | None) -> bool:
    """Whether the work is done within so many seconds. Raises `ClientGoneError` where its client is gone before."""
    gone = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await asyncio.wait([task, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not task.done():
            await _cancel(task)
            raise ClientGoneError
        return task.done()
    finally:
        await _cancel(gone)


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


def event_stream(
    events: AsyncGenerator[str, None], *, keep_alive_s: float, headers: dict[str, str] | None = None
) -> StreamingResponse:
    """Server-sent events as they come, with a comment wherever none comes for `keep_alive_s`.

    A client that goes away ends what makes them.
    """
    return EventStream(_kept_alive(events, keep_alive_s), headers=headers)


async def answer_events(work: asyncio.Task[list[str]]) -> AsyncGenerator[str, None]:
    """A comment at once, then the events that the work gives, joined into few writes; its failure is an event, too."""
    try:
        yield _COMMENT
        await asyncio.wait([work])
    finally:
        work.cancel()
    error = work.exception()  # the head is out, so that an error can only be an event
    if error is not None:
        if not isinstance(error, ApiError):
            logger.error("a stream failed: %s", type(error).__name__, exc_info=error)
        yield sse((error if isinstance(error, ApiError) else internal_error()).body) + DONE
        return
    pieces = work.result()
    for at in range(0, len(pieces), _WORDS_A_WRITE):
        yield "".join(pieces[at : at + _WORDS_A_WRITE])
        await asyncio.sleep(0)  # others have their turn between the parts of a long answer


async def _kept_alive(events: AsyncGenerator[str, None], keep_alive_s: float) -> AsyncGenerator[str, None]:
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            await asyncio.wait([coming], timeout=keep_alive_s)
            if not coming.done():
                yield _COMMENT
            elif (text := coming.result()) is None:
                return
            else:
                coming = asyncio.ensure_future(anext(events, None))
                yield text
    finally:
        await _cancel(coming)
        await events.aclose()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(future: asyncio.Future[Any]) -> None:
    """Cancels what is not done and waits until it has ended."""
    future.cancel()
    await asyncio.wait([future])
    if not future.cancelled():
        future.exception()  # looked at, so that asyncio does not report it as forgotten
