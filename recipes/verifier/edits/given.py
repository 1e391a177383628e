"""What a rule of editing is given: a claim, its premise, and a source of chance; and words replaced by offsets."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from eirene.text.english import Decapitalizer

WORD = re.compile(r"[^\W\d_]+(?>(?:['’-][^\W\d_]+)*)")
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]{1,400}[\"”»]|``[^`']{1,400}''|(?<!\w)['‘][^'‘’]{1,200}['’](?!\w)")
_ANY = re.compile(r"\w+")


def words(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


def words_in_order(text: str) -> tuple[str, ...]:
    """The words of a list, as they come."""
    return tuple(text.split())


def plain(text: str) -> str:
    """Lower-cased words and figures alone: the form in which claims are told apart."""
    return " ".join(_ANY.findall(text.lower()))


def same_case(word: str, like: str) -> str:
    """`word` with a capital where `like` has one."""
    return word[:1].upper() + word[1:] if like[:1].isupper() else word


@dataclass(frozen=True)
class ClaimGiven:
    """A claim that the premise supports, the premise as one text, and a source of chance of its own."""

    claim: str
    premise: str
    rng: random.Random
    letters: Decapitalizer | None = None
    """Knows common words of other claims: what is no name."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The premise's words and figures, lower-cased."""
        return frozenset(_ANY.findall(self.premise.lower()))

    @cached_property
    def claim_words(self) -> tuple[str, ...]:
        """The claim's words, lower-cased, in order."""
        return tuple(match.group().lower() for match in WORD.finditer(self.claim))

    def says(self, words: Iterable[str]) -> bool:
        """Whether the claim has one of the words."""
        return not set(words).isdisjoint(self.claim_words)

    @property
    def is_negative(self) -> bool:
        """Whether the claim denies or restricts something, so that a narrower claim may follow from it."""
        return self.says(_NEGATIVE) or "n't" in self.claim or "n’t" in self.claim

    def lowered(self) -> str:
        """The claim as it stands inside a sentence: no capital where its first word is no name."""
        text = self.claim.strip()
        first = WORD.match(text)
        if first is not None and "-" in first.group():
            return text
        known = None if self.letters is None else self.letters.lowered(text)
        return known or Decapitalizer([self.premise]).lowered(text) or text

    def having(self, claim: str) -> ClaimGiven:
        """Another claim in the place of this one."""
        return replace(self, claim=claim)

    def ended(self) -> tuple[str, str]:
        """The claim without its final stop, and the stop."""
        text = self.claim.rstrip()
        body = text.rstrip(".")
        return body, text[len(body) :]

    def replaced(self, start: int, end: int, by: str) -> str:
        """The claim with a span replaced."""
        return self.claim[:start] + by + self.claim[end:]

    def one_of(self, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str | None]) -> str | None:
        """The claim with one match of the pattern, drawn among those that `change` takes, replaced."""
        found = list(pattern.finditer(self.claim))
        self.rng.shuffle(found)
        for match in found:
            by = change(match)
            if by is not None and by != match.group():
                return self.replaced(*match.span(), by)
        return None


_NEGATIVE = words("not no never none nobody nothing neither nor without few every all each any if only cannot rarely")
_FINITE = words("""
    is are was were has have had will would can could may might must should does did do said says won made took gave
    went came became began got left lost held told saw met found kept led ran sat stood wrote fell grew knew felt
    brought bought sold sent spent built died beat put set let cut hit
""")


def is_clause(given: ClaimGiven) -> bool:
    """Whether an early word of the claim may be a finite verb."""
    return any(w in _FINITE or w.endswith("ed") or (w.endswith("s") and len(w) > 3) for w in given.claim_words[1:8])


def quotations(text: str) -> list[str]:
    """What stands in quotation marks, in order: an edit must leave it alone."""
    return _QUOTED.findall(text)
