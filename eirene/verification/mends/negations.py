"""Negation proposals: a "not" taken out of a sentence or put into it, with the verb in its form."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eirene.text.english import is_third_person, looks_like_base
from eirene.text.words import stem
from eirene.verification.mends.proposal import Proposal

_PLAIN = r"is|are|was|were|has|have|had|can|could|will|would|should|may|might|must"
_NOT = re.compile(rf"\b({_PLAIN})(?:\s+not\b|n['’]t\b)", re.IGNORECASE)
_CANNOT = re.compile(r"\b(ca|wo)n['’]t\b|\bcannot\b", re.IGNORECASE)
_CONTRACTED = {"ca": "can", "wo": "will"}
_NEVER = re.compile(r"\b(?:never|not)[ \t]+", re.IGNORECASE)
_DO_NOT = re.compile(r"\b(do|does|did)(?:\s+not|n['’]t)\s+([^\W\d_]{2,30})\b", re.IGNORECASE)
_PLAIN_VERB = re.compile(rf"\b(?:{_PLAIN}|do|does|did)\b(?!\s+(?:not|never|no|only|also)\b)", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?:[^\W\d_]{2,14},\s)?(?:it|they|he|she|this|these|that|those|there|i|we|you|the\s(?:passages?|texts?|contexts?))\b",
    re.IGNORECASE,
)
_HANGS_ON_IT = re.compile(
    r"\b(?:any|anyone|anything|either|yet|ever|at\sall|anymore|but|only|until|nor|neither)\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+")
_MOST = 3
"""Places of a sentence where a "not" is tried."""


def negation_proposals(sentence: str, given: str) -> Iterator[Proposal]:
    """What a sentence says without its negation; where it has none, with one.

    None where the subject is a pronoun, which stands for something elsewhere, or where words hang on the negation.
    """
    if _PRONOUN.match(sentence) or _HANGS_ON_IT.search(sentence):
        return
    without = list(_without(sentence, given))
    yield from without or _with(sentence, given)


def _without(sentence: str, given: str) -> Iterator[Proposal]:
    for match in _DO_NOT.finditer(sentence):
        form = _form(match.group(1).lower(), match.group(2), given)
        if form:
            yield Proposal(match.start(), match.end(), form, "relation")
    for match in _CANNOT.finditer(sentence):
        yield Proposal(match.start(), match.end(), _CONTRACTED.get((match.group(1) or "").lower(), "can"), "relation")
    taken = []
    for match in _NOT.finditer(sentence):
        taken.append(match.span())
        yield Proposal(match.end(1), match.end(), "", "relation")
    for match in _NEVER.finditer(sentence):
        if not any(start <= match.start() < end for start, end in taken) and match.group().lower().startswith("never"):
            yield Proposal(match.start(), match.end(), "", "relation")


def _form(auxiliary: str, verb: str, given: str) -> str | None:
    """The verb as it stands without "do not": as the given sentence has it, or by rule but for the past."""
    if auxiliary == "do":
        return verb
    wanted = stem(verb.lower())
    found = [w for w in _WORD.findall(given) if stem(w.lower()) == wanted and w.lower() != verb.lower()]
    if auxiliary == "does":
        ended = [w for w in found if is_third_person(w.lower())]
        return ended[0] if ended else _third_person(verb)
    past = [w for w in found if w.endswith("ed")]
    return past[0] if past else None


def _third_person(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2:-1] not in ("a", "e", "i", "o", "u"):
        return verb[:-1] + "ies"
    return verb + "s"


def _with(sentence: str, given: str) -> Iterator[Proposal]:
    for n, match in enumerate(_PLAIN_VERB.finditer(sentence)):
        if n == _MOST:
            return
        is_can = match.group().lower() == "can"
        yield Proposal(match.end(), match.end(), "not" if is_can else " not", "relation")
    for match in _DO_NOT.finditer(given):
        verb, wanted = match.group(2), stem(match.group(2).lower())
        for own in _WORD.finditer(sentence):
            if stem(own.group()) == wanted and (looks_like_base(verb) or own.group() != verb):
                yield Proposal(own.start(), own.end(), f"{match.group(1).lower()} not {verb}", "relation")
