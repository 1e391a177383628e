"""Torn ends: an English sentence whose last word or comma cannot be its last ("They note that trams and the")."""

from __future__ import annotations

import re

_ENDLESS = re.compile(
    r"\b(?:the|an?|and|or|nor|because|although|whereas|unless|my|our|your|their|every|than|whose)[.…!]*\s*\Z"
    r"|\b(?:of|from|with|into|between)\s*\Z|,\s*\Z",
    re.IGNORECASE,
)


def is_torn(sentence: str) -> bool:
    """Whether an English sentence ends with a word that goes on, whatever is before it."""
    return _ENDLESS.search(sentence) is not None
