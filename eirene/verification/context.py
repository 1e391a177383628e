"""Given texts read for claims: windows of them are picked for each claim, and the verifier reads each beside it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.models.verifier.runtime import PremiseClaim
from eirene.text.cancellation import check_cancelled
from eirene.text.fields import Field, fields_of
from eirene.text.frames import FrameKind, StatementFrame, frame_of, frames_of
from eirene.text.sentences import split_sentences
from eirene.text.values.derived import NOTHING_NEW, Carried, Derivations
from eirene.text.values.notation import Notation
from eirene.text.words import stems
from eirene.verification.framed import Asked, ContextPiece, PairReading, read_framed
from eirene.verification.opposites import countered_by, opposes

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes
    from eirene.models.verifier.runtime import ReadsPairs

MOST_WORDS = 90
"""Of a window: about 120 tokens."""
LONGEST = 60
"""Words of a piece: longer sentences are cut."""
_OVERLAP = 15
_BY_WORDS = 0.6
"""Weight of the share of a claim's words, each by its rarity, beside the cosine."""
_NEXT = 0.35
"""What the sentence after a chosen one is worth beside it: reasons and pronouns reach over one full stop."""
_WORD = re.compile(r"\S+")
SINGLES = 3
"""Pieces that are read by themselves, beside the window: a claim costs up to four pairs."""
TOGETHER = 6
"""Pieces that are read at once where none carries a claim."""
CONTRADICTED = 0.5
"""Probability from which a claim counts as contradicted, beside words that say so or what supports it elsewhere."""
SUPPORTED = 0.5
"""Probability of support from which a claim counts as supported."""
_VERBATIM = 0.95
"""Least support of what the texts say in the same words."""
_TOKEN = re.compile(r"[^\W_]+|[^\w\s.,;:!?'’‘\"“”()*-]|(?<=\d)[.,:/-](?=\d)|[-−–+]\s?(?=\d)")
"""A word or a sign that may turn what is said: $, %, <, the point of 3.4, a minus."""
_ABSENT = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")
_BETWEEN = 2
LONGEST_CLAIM = 80
"""Words of a claim that is read at once; a longer one is read in pieces, of which the worst counts."""


@dataclass(frozen=True, slots=True)
class ClaimReading:
    """What the given texts say of a claim: probabilities in [0, 1], and the piece that decides, None without any.

    What was seen without reading: `cosine` with the nearest piece, and the share of its words that stand in one piece
    (`words`, rare ones counting more) and in all of them (`words_anywhere`).

    `framed`: what would support the claim is only denied, or left open (asked, supposed, planned). `denying`: says
    the opposite, where another piece supports the claim. `values`: whether the texts carry those of what is not
    supported.
    """

    supported: float
    contradicted: float
    evidence: ContextPiece | None
    cosine: float = 0.0
    words: float = 0.0
    words_anywhere: float = 0.0
    framed: FrameKind | None = None
    denying: ContextPiece | None = None
    values: Carried = NOTHING_NEW


