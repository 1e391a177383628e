"""The one retry policy: what is tried again, how often, and after which wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eirene.errors import InputError
from eirene.models.faults import Fault


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` attempts a call, with waits that double from `first_wait_s` to `max_wait_s`, jittered.

    A wait that the provider asks for is honoured up to `max_retry_after_s`; longer, and the call fails at once: the
    caller can do something better with that time.
    """

    attempts: int = 5
    first_wait_s: float = 0.5
    max_wait_s: float = 20.0
    max_retry_after_s: float = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InputError(f"attempts must be at least 1, got {self.attempts}", field="attempts")

    def wait_s(self, fault: Fault, *, attempt: int, rng: np.random.Generator) -> float | None:
        """Seconds to wait after attempt number `attempt` (from 1) failed; None when there is to be no other.

        The jitter takes up to half of the wait off, and adds up to a tenth to one that was asked for: never less.
        """
        if not fault.retryable or attempt >= self.attempts:
            return None
        if fault.retry_after_s is not None:
            asked = fault.retry_after_s
            return None if asked > self.max_retry_after_s else float(asked * (1.0 + 0.1 * rng.random()))
        longest = min(self.max_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return float(longest * (1.0 - 0.5 * rng.random()))
