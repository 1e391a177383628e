"""A script for a fake model server: what it is asked, and what it may answer (a text, an error, a broken reply)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """One request that came. `number` counts from 1 over all; `attempt` from 1 over those with the same body."""

    number: int
    attempt: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """The messages' texts, one under the other, or the prompt."""
        return "\n".join([str(m.get("content", "")) for m in self.body.get("messages", [])] or [self.body["prompt"]])

    @property
    def n(self) -> int:
        """How many choices were asked for."""
        return int(self.body.get("n") or 1)


@dataclass(frozen=True, slots=True)
class TextReply:
    """One choice: its text, why it ended, and its `logprobs` field in OpenAI's form, if any."""

    text: str
    finish_reason: str = "stop"
    logprobs: Mapping[str, Any] | None = None


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
    """A reply that breaks: `drop` before a byte, `cut` in the middle of the body or stream, `garbage` for JSON, `hang`
    for none as long as the client waits."""

    how: Literal["drop", "cut", "garbage", "hang"]


@dataclass(frozen=True, slots=True)
class RawReply:
    """What goes over the line, in pieces, until the client hangs up; they may be without end. `head` goes first."""

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
"""From a request and the index of a choice to it; an `HttpError`, `BrokenReply` or `RawReply` at index 0 is the whole
reply.
"""
