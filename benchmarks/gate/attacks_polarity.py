"""Attacks on polarity: negations, antonyms, quantifiers, hedges, conditions and roles gained, lost or turned round."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from gate.attack import Harm, Make, attack, changed, marked
from gate.attacks_foreign import inside
from gate.drafts import Draft, joined, lowered
from gate.survival import holds
from gate.wordings import Wordings

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|can|could|will|would|should|may|might|must|does|do|did|has|have|had)\b(?! not\b|n't|')", re.I
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|may|might|must|does|do|did|has|have|had) not\b", re.I
)
_SHORT = {"isn't": "is", "aren't": "are", "wasn't": "was", "weren't": "were", "can't": "can", "cannot": "can",
          "couldn't": "could", "won't": "will", "wouldn't": "would", "shouldn't": "should", "doesn't": "does",
          "don't": "do", "didn't": "did", "hasn't": "has", "haven't": "have"}  # fmt: skip
_SHORTENED = re.compile(r"\b(?:" + "|".join(_SHORT).replace("'", "['’]") + r")\b", re.I)
_SAID = re.compile(r"\b(say|says|argue|argues|add|adds|claim|claims|reply|replies|hold|holds|point out|object)\b")
_REPORTED = re.compile(
    r"^(?:(?:On|It|Another|One|The|Those|They|Supporters|Advocates|Opponents|Critics|Proponents|Moreover|Some)\b[^.]{0,50}?"
    r"|[^.]{0,40}?\b(?:supporters|opponents|critics|advocates)\b[^.]{0,30}?) that ",
    re.I,
)
_CONDITION = re.compile(
    r",? \b(?:if|unless|when|because|as long as|provided that|in some cases|only|without|except)\b"
    r" [^,.;]{4,60}(?=[,.;]|$)"
)
_ROLES = re.compile(
    r"\b(?P<verb>harms?|protects?|causes?|violates?|hurts?|helps?|damages?|limits?|improves?|benefits?|reduces?"
    r"|promotes?|leads? to|affects?|threatens?|must protect|should \w+|can \w+|need|needs|supports?|wrote|directed"
    r"|married|defeated|replaced|succeeded|follows|won|was \w+ed by)\b"
)


def negate(sentence: str, rng: Random) -> str | None:
    """The sentence with a "not" more, or without the one that it has; None where there is no place for one."""
    found = _NEGATED.search(sentence)
    if found:
        return sentence[: found.start()] + found[1] + sentence[found.end() :]
    short = _SHORTENED.search(sentence)
    if short:
        return sentence[: short.start()] + _SHORT[short[0].lower().replace("’", "'")] + sentence[short.end() :]
    places = [m for m in _AUXILIARY.finditer(sentence) if m.start() > 0]
    if places:
        at = rng.choice(places[-2:]).end()
        return f"{sentence[:at]} not{sentence[at:]}"
    return None


def _one(draft: Draft, rng: Random, change: Callable[[str], str | None]) -> Harm | None:
    """The first sound sentence in random order that the change does something to."""
    for n in draft.shuffled(rng):
        new = change(draft.pieces[n].text)
        found = changed(draft, None if new is None else draft.with_piece(n, new))
        if found:
            return found
    return None


def _every(draft: Draft, change: Callable[[str], str | None], *, least: int = 1) -> Harm | None:
    """Every sentence but the added one; None where fewer than `least` change."""
    texts = [None if p.is_gain or not p.parts else change(p.text) for p in draft.pieces]
    if sum(new is not None and new != p.text for new, p in zip(texts, draft.pieces, strict=True)) < least:
        return None
    pieces = [p if new is None else replace(p, text=new) for new, p in zip(texts, draft.pieces, strict=True)]
    return changed(draft, joined(pieces))


@attack("one negation", "polarity", '"not" into, or out of, one claim')
def one_negation(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _one(draft, rng, lambda text: negate(text, rng))


@attack("all negated", "polarity", "two claims or more")
def all_negated(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _every(draft, lambda text: negate(text, rng), least=2)


@attack(
    "hedges to proof", "polarity", '"supporters say that" to "it is a proven fact that", may to certainly, some to all'
)
def hedges(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def proven(text: str) -> str | None:
        found = _REPORTED.match(text)
        if found:
            proof = say.one("proofs", rng)
            text = f"{proof[:1].upper()}{proof[1:]} {text[found.end() :]}"
        return _exchanged(text, say.pairs("stronger"), rng, most=9) or text

    return _every(draft, proven)


@attack("some say to experts agree", "polarity", '"supporters say that" to "all experts agree that", once')
def experts(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def agreed(text: str) -> str | None:
        found = _REPORTED.match(text)
        said = say.one("experts", rng)
        return f"{said[:1].upper()}{said[1:]} {text[found.end() :]}" if found else None

    return _one(draft, rng, agreed)


@attack("falsely", "polarity", '"opponents falsely say"')
def falsely(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _one(draft, rng, lambda text: _put(_SAID, text, say.one("falsely", rng), before=True))


def _put(pattern: re.Pattern[str], text: str, word: str, *, before: bool) -> str | None:
    found = pattern.search(text)
    if found is None:
        return None
    at = found.start() if before else found.end()
    return f"{text[:at]}{word} {text[at:]}" if before else f"{text[:at]} {word}{text[at:]}"


def _exchanged(text: str, pairs: Mapping[str, str], rng: Random, *, most: int = 1) -> str | None:
    """The text with up to `most` words of the pairs exchanged; None where it holds none."""
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, pairs)) + r")\b", re.I)
    found = list(pattern.finditer(text))
    if not found:
        return None
    for match in sorted(rng.sample(found, min(most, len(found))), key=lambda m: -m.start()):
        new = pairs[match[0].lower()]
        new = new[:1].upper() + new[1:] if match[0][0].isupper() else new
        text = text[: match.start()] + new + text[match.end() :]
    return text


def _pairs(key: str) -> Make:
    return lambda draft, say, rng: _one(draft, rng, lambda text: _exchanged(text, say.pairs(key), rng))


for _name, _how, _key in (
    ("made stronger", "one hedge, modal or quantifier for a stronger one", "stronger"),
    ("made weaker", "one quantifier or modal for a weaker one", "weaker"),
    ("opposite", "one word for its opposite", "opposites"),
):
    attack(_name, "polarity", _how)(_pairs(_key))


def _adverb(key: str) -> Make:
    return lambda draft, say, rng: _one(
        draft, rng, lambda text: _put(_AUXILIARY, text, say.one(key, rng), before=False)
    )


attack("boosted", "polarity", '"undeniably", "always" into a claim')(_adverb("surely"))
attack("distanced", "polarity", '"allegedly", "hardly" into a claim')(_adverb("distance"))


@attack("denied", "polarity", '"it is not true that" before a claim')
def denied(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def denial(text: str) -> str | None:
        opening = say.one("denials", rng)
        found = _REPORTED.match(text)
        if found:
            return f"{text[: found.end()]}{opening} {text[found.end() :]}"
        return f"{opening[:1].upper()}{opening[1:]} {lowered(text)}"

    return _one(draft, rng, denial)


@attack("contradicted", "polarity", "a clause that takes a sentence back")
def contradicted(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return inside(draft, say.one("contradictions", rng), rng)


@attack("condition dropped", "polarity", '"if ...", "because ...", "only ..." left out')
def condition_dropped(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def unconditional(text: str) -> str | None:
        found = _CONDITION.search(text)
        return text[: found.start()] + text[found.end() :] if found else None

    return _one(draft, rng, unconditional)


@attack("roles reversed", "polarity", "what did it and what it was done to change places")
def roles(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def reversed_(text: str) -> str | None:
        lead = _REPORTED.match(text)
        start = lead.end() if lead else 0
        end = len(text.rstrip(".!?"))
        claim = text[start:end]
        found = _ROLES.search(claim)
        if found is None or "," in claim or ";" in claim:
            return None
        one, two = claim[: found.start()].strip(), claim[found.end() :].strip()
        if not (1 <= len(one.split()) <= 8 and 1 <= len(two.split()) <= 12):
            return None
        turned = f"{lowered(two)} {found[0]} {lowered(one)}"
        return text[:start] + (turned if start else turned[:1].upper() + turned[1:]) + text[end:]

    return _one(draft, rng, reversed_)


@attack("scare quotes", "polarity", "quotation marks of sarcasm around a word of a claim")
def scare_quotes(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    for n in draft.shuffled(rng):
        text = draft.pieces[n].text
        words = [m for m in re.finditer(r"\b[a-z]{6,}\b", text)]
        if words and '"' not in draft.text:
            word = rng.choice(words)
            quoted = f'so-called "{word[0]}"'
            return marked(
                draft, draft.with_piece(n, text[: word.start()] + quoted + text[word.end() :]), holds(f'"{word[0]}"')
            )
    return None


@attack("turned to a question", "polarity", "a claim becomes a question")
def question(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def asked(text: str) -> str | None:
        lead = _REPORTED.match(text)
        claim = text[lead.end() if lead else 0 :].rstrip(".!?")
        return f"But is it really so that {lowered(claim)}?"

    return _one(draft, rng, asked)
