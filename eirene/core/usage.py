"""What a run cost: calls, retries, tokens, money, seconds. Every attempt counts, failed ones included."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from eirene.core.validation import CheckedModel

_Count = Annotated[int, Field(ge=0)]


class Usage(CheckedModel):
    """Sums over all model calls of a run; `cost_usd` is null where a price is unknown. Embedded parts call no model.

    `cached_tokens` are those that the provider had read before (its prompt cache). `cache_hits` are replies that came
    from the call cache instead of a model: they are no calls, and cost neither tokens nor money.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    calls: _Count = 0
    retries: _Count = 0
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cached_tokens: _Count = 0
    cache_hits: _Count = 0
    cost_usd: float | None = 0.0
    seconds: Annotated[float, Field(ge=0)] = 0.0

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """The sum; an unknown cost makes the sum's cost unknown."""
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            calls=self.calls + other.calls,
            retries=self.retries + other.retries,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_hits=self.cache_hits + other.cache_hits,
            cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
            seconds=self.seconds + other.seconds,
        )


class Meter:
    """Adds up the usage of one node's calls, so that nothing is lost when one of them fails."""

    def __init__(self) -> None:
        self.total = Usage()

    def add(self, usage: Usage) -> None:
        """Counts one attempt."""
        self.total = self.total + usage
