"""OpenAI's wire format for test doubles: completions, streams, errors, and a fake batch endpoint on files."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eirene.testing.script import HttpError, ScriptedRequest, TextReply


def token_counts(
    request: ScriptedRequest, choices: Sequence[TextReply], *, cached: int | None = None
) -> dict[str, Any]:
    """The `usage` of a reply; a token is a word, and `cached` of the prompt's came from a cache, where there is one."""
    read, written = len(request.text.split()), sum(len(c.text.split()) for c in choices)
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written, **details}


def shared_beginning(one: Sequence[object], other: Sequence[object]) -> int:
    """How many first tokens two prompts have in common: what a prompt cache saves."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def completion_body(
    request: ScriptedRequest, choices: Sequence[TextReply], counts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A completion in OpenAI's form, with `counts` for its usage."""
    is_plain = "prompt" in request.body
    return {
        "id": f"loopback-{request.number}",
        "object": "text_completion" if is_plain else "chat.completion",
        "created": 0,
        "model": request.body.get("model", "test"),
        "choices": [
            {
                "index": i,
                **({"text": choice.text} if is_plain else {"message": _message(choice)}),
                "finish_reason": choice.finish_reason,
                "logprobs": choice.logprobs,
            }
            for i, choice in enumerate(choices)
        ],
        "usage": token_counts(request, choices) if counts is None else counts,
    }


def _message(choice: TextReply) -> dict[str, Any]:
    return {"role": "assistant", "content": choice.text, **choice.fields}


def stream_events(choice: TextReply, counts: Mapping[str, Any]) -> Iterator[str]:
    """The server-sent events of a streamed reply, a word each."""
    common = {"id": "loopback", "object": "chat.completion.chunk", "created": 0, "model": "test"}
    for word in choice.text.split(" "):
        delta = {"role": "assistant", "content": word + " "}
        yield json.dumps({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield json.dumps({**common, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.finish_reason}]})
    yield json.dumps({**common, "choices": [], "usage": counts})
    yield "[DONE]"


def error_body(error: HttpError) -> dict[str, Any]:
    """An error in OpenAI's form."""
    body = {"message": error.message, "type": error.code or "error", "param": error.param, "code": error.code}
    return {"error": body}


async def send_error(writer: asyncio.StreamWriter, error: HttpError) -> bool:
    """Sends an error; True, as the connection stays open. So do the next three."""
    return await send_json(writer, error.status, error_body(error), error.headers)


async def send_json(
    writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str] | None = None
) -> bool:
    """Sends a JSON body."""
    return await send(writer, status, json.dumps(body).encode("utf-8"), "application/json", headers)


async def send(
    writer: asyncio.StreamWriter, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
) -> bool:
    """Sends a body of a content type."""
    all_headers = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}
    head = f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in all_headers.items()) + "\r\n"
    writer.write(head.encode("latin-1") + body)
    await writer.drain()
    return True


async def send_stream(
    writer: asyncio.StreamWriter, events: Iterator[str] | Sequence[str], *, is_whole: bool = True
) -> bool:
    """Sends server-sent events in chunks; without the last chunk where the stream is not whole."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for event in events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    if is_whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
