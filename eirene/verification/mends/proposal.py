"""Proposal: a few words of a sentence and what could stand in their place; it proposes, and judges nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MendKind = Literal["entity", "relation"]
_ARTICLE = re.compile(r"(?<![\w'’-])an?[ \t]\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """`sentence[start:end]` becomes `new`. `entity`: a number, date or name; `relation`: any other word."""

    start: int
    end: int
    new: str
    kind: MendKind

    def applied(self, sentence: str) -> str:
        """The sentence with the proposal made."""
        return sentence[: self.start] + self.new + sentence[self.end :]


def fitted(sentence: str, proposal: Proposal) -> Proposal:
    """The proposal as it fits its place: the capital of a sentence's first word, "an" for "a" before a vowel."""
    old, new, start = sentence[proposal.start : proposal.end], proposal.new, proposal.start
    if new and start == 0 and old[:1].isupper():
        new = new[0].upper() + new[1:]
    article = _ARTICLE.search(sentence, max(0, start - 4), start) if old and new else None
    if article and _is_vowel(old) != _is_vowel(new) and _is_vowel(old) == (article.group().strip().lower() == "an"):
        word = article.group()[0] + ("n " if _is_vowel(new) else " ")
        return Proposal(article.start(), proposal.end, word + new, proposal.kind)
    return Proposal(start, proposal.end, new, proposal.kind)


def _is_vowel(text: str) -> bool:
    return text[:1].lower() in ("a", "e", "i", "o", "u")
