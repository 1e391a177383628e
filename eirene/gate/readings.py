"""Readings: what two answers to a question differ in, measured against passages, as numbers; none of them decides.

A sentence that both texts have says nothing about which of them is better, so most readings look at the others alone: a
long answer is compared as surely as a short one. Each is a difference of the same measure of the two texts, so that
exchanging the texts turns its sign.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import SpecificsIndex, specifics_index
from eirene.text.words import lower_words
from eirene.verification.claims import claim_of, not_checked
from eirene.verification.context import ClaimReading, ContextReader

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

PASSAGE_READINGS = (
    "words held",
    "support",
    "contradiction",
    "values not given",
    "words held in all",
    "passages said",
    "to the question",
    "answer said",
    "said again",
    "alike sentences",
    "length",
)
"""The names, in the order of the numbers.

*words held*: the share of the words that the passages have, and their number *in all*. *support*, *contradiction*: the
verifier's. *values not given*: numbers, dates, names, quotations that neither passages nor question have. *passages
said*: how much of what bears on the question in the passages the text says. *to the question*: how near the sentence is
that is nearest to it; *answer said*: the same among those with a date, number or name, where the question asks for one.
*said again*: the share of three words in a row that the text had already. *alike sentences*: those that mean what
another one means. *length*: the logarithm of the number of words.
"""
_PRIOR = 5.0
"""Words of an ordinary sentence that each text is given besides: a share of two words is no share of twenty."""
_ORDINARY = {"words": 0.8, "supported": 0.5, "contradicted": 0.1}
_NOT = re.compile(r"\s(?:not|never)\b|(?<=\bcan)not\b|n['’]t\b", re.IGNORECASE)
_SAID = 0.75
"""Cosine from which a sentence of a passage counts as said."""
_ALIKE = 0.88
"""Cosine from which two sentences of a text mean the same."""
_NEAR = 8.0
"""How much more a sentence of a passage counts that is nearer to the question: an exponent, times the cosine."""
_ASKED = (
    (re.compile(r"\b(?:when|what (?:year|date|day|month))\b", re.IGNORECASE), frozenset({"date", "number"})),
    (re.compile(r"\bhow (?:many|much|long|old|far|tall|big|often)\b", re.IGNORECASE), frozenset({"number", "date"})),
    (re.compile(r"\b(?:who|whose|whom|where|which|what)\b", re.IGNORECASE), frozenset({"name"})),
)
"""What questions ask for: the kinds of specifics of which an answer has one."""
MOST_SENTENCES = 400
"""Sentences that two texts may differ in; past them nothing is read."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """What is known of one sentence. Shares and probabilities in [0, 1]; `claim` is None where it claims nothing."""

    words: int
    held: float
    unknown: int
    claim: ClaimReading | None


class PassageReadings:
    """Reads answers to one question against its passages; each sentence is read once."""

    def __init__(self, question: str, passages: Sequence[str], verifier: ReadsPairs) -> None:
        self.question = question
        self.reader = ContextReader(verifier, passages)
        self._known: dict[str, SentenceReading] = {}
        self._differences: dict[tuple[str, str], tuple[NDArray[np.float64], float]] = {}

    def differences(self, before: str, after: str) -> tuple[NDArray[np.float64], float]:
        """The readings of `after` minus those of `before`, in the order of `PASSAGE_READINGS`, and how narrow the
        change is: 1 divided by the sentences of one text, or of the other if they are more, that the other has not.

        Raises `ValueError` where the texts differ in more than `MOST_SENTENCES` sentences.
        """
        if (before, after) not in self._differences:
            self._differences[before, after] = self._compared(before, after)
        return self._differences[before, after]

    def _compared(self, before: str, after: str) -> tuple[NDArray[np.float64], float]:
        old, new = _sentences(before), _sentences(after)
        kept = Counter(old) & Counter(new)
        ours, theirs = list((Counter(old) - kept).elements()), list((Counter(new) - kept).elements())
        if len(ours) + len(theirs) > MOST_SENTENCES:
            raise ValueError(f"the texts differ in {len(ours) + len(theirs)} sentences; {MOST_SENTENCES} are read")
        self._read([*ours, *theirs])
        a, b = self._measures(ours, old), self._measures(theirs, new)
        narrowness = 1.0 / max(len(ours), len(theirs), 1)
        return np.array([b[name] - a[name] for name in PASSAGE_READINGS]), narrowness

    def of(self, sentence: str) -> SentenceReading:
        """The reading of one sentence."""
        self._read([sentence])
        return self._known[sentence]

    def _measures(self, own: Sequence[str], whole: Sequence[str]) -> Mapping[str, float]:
        """The measures of a text by name: of the sentences that the other one has not, and of the whole."""
        read = [self._known[sentence] for sentence in own]
        claims = [(r.words, r.claim) for r in read if r.claim is not None]
        return {
            "words held": _share([(r.words, r.held) for r in read], "words"),
            "support": _share([(n, c.supported) for n, c in claims], "supported"),
            "contradiction": _share([(n, c.contradicted) for n, c in claims], "contradicted"),
            "values not given": sum(r.unknown for r in read),
            "words held in all": sum(r.words * r.held for r in read) / 50.0,
            "passages said": self._said(whole),
            "to the question": self._nearness(whole),
            "answer said": self._nearness([s for s in whole if self._may_answer(s)]),
            "said again": _said_again(whole),
            "alike sentences": self._alike(own, whole),
            "length": math.log1p(sum(len(lower_words(sentence)) for sentence in whole)),
        }

    def _read(self, sentences: Iterable[str]) -> None:
        """Reads the sentences that are not known yet, all in one run of the models."""
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._known]
        if not new:
            return
        encoder = self.reader.encoder
        unchecked = not_checked(new, encoder, self.reader.nearness)
        said = {s: claim_of(s) for s, why in zip(new, unchecked, strict=True) if why is None}
        readings = self.reader.read(list(said.values()), values=False)
        read = {s: self.reader.countered(said[s], r)[0] for s, r in zip(said, readings, strict=True)}
        for sentence in new:
            words = lower_words(sentence)
            self._known[sentence] = SentenceReading(
                words=len(words),
                held=sum(word in self._words for word in words) / max(len(words), 1),
                unknown=self._unknown(sentence),
                claim=read.get(sentence),
            )

    def _unknown(self, sentence: str) -> int:
        mentions = (m for m in specifics_index(sentence).mentions if not m.is_weak)
        return sum(not any(index.holds(m) for index in self._given) for m in mentions)

    def _said(self, sentences: Sequence[str]) -> float:
        if not sentences or not self.reader.pieces:
            return 0.0
        vectors = self.reader.encoder.encode(list(sentences))
        return float(self._bearing @ ((self.reader.vectors @ vectors.T).max(axis=1) > _SAID))

    def _nearness(self, sentences: Sequence[str]) -> float:
        """The cosine of the question with the nearest of the sentences; 0 without any. A "not" takes none further away:
        it answers, too."""
        if not sentences:
            return 0.0
        return float((self.reader.encoder.encode([_NOT.sub("", s) for s in sentences]) @ self._question).max())

    def _may_answer(self, sentence: str) -> bool:
        """Whether a sentence has what the question asks for: a date, a number, a name that it has not itself."""
        kinds, question = self._asked_for, specifics_index(self.question)
        mentions = (m for m in specifics_index(sentence).mentions if m.kind in kinds)
        return not kinds or any(not question.holds(mention) for mention in mentions)

    def _alike(self, own: Sequence[str], whole: Sequence[str]) -> float:
        """How many sentences of the text's own mean what another one of it means."""
        if not own or len(whole) < 2:
            return 0.0
        encode = self.reader.encoder.encode
        vectors = encode(list(whole)) @ encode(list(own)).T
        twice = (vectors > _ALIKE).sum(axis=0) > 1
        return float(twice.sum())

    @cached_property
    def _asked_for(self) -> frozenset[str]:
        """The kinds of specifics that the question asks for; none where it does not tell."""
        return next((kinds for asked, kinds in _ASKED if asked.search(self.question)), frozenset())

    @cached_property
    def _question(self) -> Vectors:
        return np.asarray(self.reader.encoder.encode([self.question])[0])

    @cached_property
    def _bearing(self) -> NDArray[np.float64]:
        """How much each piece of the passages counts, by its nearness to the question; in all 1."""
        weights = np.exp(_NEAR * (self.reader.vectors @ self._question).astype(np.float64))
        return np.asarray(weights / weights.sum())

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for text in self.reader.texts for word in lower_words(text))

    @cached_property
    def _given(self) -> tuple[SpecificsIndex, ...]:
        return tuple(specifics_index(text) for text in (*self.reader.texts, self.question) if text)


def _sentences(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text) if sentence.text]


def _share(weighted: Sequence[tuple[int, float]], ordinary: str) -> float:
    """The mean by the number of words, with a few of an ordinary sentence."""
    total = _PRIOR + sum(words for words, _ in weighted)
    return (_PRIOR * _ORDINARY[ordinary] + sum(words * value for words, value in weighted)) / total


def _said_again(sentences: Sequence[str]) -> float:
    words = [word for sentence in sentences for word in lower_words(sentence)]
    runs = list(zip(words, words[1:], words[2:], strict=False))
    return 1.0 - len(set(runs)) / len(runs) if runs else 0.0
