"""Usage: calls, retries, tokens, cost and seconds of a run. Every attempt counts, failed ones included."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eirene.core.validation import FrozenModel

_Count = Annotated[int, Field(ge=0)]


class Usage(FrozenModel):
    """Sums over all model calls of a run. Embedded parts call no model."""

    calls: _Count = 0
    """Requests made, failed and repeated ones included."""
    retries: _Count = 0
    """How many of them repeated one that had failed."""
    input_tokens: _Count = 0
    """Tokens of the prompts."""
    output_tokens: _Count = 0
    """Tokens of the replies."""
    cached_tokens: _Count = 0
    """Input tokens that came from the provider's prompt cache."""
    cache_hits: _Count = 0
    """Replies from the call cache, which are no calls and cost neither tokens nor money."""
    cost_usd: float | None = 0.0
    """US dollars; null where a price is unknown."""
    seconds: Annotated[float, Field(ge=0)] = 0.0
    """Seconds that the steps of the run took, one after the other."""

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """The sum; an unknown cost makes the sum's cost unknown."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(**sums, cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0))


_SUMMED = tuple(name for name in Usage.model_fields if name != "cost_usd")


class Meter:
    """Adds up the usage of several calls, so that nothing is lost when one of them fails; `also` counts them, too."""

    def __init__(self, *, also: Meter | None = None) -> None:
        self.total = Usage()
        self._also = also

    def add(self, usage: Usage) -> None:
        """Counts one attempt."""
        self.total = self.total + usage
        if self._also is not None:
            self._also.add(usage)
