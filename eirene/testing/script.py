"""Scripts of test doubles: what is asked, and the reply to it: a text, an error, or a broken reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
        return "\n".join([str(m.get("content", "")) for m in self.body.get("messages", [])] or [self.body["prompt"]])

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
