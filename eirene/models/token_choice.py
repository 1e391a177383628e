"""Token choice: how a model answers a question of two words ("Yes" or "No"), as log-odds of its first token.

One token is read and none is reasoned about, so that a question costs what its prompt costs. Put what many questions
share at the beginning of their prompts: servers know a prompt's beginning again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from eirene.core.logs import get_logger
from eirene.core.scores import Unscored
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import ReplyToken
from eirene.prompts import Message

logger = get_logger(__name__)

R = TypeVar("R")

TOP = 20
"""Tokens that are asked for with their probabilities: the most that OpenAI sends."""
LEAST_MASS = 0.01
"""Probability that the two words must have together: below it the model is about to say something else."""
_FLOOR = 1e-10  # probability of a word that was not sent where the others leave nothing
NO_LOGPROBS = "the model gives no token probabilities"


@dataclass(frozen=True, slots=True)
class Weighed:
    """The probability of each word, 0 where it was not sent; and `most`, what one that was not sent has at most."""

    weights: dict[str, float]
    most: float


class TokenChoice:
    """Asks a chat model to choose between words, and reads the log-odds of the first against the second.

    A word's probability is the sum over the tokens that are it but for case and the space before it; a letter's case
    counts, as "a" is a word of its own. A word that is not among the likeliest tokens has at most what these leave,
    and at most as much as the least of them: it counts as that, so that the odds are too even rather than too sure.

    `choices` must differ in more than case. A server that refuses `logprobs`, or passes them over, is found out by the
    first question (one line in the log) and not asked again: `is_readable` is False from then on.

    Examples:
        >>> from eirene.models.scripted import ScriptedChatModel
        >>> choice = TokenChoice(ChatModel(ScriptedChatModel([])))  # which has no field for probabilities
        >>> asyncio.run(choice.log_odds([[Message("user", "Is water wet? Yes or No:")]], meter=Meter()))
        [Unscored(unscored='the model gives no token probabilities')]
    """

    def __init__(self, chat: ChatModel, choices: Sequence[str] = ("Yes", "No")) -> None:
        self._words = tuple(_plain(word) for word in choices)
        if len(set(self._words)) < max(2, len(choices)) or not all(self._words):
            raise ValueError(f"choices must be different words, two at least, got {choices}")
        self._chat = chat
        self._is_readable = True

    @property
    def is_readable(self) -> bool:
        """Whether the model gives token probabilities, as far as is known."""
        return self._is_readable and "top_logprobs" in self._chat.settable(_ASKED)

    async def log_odds(self, prompts: Sequence[Sequence[Message]], *, meter: Meter) -> list[float | Unscored]:
        """ln P(first word) - ln P(second word) for each prompt, in order (0 is even); unscored with the reason.

        Raises `BackendError` when no attempt succeeds for one of them.
        """
        return await first_alone(lambda prompt: self.ask(prompt, meter=meter), prompts)

    async def ask(self, prompt: Sequence[Message], *, meter: Meter) -> float | Unscored:
        """The log-odds of one prompt, first word to second. Raises `BackendError` when no attempt succeeds."""
        return self._odds(await self.weigh(prompt, meter=meter))

    def odds_of(self, token: ReplyToken) -> float | Unscored:
        """The log-odds of a token that stands in a reply, by the probabilities of those in its place."""
        return self._odds(self._read(token))

    def _odds(self, found: Weighed | Unscored) -> float | Unscored:
        if isinstance(found, Unscored):
            return found
        one, other = (found.weights[word] or found.most for word in self._words[:2])
        return math.log(one) - math.log(other)

    async def weigh(self, prompt: Sequence[Message], *, meter: Meter) -> Weighed | Unscored:
        """The probability of each word. Raises `BackendError` when no attempt succeeds."""
        if not self.is_readable:
            return Unscored(unscored=NO_LOGPROBS)
        reply = await self._chat.ask(prompt, sampling=_ASKED, meter=meter)
        if not reply.tokens:
            logger.warning("%s: %s; several replies take their place", self._chat.name, NO_LOGPROBS)
            self._is_readable = False
            return Unscored(unscored=NO_LOGPROBS)
        return self._read(reply.tokens[0])

    def _read(self, token: ReplyToken) -> Weighed | Unscored:
        sent = dict([(token.text, token.logprob), *token.top])
        most = max(token.logprob, *sent.values())
        if most > 1e-3:  # beyond rounding
            return Unscored(unscored=f"the model gives a token the log-probability {most:g}, and none is above 0")
        weights = dict.fromkeys(self._words, 0.0)
        for text, logprob in sent.items():
            word = _plain(text)
            if word in weights:
                weights[word] += math.exp(logprob)
        if math.fsum(weights.values()) < LEAST_MASS:
            return Unscored(unscored=f"the model says {token.text.strip()[:40]!r} and none of {', '.join(self._words)}")
        left = 1.0 - math.fsum(math.exp(logprob) for logprob in sent.values())
        return Weighed(weights, max(_FLOOR, min(left, math.exp(min(sent.values())))))


async def first_alone(ask: Callable[[Any], Awaitable[R]], prompts: Sequence[Any]) -> list[R]:
    """What `ask` gives for each prompt, in order: the first by itself, which finds out what the server takes and leaves
    the shared beginning in its cache, then the others together. Raises the first error when all have ended.
    """
    first = [await ask(prompt) for prompt in prompts[:1]]
    rest = await asyncio.gather(*map(ask, prompts[1:]), return_exceptions=True)
    for found in rest:
        if isinstance(found, BaseException):
            raise found
    return [*first, *(found for found in rest if not isinstance(found, BaseException))]


def _plain(text: str) -> str:
    bare = text.strip()
    return bare if len(bare) < 2 else bare.casefold()


_ASKED = Sampling(temperature=1.0, seed=0, top_logprobs=TOP, max_tokens=1)
"""Some servers give probabilities after temperature: 1 leaves them as they are. What is drawn does not matter."""