class ContextReader:
    """Reads claims against some given texts. What is made of the texts is made once.

    The question may name values that the answer computes with, and supports nothing.
    """

    def __init__(self, verifier: ReadsPairs, texts: Sequence[str], question: str = "") -> None:
        self._verifier = verifier
        self.texts = tuple(texts)
        self._question = question

    @property
    def encoder(self) -> Encodes:
        """Gives the vectors that claims and texts are compared by."""
        return self._verifier.encoder

    @cached_property
    def pieces(self) -> tuple[ContextPiece, ...]:
        """The texts' sentences, and the fields of their JSON and tables, in order; copies left out."""
        found: dict[tuple[str, StatementFrame | None], ContextPiece] = {}
        for n, text in enumerate(self.texts):
            for piece in sorted([*_sentences_of(text, n), *_fields_of(text, n)], key=lambda piece: piece.start):
                found.setdefault((piece.text, piece.frame), piece)
        return tuple(found.values())

    def read(self, claims: Sequence[str], *, values: bool = True) -> list[ClaimReading]:
        """One reading for each claim, in order. Values are read in the notation that the texts have them in.

        `values`: it is asked whether the texts carry them.
        """
        if not self.pieces:
            return [ClaimReading(0.0, 0.0, None) for _ in claims]
        written = [self._notation.written(claim) for claim in claims]
        parts = [[claim[a:b] for a, b in cut_sentence(claim, longest=LONGEST_CLAIM)] for claim in written]
        readings = self._read([part for own in parts for part in own])
        found = []
        for claim, own in zip(claims, parts, strict=True):
            of_claim, readings = readings[: len(own)], readings[len(own) :]
            worst = min(of_claim, key=lambda r: r.supported - r.contradicted)
            denying = self._denying(claim) if self._records else None
            if denying is not None:
                against, support = max(worst.contradicted, CONTRADICTED), min(worst.supported, 1.0 - CONTRADICTED)
                found.append(replace(worst, supported=support, contradicted=against, evidence=denying, framed="denied"))
                continue
            if worst.supported < _VERBATIM and (same := self._verbatim.get(tuple(_TOKEN.findall(claim.lower())))):
                worst = replace(worst, supported=_VERBATIM, contradicted=1.0 - _VERBATIM, evidence=same, framed=None)
            found.append(replace(worst, values=self._derivations.carried(claim)) if values else worst)
        return found

    @cached_property
    def _verbatim(self) -> dict[tuple[str, ...], ContextPiece]:
        """The pieces by their very words; none of which another sentence says that it is not so."""
        return {tuple(_TOKEN.findall(p.text.lower())): p for p in self.pieces[::-1] if p.frame == frame_of(p.text)}

    def together(self, claim: str) -> float:
        """The support in [0, 1] of the nearest pieces read at once, but for those that deny, ask or suppose."""
        near = [
            p for p in self.nearest(claim, TOGETHER) if p.frame is None or p.frame.kind in ("affirmed", "condition")
        ]
        texts = tuple(p.text for p in sorted(near, key=lambda p: (p.source, p.start)))
        return float(self._verifier.read([PremiseClaim(texts, claim)])[0][0]) if texts else 0.0

    def counter(self, claim: str) -> tuple[ContextPiece, bool] | None:
        """The near piece that says another thing than a claim, and whether it surely does; None where one agrees.

        By words alone: what the verifier reads of two sentences that share nearly all of them is that they agree.
        """
        if frame_of(claim) is not None or len(claim.split()) > LONGEST_CLAIM:
            return None
        near = [p for p in self.nearest(claim, SINGLES) if p.field is None and p.frame is None]
        found = countered_by(claim, [piece.text for piece in near])
        return None if found is None else (near[found[0]], found[1])

    def countered(self, claim: str, reading: ClaimReading) -> tuple[ClaimReading, bool]:
        """The reading of a claim with what `counter` finds, and whether that surely says otherwise: then what supports
        the claim supports the counter-claim."""
        counter, is_sure = self.counter(claim) or (None, False)
        if counter is None or not is_sure:
            is_disputed = counter is not None and reading.supported >= SUPPORTED
            return (replace(reading, denying=counter) if is_disputed else reading), False
        against = max(reading.contradicted, reading.supported, 1.0 - reading.supported)
        return replace(reading, supported=1.0 - against, contradicted=against, evidence=counter), True

    def nearest(self, claim: str, count: int) -> list[ContextPiece]:
        """The pieces nearest to a claim by meaning and by words, the nearest first; at most `count`."""
        if not self.pieces:
            return []
        return [self.pieces[k] for k in np.argsort(-self._scores(claim), kind="stable")[:count]]

    def nearness(self, claim: str) -> float:
        """How near the nearest piece is to a claim, by meaning and by words; 0 without any, at most 1.6."""
        return float(self._scores(claim).max()) if self.pieces else 0.0

    def _scores(self, claim: str) -> NDArray[np.float64]:
        return pick_score(self.vectors @ self._verifier.encoder.encode([claim])[0], self._rarity.shares(claim))

    @cached_property
    def _notation(self) -> Notation:
        return Notation(self.texts)

    @cached_property
    def _derivations(self) -> Derivations:
        return Derivations((*self.texts, self._question) if self._question else self.texts)

    @cached_property
    def _rarity(self) -> Rarity:
        return Rarity([piece.text for piece in self.pieces])

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors of `pieces`, [pieces, dimensions], of length 1."""
        return self._verifier.encoder.encode([piece.text for piece in self.pieces])

    def absent(self, text: str) -> list[tuple[int, int]]:
        """The offsets of a text's words that no piece has, in order; two with up to two others between are one."""
        found: list[tuple[int, int]] = []
        for word in _ABSENT.finditer(text):
            if self._rarity.anywhere(word.group()) == 1.0 or not stems(word.group()):
                continue
            is_near = bool(found) and len(text[found[-1][1] : word.start()].split()) <= _BETWEEN
            start = found.pop()[0] if is_near else word.start()
            found.append((start, word.end()))
        return found

    def worded(self, words: Set[str]) -> NDArray[np.float64]:
        """For each piece the share of its words, rare ones counting more, that are among some stems, in [0, 1]."""
        return self._rarity.among(words)

    @cached_property
    def _lengths(self) -> list[int]:
        return [len(piece.text.split()) for piece in self.pieces]

    def _read(self, claims: Sequence[str]) -> list[ClaimReading]:
        """Readings of claims; one that denies something is also read as what it denies, the other way round."""
        denied = {n: frame.statement for n, claim in enumerate(claims) if (frame := _denies(claim)) is not None}
        texts = [*claims, *denied.values()]
        chosen = self._chosen(texts)
        asked: list[Asked] = [
            (tuple(self.pieces[k] for k in rows), text)
            for text, own in zip(texts, chosen, strict=True)
            for rows in own.windows
        ]
        readings = iter(read_framed(self._verifier, asked))
        found = [self._decided(text, own, readings) for text, own in zip(texts, chosen, strict=True)]
        for (n, statement), opposite in zip(denied.items(), found[len(claims) :], strict=True):
            found[n] = _turned(found[n], opposite, statement)
        return found[: len(claims)]

    def _chosen(self, claims: Sequence[str]) -> list[_Chosen]:
        cosines = self.vectors @ self._verifier.encoder.encode(claims).T
        found = []
        for n, claim in enumerate(claims):
            check_cancelled()
            shares = self._rarity.shares(claim)
            if self._records:
                cosines[self._of_others(claim), n] = -np.inf
            window = tuple(pick(cosines[:, n], shares, self._lengths))
            nearness = pick_score(cosines[:, n], shares)
            best = [int(k) for k in np.argsort(-nearness, kind="stable")[:SINGLES] if np.isfinite(nearness[k])]
            windows = tuple(dict.fromkeys([window, *((k,) for k in best)]))
            beside = float(cosines[:, n].max()), float(shares.max()), self._rarity.anywhere(claim)
            found.append(_Chosen(windows, nearness, beside))
        return found

    @cached_property
    def _records(self) -> dict[str, frozenset[str]]:
        """The records of the texts by name, each with the words that are its own; none where there is but one."""
        names = dict.fromkeys(piece.field.record for piece in self.pieces if piece.field and piece.field.record)
        words = {name: frozenset(stems(name)) for name in names}
        common = frozenset.intersection(*words.values()) if words else frozenset()
        return {name: own - common for name, own in words.items()} if len(words) > 1 else {}

    def _named(self, claim: str) -> set[str]:
        """The records that a claim names."""
        words = set(stems(claim))
        return {name for name, own in self._records.items() if own and own <= words}

    def _of_others(self, claim: str) -> list[int]:
        """The pieces of records that a claim does not name, where it names one."""
        named = self._named(claim)
        others = self._records.keys() - named if named else ()
        return [k for k, piece in enumerate(self.pieces) if piece.field is not None and piece.field.record in others]

    def _denying(self, claim: str) -> ContextPiece | None:
        """The field of the one record that a claim names which has another value than the claim: another record's."""
        named, own = self._named(claim), set(stems(claim))
        if len(named) != 1:
            return None
        fields = [(piece, piece.field) for piece in self.pieces if piece.field is not None and piece.field.value]
        own_fields = [(piece, field) for piece, field in fields if field.record in named]
        if any(_is_said(field, own) for _, field in own_fields):
            return None
        taken = {field.key for _, field in fields if field.record not in named and _is_said(field, own)}
        return next((piece for piece, field in own_fields if field.key in taken), None)

    def _decided(self, claim: str, chosen: _Chosen, readings: Iterator[PairReading]) -> ClaimReading:
        """The surest support; without it, the surest contradiction. Evidence: the piece that says so, and is near."""
        own = [next(readings) for _ in chosen.windows]
        supported = max(reading.supported for reading in own)
        contradicted = min(max(reading.contradicted for reading in own), 1.0 - supported)
        column = 0 if supported >= contradicted else 1
        singles = [k for k, rows in enumerate(chosen.windows) if len(rows) == 1]
        pieces = {k: self.pieces[chosen.windows[k][0]] for k in singles}
        best = max(singles, key=lambda k: (own[k][column] * max(chosen.nearness[chosen.windows[k][0]], 0.0), -k))
        against = (k for k in singles if own[k].contradicted >= CONTRADICTED)
        denied = [k for k in against if own[k].framed == "denied" or opposes(pieces[k].text, claim)]
        framed = {reading.framed for reading in own if reading.framed is not None}
        return ClaimReading(
            supported,
            contradicted,
            pieces[best],
            *chosen.beside,
            framed=min(framed, default=None) if supported < SUPPORTED else None,
            denying=pieces[denied[0]] if denied and supported >= SUPPORTED else None,
        )


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What is read beside a claim: its windows by the pieces' indices, how near each piece is, and `ClaimReading`'s
    `cosine`, `words` and `words_anywhere`."""

    windows: tuple[tuple[int, ...], ...]
    nearness: NDArray[np.float64]
    beside: tuple[float, float, float]


def _denies(claim: str) -> StatementFrame | None:
    """The frame of a claim that denies something, and says nothing besides."""
    frame = frame_of(claim)
    return frame if frame is not None and frame.kind == "denied" and not frame.rest else None


def _turned(reading: ClaimReading, opposite: ClaimReading, statement: str) -> ClaimReading:
    """The reading of a claim that denies a statement, by that of the statement."""
    evidence = opposite.evidence
    is_opposed = opposite.framed == "denied" or (evidence is not None and opposes(evidence.text, statement))
    denied = opposite.contradicted if is_opposed else 0.0
    supported = max(min(reading.supported, 1.0 - opposite.supported), denied)
    contradicted = min(max(reading.contradicted, opposite.supported), 1.0 - supported)
    decides = evidence if max(denied, opposite.supported) >= CONTRADICTED else reading.evidence
    return replace(
        reading, supported=supported, contradicted=contradicted, evidence=decides, denying=opposite.denying and evidence
    )


def _is_said(field: Field, words: set[str]) -> bool:
    """Whether a claim has a field's value: all of its words, its figures alone where it has any."""
    value = set(stems(field.value))
    figures = {word for word in value if any(map(str.isdigit, word))}
    return bool(value) and (figures or value) <= words


