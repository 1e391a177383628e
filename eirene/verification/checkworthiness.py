"""Check-worthiness: whether a sentence claims something that given texts could carry or contradict.

A greeting, an offer, advice to ask a doctor, an opinion marked as one or "The price is not named." claims nothing of
the kind. What such sentences are made of no list holds: a logistic regression reads the encoder's vector of a sentence,
its words, and its form. It is fitted on labelled sentences of people's and models' answers
(`benchmarks/fit_checkworthiness.py`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

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
    found: dict[str, Any] = json.loads(FIT.read_text(encoding="utf-8"))
    return Fit(
        encoder=found["encoder"],
        bias=found["bias"],
        form=tuple(found["form"]),
        words=found["words"],
        vector=np.array(found["vector"], np.float64),
    )
