"""Log-probabilities of a given text by a GGUF model: written by it under a grammar that allows that text alone.

llama.cpp does not tell the probabilities of a prompt's tokens. It does tell those of the tokens that it writes, as they
are before a grammar forbids any. So a text takes as long as writing it, and is cut into the tokens that the model finds
likeliest at each place, where its tokenizer might cut it otherwise; and of a character that is several tokens only the
last one's probability is told.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from eirene.core.errors import MalformedReplyError
from eirene.core.usage import Meter, Usage
from eirene.models.costs import rough_count
from eirene.models.gguf.chat import GgufEngine, load_engine
from eirene.models.gguf.spec import parse_gguf
from eirene.models.token_scores import Count, ScoredToken
from eirene.prompts import Message

T = TypeVar("T")
_MARGIN = 1.25
"""Tokens are counted by a rule of thumb here, and a prompt beyond the context ends the run."""


class GgufScorer:
    """A `TokenScorer` on a GGUF file, `gguf:PATH[?threads=N&context=N]`. Raises what `GgufEngine` raises."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._engine = load_engine(parse_gguf(name))

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        """The tokens of `text` as the reply to the messages. Raises `TooLongError` beyond the context."""
        stopped, started = threading.Event(), time.perf_counter()
        try:
            wait = self._engine.submit(_body(self._engine, messages, text, top), stopped)
            found = await asyncio.to_thread(wait)
        finally:
            stopped.set()
        written = found.choices[0].tokens
        meter.add(
            Usage(
                calls=1, input_tokens=found.input_tokens, output_tokens=len(written), cached_tokens=found.cached_tokens,
                seconds=time.perf_counter() - started,
            )
        )  # fmt: skip
        return _tokens(written, text, name=self.name)

    async def laid_out(self, lay_out: Callable[[Count, int | None], T]) -> T:
        """What `lay_out` makes of a rough count and of the context."""

        def count(messages: Sequence[Message], text: str) -> int:
            return round(_MARGIN * sum(map(rough_count, [*(m.content for m in messages), text])))

        return lay_out(count, self._engine.context)


def _body(engine: GgufEngine, messages: Sequence[Message], text: str, top: int) -> dict[str, Any]:
    literal = json.dumps(text, ensure_ascii=False)
    return {
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "grammar": f"%llguidance {{}}\nstart: {literal}" if engine.takes_llguidance else f"root ::= {literal}",
        "temperature": 0.0,
        "logprobs": True,
        "top_logprobs": max(1, top),
        "max_tokens": len(text.encode()) + 1,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def _tokens(written: Sequence[dict[str, Any]], text: str, *, name: str) -> list[ScoredToken]:
    whole, at, found = text.encode(), 0, []
    for token in written:
        piece = bytes(token["bytes"])
        if not piece:  # the end
            continue
        start, end = (len(whole[:n].decode(errors="ignore")) for n in (at, at + len(piece)))
        likeliest = {other["token"]: other["logprob"] for other in token["top_logprobs"]} | {
            token["token"]: token["logprob"]
        }
        found.append(ScoredToken(start, end, float(token["logprob"]), tuple(map(float, likeliest.values()))))
        at += len(piece)
    if at != len(whole):
        raise MalformedReplyError(f"{name}: {at} of the text's {len(whole)} bytes were read")
    return found
