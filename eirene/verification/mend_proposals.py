"""Proposals of mends: a few words of a sentence and what could stand in their place, by form alone.

Values (numbers, dates, names), opposites, a "not" taken out or put in with the verb in its form; no other words, which
may say the same. A proposal judges nothing: `eirene.verification.mends` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.text.english import is_third_person, looks_like_base, third_person
from eirene.text.polarity.antonyms import are_opposites, listed_opposites
from eirene.text.specifics.index import find_specifics, keys_of
from eirene.text.values.mention import Mention
from eirene.text.values.notation import written_like
from eirene.text.words import stem

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


_VALUES = ("number", "date", "name")
_POSSESSIVE = ("'s", "’s")


def value_proposals(sentence: str, given: str) -> Iterator[Proposal]:
    """Values of `given` that the sentence has not, each in the place of one of the sentence's that `given` has not.

    A number that stands more often in `given` may be meant once more; a name that the sentence has is not said again.
    """
    own, theirs = find_specifics(sentence), find_specifics(given)
    known = keys_of(given, theirs)
    new = [m for m in theirs if m.kind in _VALUES and _times(m, own) < (1 if m.kind == "name" else _times(m, theirs))]
    for old in own:
        if old.kind not in _VALUES or old.stands_in(known) or (old.is_weak and old.kind == "name"):
            continue
        for other in new:
            yield from _in_place(sentence, old, given, other)


def _times(value: Mention, mentions: Sequence[Mention]) -> int:
    """How often a value is among some."""
    return sum(value.is_same(other) for other in mentions if other.kind == value.kind)


def _in_place(sentence: str, old: Mention, given: str, new: Mention) -> Iterator[Proposal]:
    here, there = sentence[old.start : old.end], given[new.start : new.end]
    if old.kind == "name":
        if new.kind == "name" and not new.is_weak:
            here, there = _bare_name(here), _bare_name(there)
            yield Proposal(old.start, old.start + len(here), there, "entity")
        return
    if new.kind == "name" or (old.bound in ("over", "under") and new.bound != old.bound):
        return
    text = written_like(here, old, there, new)
    if text and text != here:
        yield Proposal(old.start, old.end, text, "entity")


def _bare_name(text: str) -> str:
    return text[:-2] if text.endswith(_POSSESSIVE) else text


_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_MOST_WORDS = 120
_ENDINGS = ("ing", "ed", "est", "er", "ly", "s")


def opposite_proposals(sentence: str, given: str) -> Iterator[Proposal]:
    """Opposites of the sentence's words that `given` has."""
    own, theirs = _words(sentence), _words(given)
    known = {stem(word) for word, _, _ in theirs}
    for word, start, end in own:
        for new in _opposites(word, known, theirs):
            yield Proposal(start, end, _cased(new, sentence[start:end]), "relation")


def _words(text: str) -> list[tuple[str, int, int]]:
    found = [(m.group().lower(), m.start(), m.end()) for m in _HYPHENATED.finditer(text)]
    return found[:_MOST_WORDS]


def _opposites(word: str, known: set[str], theirs: Sequence[tuple[str, int, int]]) -> list[str]:
    """Given opposites that fit in form; none for a word that the given sentence has."""
    if stem(word) in known:
        return []
    listed = listed_opposites(word)
    forms = (w for w, _, _ in theirs if w in listed or are_opposites(word, w))
    return list(
        dict.fromkeys(w for w in forms if w in listed or all(word.endswith(e) == w.endswith(e) for e in _ENDINGS))
    )


def _cased(new: str, old: str) -> str:
    return new.capitalize() if old[:1].isupper() and old[1:].islower() else new


_PLAIN = r"is|are|was|were|has|have|had|can|could|will|would|should|may|might|must"
_NOT = re.compile(rf"\b({_PLAIN})(?:\s+not\b|n['’]t\b)", re.IGNORECASE)
_CANNOT = re.compile(r"\b(ca|wo)n['’]t\b|\bcannot\b", re.IGNORECASE)
_CONTRACTED = {"ca": "can", "wo": "will"}
_NEVER = re.compile(r"\b(?:never|not)[ \t]+", re.IGNORECASE)
_DO_NOT = re.compile(r"\b(do|does|did)(?:\s+not|n['’]t)\s+([^\W\d_]{2,30})\b", re.IGNORECASE)
_HELPED = re.compile(r"\bd(?:o|oes|id)\s+\Z", re.IGNORECASE)
_PLAIN_VERB = re.compile(rf"\b(?:{_PLAIN}|do|does|did)\b(?!\s+(?:not|never|no|only|also)\b)", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?:[^\W\d_]{2,14},\s)?(?:it|they|he|she|this|these|that|those|there|i|we|you|the\s(?:passages?|texts?|contexts?))\b",
    re.IGNORECASE,
)
_HANGS_ON_IT = re.compile(
    r"\b(?:any|anyone|anything|either|yet|ever|at\sall|anymore|but|only|until|nor|neither)\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+")
_MOST_PLACES = 3
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
        return ended[0] if ended else third_person(verb)
    past = [w for w in found if w.endswith("ed")]
    return past[0] if past else None


def _with(sentence: str, given: str) -> Iterator[Proposal]:
    for n, match in enumerate(_PLAIN_VERB.finditer(sentence)):
        if n == _MOST_PLACES:
            return
        joint = "" if match.group().lower() == "can" else " "
        yield Proposal(match.start(), match.end(), f"{match.group()}{joint}not", "relation")
    for match in _DO_NOT.finditer(given):
        verb, wanted = match.group(2), stem(match.group(2).lower())
        for own in _WORD.finditer(sentence):
            is_helped = _HELPED.search(sentence, 0, own.start())  # "does carry"
            if stem(own.group()) == wanted and not is_helped and (looks_like_base(verb) or own.group() != verb):
                yield Proposal(own.start(), own.end(), f"{match.group(1).lower()} not {verb}", "relation")