def _sentences_of(text: str, source: int) -> Iterator[ContextPiece]:
    """The sentences of a text that are no fields."""
    data = dict.fromkeys(field.stretch for field in fields_of(text))
    sentences = [s for s in split_sentences(text) if s.text and not any(a <= s.text_start < b for a, b in data)]
    for sentence, frame in zip(sentences, frames_of([s.text for s in sentences]), strict=True):
        cuts = cut_sentence(sentence.text)
        for start, end in cuts:
            at, own = sentence.text_start, frame if len(cuts) == 1 else None
            yield ContextPiece(sentence.text[start:end], source, at + start, at + end, own)


def _fields_of(text: str, source: int) -> Iterator[ContextPiece]:
    for field in fields_of(text):
        for start, end in cut_sentence(field.text):
            yield ContextPiece(field.text[start:end], source, field.start, field.end, field=field)


def cut_sentence(sentence: str, *, longest: int = LONGEST) -> list[tuple[int, int]]:
    """The offsets of a sentence's pieces of at most `longest` words, which overlap; the whole of a shorter one."""
    words = list(_WORD.finditer(sentence))
    if len(words) <= longest:
        return [(0, len(sentence))]
    step = longest - _OVERLAP
    count = math.ceil((len(words) - _OVERLAP) / step)
    starts = [n * (len(words) - longest) // (count - 1) for n in range(count)]
    return [(words[a].start(), words[a + longest - 1].end()) for a in starts]


class Rarity:
    """How much a shared word tells: its inverse frequency over the pieces."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.stems = [frozenset(stems(piece)) for piece in pieces]
        counts = Counter(word for own in self.stems for word in own)
        self._weights = {word: math.log((len(pieces) + 1) / (count + 0.5)) + 0.5 for word, count in counts.items()}
        self._unknown = math.log(2 * (len(pieces) + 1)) + 0.5

    def anywhere(self, claim: str) -> float:
        """The share of the claim's words that some piece has, in [0, 1]; 0 for a claim without words."""
        own = set(stems(claim))
        return len(own & self._weights.keys()) / len(own) if own else 0.0

    def among(self, words: Set[str]) -> NDArray[np.float64]:
        """For each piece the share of its words that are among `words`, by weight, in [0, 1]."""
        weigh = self._weights.__getitem__
        return np.array([sum(map(weigh, own & words)) / (sum(map(weigh, own)) or 1.0) for own in self.stems])

    def shares(self, claim: str) -> NDArray[np.float64]:
        """For each piece the share of the claim's words that it has, by weight, in [0, 1]."""
        own = {word: self._weights.get(word, self._unknown) for word in set(stems(claim))}
        total = sum(own.values())
        if not total:
            return np.zeros(len(self.stems))
        return np.array([sum(weight for word, weight in own.items() if word in has) for has in self.stems]) / total


def pick_score(cosines: NDArray[np.float32], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """How near pieces are to a claim, by meaning and by words."""
    return cosines.astype(np.float64) + _BY_WORDS * shares


def pick(cosines: NDArray[np.float32], shares: NDArray[np.float64], lengths: Sequence[int]) -> list[int]:
    """The pieces of a window, in order: the nearest one, then the next ones and their neighbours while they fit.

    `cosines` [n] of the claim with the pieces, `shares` [n] of its words in them, `lengths` [n] in words.
    """
    score = pick_score(cosines, shares)
    chosen: list[int] = []
    room = MOST_WORDS
    near = score
    for _ in range(len(near)):
        best = int(near.argmax())
        if not np.isfinite(near[best]):
            break
        near[best] = -np.inf
        if chosen and lengths[best] > room:
            continue
        chosen.append(best)
        room -= lengths[best]
        for beside, worth in ((best - 1, _NEXT), (best + 1, _NEXT / 2)):
            if 0 <= beside < len(near) and np.isfinite(near[beside]):
                near[beside] += worth / len(chosen)
        if room < 5:
            break
    return sorted(chosen)
