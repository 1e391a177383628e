"""Names of what the verifier's head is told of tokens: the columns of `eirene.models.verifier.runtime.PairTokens`."""

from __future__ import annotations

FLAGS = (
    "same token",
    "same word",
    "same stem",
    "same word after the same word",
    "number",
    "number not there",
    "negation",
    "name",
    "name not there",
    "function word",
    "content word not there",
    "goes on",
    "first of its sentence",
)
"""What is known of a token of one text beside the other text, 0 or 1 each."""
LINKS = ("same token", "same word or stem", "after the same word", "before the same word")
"""What is known of a token of the claim and one of the premise, 0 or 1 each."""
