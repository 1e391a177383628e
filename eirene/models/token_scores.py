"""Log-probabilities of a given text: the interface of scorers, which models that run here are.

Chat completions give the probabilities of what the model writes, never of a text that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from eirene.core.usage import Meter
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

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        """The tokens of `text`, in order, as the reply to `messages`; with each the `top` likeliest.

        Raises `BackendError` where the model cannot be reached or cannot take the text whole: it is never cut off;
        of a local model that is a `TooLongError`.
        """

    async def laid_out(self, lay_out: Callable[[Count, int | None], T]) -> T:
        """What `lay_out` makes of the count and of how many tokens fit: None where nobody here knows."""
