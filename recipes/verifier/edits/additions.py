"""Edits that add to a claim: a clause or a phrase of another row, which the premise says nothing of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from recipes.verifier.edits.given import WORD, ClaimGiven, is_clause, words

_FEW, _MANY = 4, 14
"""Words of a clause that is joined on."""
_PRONOUN = words("""
    it he she they this that these those there we you i his her its their
""")
_PHRASE = re.compile(
    r"(?<=\w) (?P<phrase>(?:in|at|near|with|for|because of|during|despite|after|by|on behalf of|thanks to) "
    r"(?:the |a |an |his |her |their )?[\w'’-]+(?: [\w'’-]+){0,2})(?=\.?$)"
)
_JOINED = (" and ", ", and ", " because ", ", while ", ", although ", ", which is why ", " so that ", " since ")
_PLAIN = words("""
    there their people person woman women outside something someone being with group young
""")
_NEW = 0.5
"""Least share of the longer words of what is added that the premise must not hold."""


def clause_of(claim: str) -> str | None:
    """A claim as a clause that can be joined on to another one; None where it is no short, plain statement."""
    text = claim.strip().rstrip(".")
    words = [m.group() for m in WORD.finditer(text)]
    if not _FEW <= len(words) <= _MANY or words[0].lower() in _PRONOUN or any(c in text for c in '.?!:;"“'):
        return None
    return text if text[:1].isupper() else None


def phrase_of(claim: str) -> str | None:
    """The phrase with a preposition that ends a claim."""
    match = _PHRASE.search(claim.strip())
    return match.group("phrase") if match else None


class Additions:
    """Clauses and phrases of a set of claims, by the source that they are from; an addition looks like the claim."""

    def __init__(self, claims: Mapping[str, Sequence[str]]) -> None:
        self._clauses = {s: [c for claim in texts if (c := clause_of(claim))] for s, texts in claims.items()}
        self._phrases = {s: [p for claim in texts if (p := phrase_of(claim))] for s, texts in claims.items()}

    def clause(self, given: ClaimGiven, source: str) -> str | None:
        """The claim with a clause of another row's claim joined on."""
        return self._joined(given, self._clauses.get(source, []), joints=_JOINED)

    def phrase(self, given: ClaimGiven, source: str) -> str | None:
        """The claim with a phrase of another row's claim at its end."""
        return None if given.is_negative else self._joined(given, self._phrases.get(source, []), joints=(" ",))

    @staticmethod
    def _joined(given: ClaimGiven, choices: Sequence[str], joints: Sequence[str]) -> str | None:
        body, stop = given.ended()
        if (
            not choices
            or body[-1:] in "?!:"
            or not is_clause(given)
            or len(given.claim_words) > 40
            or len(given.claim_words) < 3
        ):
            return None
        for _ in range(5):
            added = given.rng.choice(choices)
            if is_new(added, given):
                joint = given.rng.choice(joints)
                return body + joint + (joined(added, given) if len(joints) > 1 else added) + stop
        return None


def is_new(added: str, given: ClaimGiven) -> bool:
    """Whether most of what is added stands neither in the premise nor in the claim."""
    long = {m.group().lower() for m in WORD.finditer(added) if len(m.group()) > 3}
    known = given.words | set(given.claim_words)
    told = len(long - known - _PLAIN)
    return told >= _NEW * len(long) and told >= (1 if len(added.split()) < _FEW + 1 else 2)


def joined(clause: str, given: ClaimGiven) -> str:
    """The clause as it stands after a joint."""
    return given.having(clause).lowered()


def both(given: ClaimGiven, others: Sequence[str]) -> str | None:
    """The claim and another one that the same premise supports: what is added need not be false."""
    clauses = [c for other in others if (c := clause_of(other)) and other != given.claim]
    body, stop = given.ended()
    if not clauses or body[-1:] in "?!:" or len(given.claim_words) > 40:
        return None
    return body + given.rng.choice((" and ", ", and ")) + joined(given.rng.choice(clauses), given) + stop
