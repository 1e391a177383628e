"""Claims: which sentences of an answer say something that a given text could carry or contradict.

A greeting, an offer, advice to ask a doctor, an opinion marked as one or "The price is not named." claims nothing of
the kind. What such sentences are made of no list holds: beside rules of form (`claims_nothing`), check-worthiness is a
logistic regression that reads the encoder's vector of a sentence, its words, and its form. It is fitted on labelled
sentences of people's and models' answers (`recipes/checkworthiness`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import read_json
from eirene.text.discourse import is_filler
from eirene.text.form import is_form
from eirene.text.sentences import without_list_markers
from eirene.text.words import stems

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_LEAST = 2
"""Content words of a claim."""
NO_CLAIM = 0.5
"""Chance of claiming nothing above which a sentence is not checked."""
MAY_BE_TALK = 0.12
"""Chance of claiming nothing above which a sentence is not faulted for what the texts do not hold, nor taken out."""
_NEAR = 1.0
"""Nearness (`ContextReader.nearness`) from which passages say what sounds like talk ("You may keep your number")."""
LEADS_IN = "leads in what follows"
_TALK = "claims nothing that passages could hold"
_SIGNATURE = "signs the answer"
_SIGNED = re.compile(r"[^\W\d_][\w'’-]*")
_IN_NAMES = frozenset(["and", "at", "de", "der", "for", "from", "in", "of", "the", "van", "von", "your"])
_LONGEST_NAME = 8
"""Words of a line that may sign an answer."""
_OF_THE_DISCUSSION = "speaks of the discussion, and claims nothing of its matter"
_QUESTION = re.compile(r"[?？][\"'”’)\]*_]*\s*\Z")
_LEADS_IN = re.compile(r"[:：][\"'”’)\]*_]*\s*\Z")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*\Z|__[^_]{1,80}__:?\s*\Z)")
_LINK = re.compile(r"\s*(?:<?(?:https?://|www\.)\S+|!?\[[^\]\n]{1,200}\]\(\S+\))\s*\Z")
_TABLE = re.compile(r"\s*\|")
_SOURCE = (
    r"(?:passages?|contexts?|texts?|documents?|sources?|articles?|information|excerpts?|paragraphs?|data|snippets?)"
)
_GIVEN = r"(?:given\s+|provided\s+|above\s+|structured\s+|retrieved\s+){0,2}"
_NUMBERS = r"\d{1,3}(?:\s*(?:,|and|&|-|–)\s*\d{1,3}){0,4}"
_WINDOW = 400
"""Characters at either end of a sentence that are looked at for what it is in form."""
_OPENING = re.compile(
    rf"\A\s*(?:based\s+on|according\s+to|as\s+(?:stated|mentioned|described|per)(?:\s+in)?|from|in)\s+(?:the\s+)?{_GIVEN}"
    rf"{_SOURCE}(?:\s+(?:provided|given|above|{_NUMBERS}))?\s*,\s*"
    rf"|\A\s*(?:the\s+{_GIVEN}{_SOURCE}|passages?\s+{_NUMBERS})\s+(?:also\s+)?"
    r"(?:states?|says?|suggests?|mentions?|notes?|indicates?|explains?|reports?)\s+that\s+",
    re.IGNORECASE,
)
_CITED = re.compile(
    r" ?[(\[] ?(?:(?:as )?(?:stated|mentioned|described|suggested|see|from|according to) )?(?:in )?(?:the )? ?"
    rf"{_SOURCE} {_NUMBERS} ?[)\]]",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\A\s*(?:[-*•‣▪]\s+|\(?(?:\d{1,3}|[a-z])[.)]\s+|step\s+\d{1,3}\s*[:.]\s*)", re.IGNORECASE)


def claims_nothing(sentence: str) -> str | None:
    """Why a sentence claims nothing by its form: a question, a heading, a lead-in; None where only reading can tell."""
    text = sentence.strip()
    head, tail = text[:_WINDOW], text[-_WINDOW:]
    found = (
        (is_form(text), "structured text"),
        (_QUESTION.search(tail), "a question"),
        (_HEADING.match(head), "a heading"),
        (_LEADS_IN.search(tail), LEADS_IN),
        (_TABLE.match(head), "a table row"),
        (_LINK.match(text), "a link"),
        (len(set(stems(_CITED.sub("", text)))) < _LEAST, "too short to claim anything"),
    )
    return next((why for is_so, why in found if is_so), None)


def not_checked(
    sentences: Sequence[str], encoder: Encodes, nearness: Callable[[str], float] | None = None
) -> list[str | None]:
    """Why each sentence is not to be checked against passages; None for a claim.

    By its form, as in `claims_nothing`, by words of a discussion alone, or as talk: greetings, offers, advice to ask
    somebody, what is not known, opinions marked as such (`eirene.verification.claims`). `nearness` (of a claim to what
    is given): what is near is no talk, since the passages say it, or otherwise.
    """
    found = [claims_nothing(text) or (_OF_THE_DISCUSSION if is_filler(text) else None) for text in sentences]
    open_ = [n for n, why in enumerate(found) if why is None]
    chances = talk_chances([claim_of(sentences[n]) for n in open_], encoder)
    for n, chance in zip(open_, chances, strict=True):
        if chance > NO_CLAIM and nearness is not None and nearness(claim_of(sentences[n])) >= _NEAR:
            continue
        if chance > NO_CLAIM or (n and _signs(sentences[n], sentences[n - 1], found[n - 1])):
            found[n] = _TALK if chance > NO_CLAIM else _SIGNATURE
    return found


def _signs(sentence: str, before: str, why_before: str | None) -> bool:
    """Whether a sentence is a name alone, after a closing ("Kind regards,") or after such a name."""
    is_after = why_before == _SIGNATURE or (why_before is not None and before.rstrip().endswith(","))
    words = _SIGNED.findall(sentence)
    return is_after and len(words) <= _LONGEST_NAME and all(w[0].isupper() or w in _IN_NAMES for w in words)


def claim_of(sentence: str) -> str:
    """What is compared with the passages: the sentence without list marker, emphasis, "(Passage 2)" and openings such
    as "Based on the passages," and "Passage 2 states that"."""
    text = _CITED.sub("", sentence.replace("**", "").replace("__", ""))
    text = _MARKER.sub("", without_list_markers(text), count=1)
    text = _OPENING.sub("", text, count=1).strip()
    return text[:1].upper() + text[1:] if text else sentence.strip()


FIT = Path(__file__).parent / "checkworthiness.json"
"""The shipped fit."""
VECTOR_SCALE = 3.0
"""The vector has length 1; scaled so, it weighs as much as the words."""
_READ = 400
"""Characters of a sentence whose words are read."""
_LONG = 20
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[!?,.:]")
_NOT = re.compile(r"n't\b")
_CANNOT = re.compile(r"\bcan ?not\b")
_NAME = re.compile(r"[^\W\d_][\w'-]*")


@dataclass(frozen=True)
class Fit:
    """The weights of the regression, and the digest of the encoder whose vectors `vector` is for."""

    encoder: str
    bias: float
    form: tuple[float, ...]
    words: Mapping[str, float]
    vector: NDArray[np.float64]


def talk_chances(sentences: Sequence[str], encoder: Encodes) -> NDArray[np.float64]:
    """The chance in [0, 1] that each sentence claims nothing that could be checked.

    Sentences as `claim_of` gives them. 0 with another encoder than the one that the fit was made with.
    """
    fit = _shipped()
    if not sentences or encoder.digest != fit.encoder:
        return np.zeros(len(sentences))
    odds = VECTOR_SCALE * (encoder.encode(sentences).astype(np.float64) @ fit.vector) + fit.bias
    for n, sentence in enumerate(sentences):
        odds[n] += sum(fit.words.get(word, 0.0) for word in sorted(words_of(sentence)))
        odds[n] += sum(weight * value for weight, value in zip(fit.form, form_of(sentence), strict=True))
    return np.array([1.0 / (1.0 + math.exp(-value)) for value in odds])


def words_of(sentence: str) -> set[str]:
    """The words and marks of a sentence, each two in a row, and those that it begins with (after "^")."""
    text = _CANNOT.sub("can not", _NOT.sub(" not", sentence[:_READ].lower().replace("’", "'")))
    words = ["#" if word.isdigit() else word for word in _WORD.findall(text)]
    pairs = {f"{a} {b}" for a, b in pairwise(words)}
    return {*words, *pairs, *({f"^{words[0]}", f"^{' '.join(words[:2])}"} if words else ())}


def form_of(sentence: str) -> tuple[float, ...]:
    """Its length in words, whether it has a digit, its share of capitals, whether it ends in "!", in ","."""
    names = _NAME.findall(sentence[:_READ].replace("’", "'"))[1:]
    capitals = sum(name[0].isupper() and name not in ("I", "I'm", "I'd") for name in names)
    end = sentence.rstrip()[-1:]
    length = min(len(sentence[: 10 * _READ].split()), 2 * _LONG) / _LONG
    has_digit = any(c.isdigit() for c in sentence[:_READ])
    return (length, float(has_digit), capitals / max(1, len(names)), float(end == "!"), float(end == ","))


@cache
def _shipped() -> Fit:
    found: dict[str, Any] = read_json("eirene.verification", FIT.name)
    return Fit(
        encoder=found["encoder"],
        bias=found["bias"],
        form=tuple(found["form"]),
        words=found["words"],
        vector=np.array(found["vector"], np.float64),
    )
