"""Calls of one model: timeout, HTTP guard, retries, usage and spans, and what its server has been found to refuse.

Every message of a client is redacted here on its way to an exception of ours, its causes included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from eirene.core.errors import BackendTimeoutError
from eirene.core.logs import get_logger
from eirene.core.signature import rng_for
from eirene.core.usage import Meter, Usage
from eirene.models.address import named, private_fault
from eirene.models.call_spans import TracedCall
from eirene.models.clients import server_address
from eirene.models.costs import Price, priced
from eirene.models.faults import RESPONSE_FORMAT, Fault, classify
from eirene.models.http_guard import GuardedCall, ReplyLimit, guarded
from eirene.models.limits import Limiter, RetryPolicy, Sleep
from eirene.models.redaction import redacted_error, secrets_of
from eirene.models.replies import Reply, Tokens

logger = get_logger(__name__)
failures = get_logger("eirene.models.failures")
"""Which server failed and how, in our own words alone: a server of ours may log it where it logs nothing of models."""

T = TypeVar("T")

_SYSTEM_ROLES = ("system", "developer")
_MAX_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """What a request gave: the value for its caller, the replies for its span, and the tokens for the meter."""

    value: T
    tokens: Tokens
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One request, ready to be sent; `span` has its model and server, `limit` bounds the reply.

    `optional` are the fields that it can be made without, and `doubtful` is one of them that an internal error of the
    server may come from. `without_n` is the value where several choices are refused.
    """

    send: Callable[[], Awaitable[Answered[T]]]
    span: TracedCall
    limit: ReplyLimit
    optional: frozenset[str] = frozenset()
    doubtful: str | None = None
    without_n: T | None = None


