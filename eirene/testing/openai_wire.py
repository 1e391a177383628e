"""Replies in the form of OpenAI's completions, chat and plain, whole and streamed, and their way onto a connection.

A fake of a provider's batch endpoint, on files: requests in, scripted replies out. For tests and dry runs.

It answers as `eirene.testing.loopback.LoopbackServer` does over HTTP, so that a run on its files and a live run on that
server get the same replies from the same script.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eirene.testing.script import Broken, ChatRequest, HttpError, Raw, Script, Text


def token_counts(request: ChatRequest, choices: Sequence[Text]) -> dict[str, int]:
    read, written = len(request.text.split()), sum(len(c.text.split()) for c in choices)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def completion_body(request: ChatRequest, choices: Sequence[Text]) -> dict[str, Any]:
    """A completion in OpenAI's form."""
    is_plain = "prompt" in request.body
    return {
        "id": f"loopback-{request.number}",
        "object": "text_completion" if is_plain else "chat.completion",
        "created": 0,
        "model": request.body.get("model", "test"),
        "choices": [
            {
                "index": i,
                **({"text": choice.text} if is_plain else {"message": {"role": "assistant", "content": choice.text}}),
                "finish_reason": choice.finish_reason,
                "logprobs": choice.logprobs,
            }
            for i, choice in enumerate(choices)
        ],
        "usage": token_counts(request, choices),
    }


def stream_events(choice: Text, counts: dict[str, int]) -> Iterator[str]:
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
    return await send_json(writer, error.status, error_body(error), error.headers)


async def send_json(
    writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str] | None = None
) -> bool:
    return await send(writer, status, json.dumps(body).encode("utf-8"), "application/json", headers)


async def send(
    writer: asyncio.StreamWriter, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
) -> bool:
    all_headers = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}
    head = f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in all_headers.items()) + "\r\n"
    writer.write(head.encode("latin-1") + body)
    await writer.drain()
    return True


async def send_stream(
    writer: asyncio.StreamWriter, events: Iterator[str] | Sequence[str], *, is_whole: bool = True
) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for event in events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    if is_whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


FILE_LIMITS = (50_000, 200 * 10**6)
"""Requests and bytes that a file may have at most; one beyond them is refused, as the real endpoint refuses it."""


def answer_requests(files: Iterable[str | Path], script: Script) -> list[str]:
    """The lines that the endpoint gives back for the requests in the files, in the requests' order.

    An `HttpError` of the script is a request that failed; a `Broken` or `Raw` one never comes back. Raises `ValueError`
    for files that the real endpoint would refuse: too large, an id twice, two models, another method or address.
    """
    lines, seen, models = [], set(), set()
    for file in files:
        data = Path(file).read_bytes()
        requests = [json.loads(line) for line in data.splitlines()]
        if len(requests) > FILE_LIMITS[0] or len(data) > FILE_LIMITS[1]:
            raise ValueError(f"{file} is too large: {len(requests)} requests, {len(data)} bytes")
        for request in requests:
            if set(request) != {"custom_id", "method", "url", "body"} or len(request["custom_id"]) > 64:
                raise ValueError(f"not a request: {sorted(request)}")
            if (request["method"], request["url"]) != ("POST", "/v1/chat/completions"):
                raise ValueError(f"another endpoint: {request['method']} {request['url']}")
            if request["custom_id"] in seen:
                raise ValueError(f"the id {request['custom_id']} occurs twice")
            seen.add(request["custom_id"])
            models.add(request["body"]["model"])
            line = _answer(request, len(seen), script)
            lines += [] if line is None else [json.dumps(line)]
    if len(models) > 1:
        raise ValueError(f"more than one model: {sorted(models)}")
    return lines


def _answer(asked: dict[str, Any], number: int, script: Script) -> dict[str, Any] | None:
    request = ChatRequest(number, 1, asked["body"], {})
    choices: list[Text] = []
    status, body = 200, None
    for index in range(request.n):
        outcome = script(request, index)
        if isinstance(outcome, Broken | Raw):
            return None
        if isinstance(outcome, HttpError):
            status, body = outcome.status, error_body(outcome)
            break
        choices.append(Text(outcome) if isinstance(outcome, str) else outcome)
    response = {
        "status_code": status,
        "request_id": f"fake-{number}",
        "body": body or completion_body(request, choices),
    }
    return {"id": f"batch_req_{number}", "custom_id": asked["custom_id"], "response": response, "error": None}
