"""One attempt at a call to a model: timeout, HTTP guard, and the fault behind whatever its client raises.

Every message of a client is redacted here on its way to an exception of ours, its causes included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from eirene.core.errors import BackendTimeoutError
from eirene.models.address import named, private_fault
from eirene.models.clients import server_address
from eirene.models.faults import Fault, classify
from eirene.models.http_guard import GuardedCall, ReplyLimit, guarded
from eirene.models.redaction import redacted_error, secrets_of

T = TypeVar("T")

_MAX_TOKENS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "num_predict")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is tried: `model` (for its keys) by its `name`, within `timeout_s` seconds and the bytes of `limit`.

    `parameters` are the optional fields that are sent: a refusal that speaks of one says so in the fault. `address` is
    that of the model's server; None: as the model's class tells it. `has_answered`: the server has given a good reply
    before, so that a web page or a redirect is a fault of this call alone.
    """

    model: object
    name: str
    timeout_s: float
    limit: ReplyLimit
    parameters: frozenset[str] = frozenset()
    address: str | None = None
    has_answered: bool = False


async def try_call(ask: Callable[[], Awaitable[T]], attempt: Attempt) -> T | Fault:
    """What `ask` gives, or the fault of the call. What is no fault of a call is raised, redacted where it must be."""
    address = attempt.address or server_address(attempt.model)
    call = GuardedCall(named(attempt.name, address), attempt.limit)
    try:
        with guarded(call):
            async with asyncio.timeout(attempt.timeout_s):
                return await ask()
    except TimeoutError:
        late = BackendTimeoutError(
            f"{call.name}: no reply within {attempt.timeout_s:g} s; is it busy? timeout_s (--timeout, of serve "
            "--call-timeout) moves this limit"
        )
        return private_fault(Fault(late, retryable=True), name=attempt.name, address=address)
    # Every client has exceptions of its own, and no root that all share; `classify` lets go what is not theirs.
    except Exception as error:
        raised = error
    secrets = call.secrets | secrets_of(attempt.model)
    fault = classify(call.refused or raised, name=call.name, parameters=attempt.parameters, secrets=frozenset(secrets))
    cause = redacted_error(raised, secrets)
    if fault is None:
        raise cause
    if attempt.has_answered:
        fault = fault.of_one_call()
    fault = private_fault(fault, name=attempt.name, address=address)
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