class Caller:
    """Sends the requests of one model, and remembers for its life what the server refuses (`refused`).

    `price` None leaves costs unknown; `sleep` is what waits between attempts.
    """

    def __init__(
        self,
        name: str,
        *,
        limiter: Limiter | None = None,
        retry: RetryPolicy | None = None,
        timeout_s: float = 60.0,
        price: Price | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.name = name
        self.refused: frozenset[str] = frozenset()
        self._limiter = Limiter() if limiter is None else limiter
        self._retry = RetryPolicy() if retry is None else retry
        self._timeout_s = timeout_s
        self._price = price
        self._sleep = sleep
        self._has_answered = False  # so that a web page or a redirect is a fault of one call alone

    async def run(self, make: Callable[[Set[str]], Request[T]], *, meter: Meter, seed: int = 0) -> T:
        """The value of a request, retried as the policy says; every attempt is on the meter.

        `make` is told what the server refuses. A request that is refused for one field more is made again without it
        at once, which takes none of the policy's attempts; what then works is remembered. Raises `BackendError` when
        no attempt succeeds, or none may help.
        """
        rng, without, before, extra = rng_for(seed, "retry"), set[str](), 0, 0
        while True:
            request = make(self.refused | without)
            outcome = await self._attempt(request, meter, tries=before + extra)
            if isinstance(outcome, Fault) and before == 1 and outcome.is_internal and request.doubtful is not None:
                other = await self._attempt(make(self.refused | without | {request.doubtful}), meter, tries=2 + extra)
                if not isinstance(other, Fault):
                    without.add(request.doubtful)
                outcome = other
            if not isinstance(outcome, Fault):
                self.refuse(without)
                return outcome.value
            if outcome.parameter == "n" and request.without_n is not None:
                self.refuse({"n"}, outcome)
                return request.without_n
            if outcome.parameter is not None and outcome.parameter not in without:
                logger.info("%s refuses %r: %s", self.name, outcome.parameter, outcome.error)
                without.add(outcome.parameter)
                extra += 1
                continue
            before += 1
            wait_s = self._retry.wait_s(outcome, attempt=before, rng=rng)
            if wait_s is None:
                if outcome.log is not None:  # what the error must not tell
                    failures.warning("%s", outcome.log)
                raise outcome.error
            logger.info("attempt %d failed, next in %.1f s: %s", before, wait_s, outcome.error)
            await self._sleep(wait_s)

    def refuse(self, fields: Set[str], fault: Fault | None = None) -> None:
        """Notes that the server takes these fields not, or ignores them."""
        for field in fields - self.refused:
            tell = logger.info if field in ("n", RESPONSE_FORMAT) else logger.warning
            tell("%s does not take %r, going on without it%s", self.name, field, f": {fault.error}" if fault else "")
        self.refused |= fields

    async def _attempt(self, request: Request[T], meter: Meter, *, tries: int) -> Answered[T] | Fault:
        """One request. It is on the meter from the moment it is sent, so that a cancelled one is not forgotten."""
        span = replace(request.span, tries=tries)
        async with self._limiter.slot() as slot:
            meter.add(Usage(calls=1, retries=int(tries > 0), cost_usd=None if self._price is None else 0.0))
            with span.open() as found:
                outcome = await self._guarded(request)
                if isinstance(outcome, Fault):
                    span.told(found, outcome)
                    return slot.failed(outcome)
                span.told(found, outcome.replies, outcome.tokens)
        self._has_answered = True
        used = outcome.tokens
        if used.is_unknown:
            logger.info("%s reports no token usage; it counts as 0 tokens", self.name)
        meter.add(
            priced(
                self._price, input_tokens=used.input, output_tokens=used.output, cached_tokens=used.cached,
                written_tokens=used.written,
            )
        )  # fmt: skip
        return outcome

    async def _guarded(self, request: Request[T]) -> Answered[T] | Fault:
        """What sending it gives, or the fault. What is no fault of a call is raised, redacted where it must be."""
        name, model = self.name, request.span.model
        address = request.span.address or server_address(model)
        call = GuardedCall(named(name, address), request.limit)
        try:
            with guarded(call):
                async with asyncio.timeout(self._timeout_s):
                    return await request.send()
        except TimeoutError:
            late = BackendTimeoutError(
                f"{call.name}: no reply within {self._timeout_s:g} s; is it busy? timeout_s (--timeout, of serve "
                "--call-timeout) moves this limit"
            )
            return private_fault(Fault(late, retryable=True), name=name, address=address)
        # Every client has exceptions of its own, and no root that all share; `classify` lets go what is not theirs.
        except Exception as error:
            raised = error
        secrets = frozenset(call.secrets | secrets_of(model))
        fault = classify(call.refused or raised, name=call.name, parameters=request.optional, secrets=secrets)
        cause = redacted_error(raised, secrets)
        if fault is None:
            raise cause
        if self._has_answered:
            fault = fault.of_one_call()
        fault = private_fault(fault, name=name, address=address)
        if fault.error is not raised:
            fault.error.__cause__ = cause
        return fault


def reply_limit(
    model: object, *, max_tokens: int | None = None, top_logprobs: int | None = None, n: int | None = None
) -> ReplyLimit:
    """What a LangChain model's reply may take by its own settings; the arguments where the call brings others."""
    if max_tokens is None:
        max_tokens = max(filter(None, (_number(model, name) for name in _MAX_TOKENS)), default=None)
    top = _number(model, "top_logprobs") if top_logprobs is None else top_logprobs
    return ReplyLimit.of(max_tokens, choices=n or _number(model, "n") or 1, top_logprobs=top)


def _number(model: object, name: str) -> int | None:
    """A setting that is a number from 0 up; None where the model has none."""
    value = getattr(model, name, None)
    return value if isinstance(value, int) and value >= 0 else None


def has_system(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one of the messages, in OpenAI's form, is the system's or the developer's."""
    return any(message.get("role") in _SYSTEM_ROLES for message in messages)


def without_system(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages, in OpenAI's form, with the system's texts at the head of the first message of the user."""
    told = "\n\n".join(_text(message.get("content")) for message in messages if message.get("role") in _SYSTEM_ROLES)
    rest = [dict(message) for message in messages if message.get("role") not in _SYSTEM_ROLES]
    first = next((n for n, message in enumerate(rest) if message.get("role") == "user"), None)
    if first is None:
        return [{"role": "user", "content": told}, *rest]
    said = rest[first].get("content")
    head = {"type": "text", "text": told}
    rest[first]["content"] = [head, *said] if isinstance(said, list) else f"{told}\n\n{said or ''}".rstrip()
    return rest


def _text(content: object) -> str:
    if not isinstance(content, list):
        return str(content or "")
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
