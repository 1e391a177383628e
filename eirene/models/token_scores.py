"""Log-probabilities of a given text: the interface of scorers, and the one on a server's completions with `echo`.

Chat completions give the probabilities of what the model writes, never of a text that is handed in; only OpenAI's older
protocol does, as vLLM and others speak it. Needs the extra `openai`.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from eirene.core.errors import AuthError, MalformedReplyError
from eirene.core.extras import require
from eirene.core.usage import Meter
from eirene.models.address import check_address
from eirene.models.call_spans import TracedCall
from eirene.models.calls import Answered, Caller, Request
from eirene.models.costs import Price
from eirene.models.http_guard import ReplyLimit, guard_clients
from eirene.models.limits import Limiter, RetryPolicy, Sleep
from eirene.models.redaction import NO_KEY, redacted
from eirene.models.replies import Tokens, token_count
from eirene.prompts import Message

T = TypeVar("T")
Count = Callable[[Sequence[Message], str], int]
"""How many tokens a prompt and the text after it have together, for the model."""


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token of a text: its character offsets, its log-probability (natural), and those of the likeliest tokens in
    its place, its own among them."""

    start: int
    end: int
    logprob: float
    top: tuple[float, ...]


class TokenScorer(Protocol):
    """Anything that can say how likely a text is after a prompt."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        """The tokens of `text`, in order, as the reply to `messages`; with each the `top` likeliest.

        Raises `BackendError` where the model cannot be reached or cannot take the text whole: it is never cut off;
        of a local model that is a `TooLongError`.
        """
        ...

    async def laid_out(self, lay_out: Callable[[Count, int | None], T]) -> T:
        """What `lay_out` makes of the count and of how many tokens fit: None where nobody here knows."""
        ...


class EchoScorer:
    """A `TokenScorer` on a server that echoes a prompt with log-probabilities.

    `base_url` None is OpenAI's own, whose key comes from the environment. Retries, time limit and usage are those of
    the chat models; a connection is made for each text. Raises `InputError` for a `base_url` that is none.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        limiter: Limiter | None = None,
        retry: RetryPolicy | None = None,
        timeout_s: float = 60.0,
        price: Price | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        require("openai")
        self.name = model
        self._base_url = None if base_url is None else check_address(base_url)
        self._calls = Caller(model, limiter=limiter, retry=retry, timeout_s=timeout_s, price=price, sleep=sleep)

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        """The tokens of `text` on the line after the prompt, each with those of the `top` likeliest.

        Raises `BackendError` when no attempt succeeds, when the server does not echo, and when it echoes less than
        the whole.
        """
        prompt = "\n\n".join(m.content for m in messages) + "\n"
        found = await self._calls.run(lambda refused: self._request(prompt + text, top), meter=meter)
        return _read(found, prompt, text, name=self.name)

    async def laid_out(self, lay_out: Callable[[Count, int | None], T]) -> T:
        """What `lay_out` makes where nobody but the server knows how much it takes."""
        return lay_out(lambda messages, text: 0, None)

    def _request(self, whole: str, top: int) -> Request[Any]:
        from openai import AsyncOpenAI

        key = self._key()

        async def send() -> Answered[Any]:
            async with AsyncOpenAI(base_url=self._base_url, api_key=key, max_retries=0) as client:
                guard_clients(client)
                found = await client.completions.create(
                    model=self.name, prompt=whole, echo=True, logprobs=top, max_tokens=1, temperature=0.0
                )
            return Answered(found, _tokens_used(found))

        span = TracedCall(
            f"openai:{self.name}", None, {"max_tokens": 1, "temperature": 0.0}, [("user", whole)],
            address=self._base_url, operation="text_completion",
        )  # fmt: skip
        limit = ReplyLimit.of(len(whole.encode("utf-8")) + 1, top_logprobs=top)  # a token has a byte at least
        return Request(send, span, limit)

    def _key(self) -> str | None:
        """None for the key of the environment; raises `AuthError` where OpenAI's own server would have none."""
        if os.environ.get("OPENAI_API_KEY"):
            return None
        if self._base_url is None:
            raise AuthError(f"{self.name}: OpenAI wants a key: set OPENAI_API_KEY, or name another server by base_url")
        return NO_KEY


def _tokens_used(found: Any) -> Tokens:
    used = getattr(found, "usage", None)
    read = token_count(getattr(used, "prompt_tokens", None)) or 0
    return Tokens(read, token_count(getattr(used, "completion_tokens", None)) or 0)


def _read(found: Any, prompt: str, text: str, *, name: str) -> list[ScoredToken]:
    try:
        return _tokens(found, prompt, text, name=name)
    except (TypeError, ValueError, AttributeError):
        raise MalformedReplyError(f"{name}: the log-probabilities are not in the protocol's form") from None


def _tokens(found: Any, prompt: str, text: str, *, name: str) -> list[ScoredToken]:
    """The text's tokens of an echoed completion; its one new token is left out."""
    choice = found.choices[0] if getattr(found, "choices", None) else None
    logprobs = getattr(choice, "logprobs", None)
    if choice is None or logprobs is None or not str(choice.text).startswith(prompt + text):
        raise MalformedReplyError(f"{name}: the server does not echo the whole text with its log-probabilities")
    kept: list[ScoredToken] = []
    begin, end = len(prompt), len(prompt) + len(text)
    rows = zip(logprobs.tokens, logprobs.token_logprobs, logprobs.top_logprobs, logprobs.text_offset, strict=False)
    for token, logprob, top, offset in rows:
        if offset + len(token) <= begin or offset >= end:
            continue
        likeliest = {**(top or {}), token: logprob}
        if not all(isinstance(value, int | float) and math.isfinite(value) for value in likeliest.values()):
            raise MalformedReplyError(f"{name}: the token {redacted(str(token))[:40]!r} has no log-probability")
        start, stop = max(0, offset - begin), min(len(text), offset + len(token) - begin)
        kept.append(ScoredToken(start, stop, float(logprob), tuple(float(v) for v in likeliest.values())))
    if not kept and text:
        raise MalformedReplyError(f"{name}: none of the text's tokens came back")
    return kept
