"""The upstream model: draws drafts from it, with messages and settings as the client gave them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eirene.agent.server.draft_requests import LIMITS, DraftRequest, Drafts, langchain_request, openai_request
from eirene.agent.server.protocol import ChatRequest
from eirene.core.errors import UnusableReplyError
from eirene.core.logs import get_logger
from eirene.core.signature import rng_for
from eirene.core.usage import Usage
from eirene.models.attempt import Attempt, reply_limit, try_call
from eirene.models.call_spans import TracedCall
from eirene.models.clients import ModelPerLoop, server_address
from eirene.models.faults import Fault
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply, Tokens

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

logger = get_logger(__name__)

_NO_NAME = re.compile(
    r"\bnot? (?:support|permit|allow|longer)|\bextra\b|extra_|\bun(?:supported|known|expected|recogni[sz]ed)\b"
    r"|\badditional propert|\bdeprecated\b|\binstead\b|\binvalid (?:parameter|field|argument)",
    re.IGNORECASE,
)
"""How servers say that they do not know a name, rather than that its value is wrong."""
_DEFAULT_RETRY = RetryPolicy(attempts=3)  # a person waits, and the client has retries of its own


class Upstream:
    """A LangChain chat model that writes drafts, with retries of our own around it. It is copied, never changed."""

    def __init__(
        self,
        model: BaseChatModel,
        *,
        name: str,
        rebuild: Callable[[], BaseChatModel] | None = None,
        retry: RetryPolicy = _DEFAULT_RETRY,
        timeout_s: float = 60.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self._models = ModelPerLoop(model, name=name, rebuild=rebuild)
        self._speaks_openai = any(c.__name__ == "BaseChatOpenAI" for c in type(model).__mro__)
        self._retry = retry
        self._timeout_s = timeout_s
        self._sleep = sleep
        self._takes_n = "n" in type(model).model_fields
        self._refused: frozenset[str] = frozenset()

    async def draw(self, messages: Sequence[BaseMessage], request: ChatRequest | None, *, n: int) -> Drafts:
        """`n` drafts, in one request where the provider takes `n`. Raises `BackendError`."""
        found = await self._ask(messages, request, n if self._takes_n else 1)
        if len(found.drafts) < n:  # refused, ignored, or not asked for
            if n > 1:
                self._takes_n = False
            missing = [self._ask(messages, request, 1) for _ in range(n - len(found.drafts))]
            for more in await _all(missing):
                found = Drafts((*found.drafts, *more.drafts), found.usage + more.usage, found.fields or more.fields)
        return replace(found, drafts=found.drafts[:n])

    async def _ask(self, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int) -> Drafts:
        usage = Usage()

        async def ask(before: int) -> Drafts | Fault:
            nonlocal usage
            without, faults = set(self._refused), list[Fault]()
            while True:
                outcome = await self._attempt(self._asked(messages, request, n, without), tries=before + len(faults))
                usage += Usage(calls=1, retries=int(before + len(faults) > 0))
                if not isinstance(outcome, Fault):
                    self._refused |= without
                    return outcome
                if outcome.parameter == "n":
                    return Drafts()
                faults.append(outcome)
                if outcome.parameter is None or not _is_name_refused(outcome):
                    return faults[0]  # what came of another try says nothing of what the client asked
                without.add(outcome.parameter)

        found = await self._retry.run(ask, rng=rng_for(0, "draft"), sleep=self._sleep)
        return replace(found, usage=usage + found.usage)

    async def _attempt(self, asked: DraftRequest, *, tries: int) -> Drafts | Fault:
        limit = reply_limit(asked.model, max_tokens=asked.most_tokens, top_logprobs=asked.top_logprobs, n=asked.n)
        attempt = Attempt(asked.model, self.name, self._timeout_s, limit, asked.optional)
        call = TracedCall(self.name, asked.model, asked.sampling, asked.told, tries, server_address(asked.model))
        try:
            with call.open() as found:
                outcome = await try_call(asked.send, attempt)
                if isinstance(outcome, Fault):
                    call.told(found, outcome)
                else:
                    replies = [Reply(str(d.message.text), d.finish_reason) for d in outcome.drafts]
                    used = outcome.usage
                    call.told(found, replies, Tokens(used.input_tokens, used.output_tokens, used.cached_tokens))
                return outcome
        except Exception as error:  # a fault of the client's own: its user gets an error in the protocol's form
            logger.warning("the model behind the server failed: %s", type(error).__name__, exc_info=True)
            return Fault(UnusableReplyError(f"{self.name}: {type(error).__name__}"), retryable=False)

    def _asked(
        self, messages: Sequence[BaseMessage], request: ChatRequest | None, n: int, without: Collection[str]
    ) -> DraftRequest:
        """The request, but for what the server is known not to take (`without`)."""
        model = self._models.here()
        if request is not None and self._speaks_openai and not getattr(model, "use_responses_api", None):
            return openai_request(model, messages, request, name=self.name, n=n, without=without)
        return langchain_request(model, messages, request, name=self.name, n=n)


def _is_name_refused(fault: Fault) -> bool:
    return fault.parameter not in LIMITS or _NO_NAME.search(str(fault.error)) is not None


async def _all(asked: Sequence[Any]) -> list[Drafts]:
    """All results; the first failure ends the others."""
    tasks = [asyncio.ensure_future(a) for a in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
