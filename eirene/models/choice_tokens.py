"""Token usage of several choices in one request: counted here where the server reports that of one choice alone.

llama.cpp's server does so (its `usage` speaks of the first choice whatever `n` is), and a bill or a limit that believed
it would be twenty times too low. Log-probabilities come one a token, so that their number is the count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eirene.core.logs import get_logger
from eirene.models.replies import Reply, Tokens

logger = get_logger(__name__)

_PROVIDERS = ("api.openai.com", ".openai.azure.com", "api.anthropic.com")
"""Servers that count every choice: nothing is to be found out there."""
_LONG_TOKEN = 8
"""Characters; no tokenizer's average token is as long. Where more came than that, choices were left out."""


class ChoiceTokens:
    """Finds out whether a server counts all choices, by the first request for several; belongs to one model.

    `address` is the server's, None where there is none.
    """

    def __init__(self, address: str | None) -> None:
        self._is_open = address is not None and not any(known in address for known in _PROVIDERS)
        self._counts_one = False

    def wants_logprobs(self, n: int) -> bool:
        """Whether a request for `n` choices is to ask for log-probabilities, to count by them."""
        return n > 1 and (self._is_open or self._counts_one)

    def settled(self, tokens: Tokens, replies: Sequence[Reply]) -> Tokens:
        """The usage of a request with these choices, put right where the server counted one of them."""
        if len(replies) < 2 or tokens.is_unknown:
            return tokens
        counted = sum(len(reply.tokens) for reply in replies)
        if all(reply.tokens for reply in replies):
            self._is_open, self._counts_one = False, counted > tokens.output
            return replace(tokens, output=max(counted, tokens.output))
        characters = sum(len(reply.text) for reply in replies)
        if characters <= _LONG_TOKEN * tokens.output:
            self._is_open = False
            return tokens
        first = max(1, len(replies[0].text))
        guessed = max(tokens.output, round(tokens.output * characters / first))
        logger.info("the server counts one choice of %d: about %d tokens came", len(replies), guessed)
        return replace(tokens, output=guessed)
