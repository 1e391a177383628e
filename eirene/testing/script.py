"""Scripts of test doubles: what is asked, the reply (a text, an error, a broken one), and OpenAI's form of both."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A received request. `number` counts from 1 over all; `attempt` from 1 over those with the same body."""

    number: int
    attempt: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """The messages' texts, a line each, or the prompt."""
        return "\n".join(str(m.get("content", "")) for m in self.body["messages"])

    @property
    def n(self) -> int:
        """The number of requested choices."""
        return int(self.body.get("n") or 1)


@dataclass(frozen=True, slots=True)
class TextReply:
    """One choice: its text, why it ended, its `logprobs` in OpenAI's form, if any, and its message's further fields."""

    text: str
    finish_reason: str = "stop"
    logprobs: Mapping[str, Any] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error in OpenAI's form."""

    status: int
    message: str = "scripted error"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokenReply:
    """A broken reply: `drop` the connection, `cut` the body or stream, `garbage` for JSON, `hang` without a reply."""

    how: Literal["drop", "cut", "garbage", "hang"]


@dataclass(frozen=True, slots=True)
class RawReply:
    """Raw bytes in pieces, possibly without end, until the client disconnects; `head` goes first."""

    pieces: Iterable[bytes]
    head: bytes = b""

    @classmethod
    def body(
        cls, pieces: Iterable[bytes], *, kind: str = "application/json", status: int = 200, **headers: str
    ) -> Self:
        """A reply of unknown length with this body; `content_encoding="gzip"` is a header."""
        lines = {"Content-Type": kind, "Connection": "close"} | {k.replace("_", "-"): v for k, v in headers.items()}
        head = f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n"
        return cls(pieces, head.encode("latin-1"))


ScriptedReply = str | TextReply | HttpError | BrokenReply | RawReply
Script = Callable[[ScriptedRequest, int], ScriptedReply]
"""The reply to a request, by the index of a choice; an error, broken or raw one at index 0 is the whole reply."""


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
    return {
        "id": f"loopback-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.body.get("model", "test"),
        "choices": [
            {
                "index": i,
                "message": {"role": "assistant", "content": choice.text, **choice.fields},
                "finish_reason": choice.finish_reason,
                "logprobs": choice.logprobs,
            }
            for i, choice in enumerate(choices)
        ],
        "usage": token_counts(request, choices) if counts is None else counts,
    }


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
