"""Attacks on polarity: negations, antonyms, quantifiers, hedges, conditions and roles gained, lost or turned round."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from gate.attack import Change, Harm, Make, attack, attacks, changed, inside, marked, one_sentence
from gate.drafts import Draft, joined, lowered, raised
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


def negate(text: str, say: Wordings, rng: Random) -> str | None:
    """The sentence with a "not" more, or without the one that it has; None where there is no place for one."""
    found = _NEGATED.search(text)
    if found:
        return text[: found.start()] + found[1] + text[found.end() :]
    short = _SHORTENED.search(text)
    if short:
        return text[: short.start()] + _SHORT[short[0].lower().replace("’", "'")] + text[short.end() :]
    places = [m for m in _AUXILIARY.finditer(text) if m.start() > 0]
    if places:
        at = rng.choice(places[-2:]).end()
        return f"{text[:at]} not{text[at:]}"
    return None


def every_sentence(change: Change, *, least: int = 1) -> Make:
    """Every sentence but the added one; no harm where fewer than `least` change."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        texts = [None if p.is_gain or not p.parts else change(p.text, say, rng) for p in draft.pieces]
        if sum(new is not None and new != p.text for new, p in zip(texts, draft.pieces, strict=True)) < least:
            return None
        pieces = [p if new is None else replace(p, text=new) for new, p in zip(texts, draft.pieces, strict=True)]
        return changed(draft, joined(pieces))

    return make


def exchanged(key: str, *, most: int = 1) -> Change:
    """Up to `most` words of the pairs of this key; None where there is none."""

    def change(text: str, say: Wordings, rng: Random) -> str | None:
        pairs = say.pairs(key)
        found = list(re.finditer(r"\b(?:" + "|".join(map(re.escape, pairs)) + r")\b", text, re.I))
        if not found:
            return None
        for match in sorted(rng.sample(found, min(most, len(found))), key=lambda m: -m.start()):
            new = pairs[match[0].lower()]
            new = raised(new) if match[0][0].isupper() else new
            text = text[: match.start()] + new + text[match.end() :]
        return text

    return change


def reported_as(key: str) -> Change:
    """Another opening in place of "supporters say that"; None where there is none."""

    def change(text: str, say: Wordings, rng: Random) -> str | None:
        found, said = _REPORTED.match(text), say.one(key, rng)
        return f"{raised(said)} {text[found.end() :]}" if found else None

    return change


def proven(text: str, say: Wordings, rng: Random) -> str:
    text = (reported_as("proofs")(text, say, rng) if _REPORTED.match(text) else None) or text
    return exchanged("stronger", most=9)(text, say, rng) or text


def adverb(key: str) -> Change:
    """A word after the first auxiliary."""

    def change(text: str, say: Wordings, rng: Random) -> str | None:
        found, word = _AUXILIARY.search(text), say.one(key, rng)
        return f"{text[: found.end()]} {word}{text[found.end() :]}" if found else None

    return change


def falsely(text: str, say: Wordings, rng: Random) -> str | None:
    found, word = _SAID.search(text), say.one("falsely", rng)
    return f"{text[: found.start()]}{word} {text[found.start() :]}" if found else None


def denied(text: str, say: Wordings, rng: Random) -> str:
    opening, found = say.one("denials", rng), _REPORTED.match(text)
    if found:
        return f"{text[: found.end()]}{opening} {text[found.end() :]}"
    return f"{raised(opening)} {lowered(text)}"


def unconditional(text: str, say: Wordings, rng: Random) -> str | None:
    found = _CONDITION.search(text)
    return text[: found.start()] + text[found.end() :] if found else None


def roles_reversed(text: str, say: Wordings, rng: Random) -> str | None:
    lead = _REPORTED.match(text)
    start, end = lead.end() if lead else 0, len(text.rstrip(".!?"))
    claim = text[start:end]
    found = _ROLES.search(claim)
    if found is None or "," in claim or ";" in claim:
        return None
    one, two = claim[: found.start()].strip(), claim[found.end() :].strip()
    if not (1 <= len(one.split()) <= 8 and 1 <= len(two.split()) <= 12):
        return None
    turned = f"{lowered(two)} {found[0]} {lowered(one)}"
    return text[:start] + (turned if start else raised(turned)) + text[end:]


def asked(text: str, say: Wordings, rng: Random) -> str:
    lead = _REPORTED.match(text)
    return f"But is it really so that {lowered(text[lead.end() if lead else 0 :].rstrip('.!?'))}?"


attacks("polarity", {
    "one negation": ('"not" into, or out of, one claim', one_sentence(negate)),
    "all negated": ("two claims or more", every_sentence(negate, least=2)),
    "hedges to proof": ('"supporters say that" to "it is a proven fact that", may to certainly, some to all',
                        every_sentence(proven)),
    "some say to experts agree": ('"supporters say that" to "all experts agree that", once',
                                  one_sentence(reported_as("experts"))),
    "falsely": ('"opponents falsely say"', one_sentence(falsely)),
    "made stronger": ("one hedge, modal or quantifier for a stronger one", one_sentence(exchanged("stronger"))),
    "made weaker": ("one quantifier or modal for a weaker one", one_sentence(exchanged("weaker"))),
    "opposite": ("one word for its opposite", one_sentence(exchanged("opposites"))),
    "boosted": ('"undeniably", "always" into a claim', one_sentence(adverb("surely"))),
    "distanced": ('"allegedly", "hardly" into a claim', one_sentence(adverb("distance"))),
    "denied": ('"it is not true that" before a claim', one_sentence(denied)),
    "contradicted": ("a clause that takes a sentence back", inside("contradictions")),
    "condition dropped": ('"if ...", "because ...", "only ..." left out', one_sentence(unconditional)),
    "roles reversed": ("what did it and what it was done to change places", one_sentence(roles_reversed)),
    "turned to a question": ("a claim becomes a question", one_sentence(asked)),
})  # fmt: skip


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
