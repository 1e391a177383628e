"""Given texts read for claims: windows of them are picked for each claim, and the verifier reads each beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.models.verifier.runtime import PremiseClaim
from eirene.models.verifier.windows import Rarity, cut_sentence, pick, pick_score
from eirene.text.cancellation import check_cancelled
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

SINGLES = 3
"""Pieces that are read by themselves, beside the window: a claim costs up to four pairs."""
LONGEST_CLAIM = 80
"""Words of a claim that is read at once; a longer one is read in pieces, of which the worst counts."""


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """A sentence of a given text (a long one: a part of it), its text by index, and its offsets there."""

    text: str
    source: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ClaimReading:
    """What the given texts say of a claim: probabilities in [0, 1], and the piece that decides, None without any.

    What was seen without reading: `cosine` with the nearest piece, and the share of its words that stand in one piece
    (`words`, rare ones counting more) and in all of them (`words_anywhere`).
    """

    supported: float
    contradicted: float
    evidence: ContextPiece | None
    cosine: float = 0.0
    words: float = 0.0
    words_anywhere: float = 0.0


class ContextReader:
    """Reads claims against some given texts. What is made of the texts is made once."""

    def __init__(self, verifier: ReadsPairs, texts: Sequence[str]) -> None:
        self._verifier = verifier
        self._texts = tuple(texts)

    @cached_property
    def pieces(self) -> tuple[ContextPiece, ...]:
        """The texts' sentences in order, copies left out."""
        found: dict[str, ContextPiece] = {}
        for n, text in enumerate(self._texts):
            for sentence in split_sentences(text):
                if not sentence.text:
                    continue
                for start, end in cut_sentence(sentence.text):
                    piece = sentence.text[start:end]
                    found.setdefault(
                        piece, ContextPiece(piece, n, sentence.text_start + start, sentence.text_start + end)
                    )
        return tuple(found.values())

    def read(self, claims: Sequence[str]) -> list[ClaimReading]:
        """One reading for each claim, in order."""
        if not self.pieces:
            return [ClaimReading(0.0, 0.0, None) for _ in claims]
        parts = [[claim[a:b] for a, b in cut_sentence(claim, longest=LONGEST_CLAIM)] for claim in claims]
        readings = self._read([part for own in parts for part in own])
        found = []
        for own in parts:
            of_claim, readings = readings[: len(own)], readings[len(own) :]
            found.append(min(of_claim, key=lambda r: r.supported - r.contradicted))
        return found

    def nearest(self, claim: str, count: int) -> list[ContextPiece]:
        """The pieces nearest to a claim by meaning and by words, the nearest first; at most `count`."""
        if not self.pieces:
            return []
        cosines = self._vectors @ self._verifier.encoder.encode([claim])[0]
        score = pick_score(cosines, self._rarity.shares(claim))
        return [self.pieces[k] for k in np.argsort(-score, kind="stable")[:count]]

    @cached_property
    def _rarity(self) -> Rarity:
        return Rarity([piece.text for piece in self.pieces])

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        return self._verifier.encoder.encode([piece.text for piece in self.pieces])

    @cached_property
    def _lengths(self) -> list[int]:
        return [len(piece.text.split()) for piece in self.pieces]

    def _read(self, claims: Sequence[str]) -> list[ClaimReading]:
        cosines = self._vectors @ self._verifier.encoder.encode(claims).T
        asked: list[PremiseClaim] = []
        chosen: list[list[tuple[int, ...]]] = []
        seen: list[tuple[float, float, float]] = []
        nearness = []
        for n, claim in enumerate(claims):
            check_cancelled()
            shares = self._rarity.shares(claim)
            window = tuple(pick(cosines[:, n], shares, self._lengths))
            nearness.append(pick_score(cosines[:, n], shares))
            best = np.argsort(-nearness[-1], kind="stable")[:SINGLES]
            own = list(dict.fromkeys([window, *((int(k),) for k in best)]))
            asked += [PremiseClaim(tuple(self.pieces[k].text for k in rows), claim) for rows in own]
            chosen.append(own)
            seen.append((float(cosines[:, n].max()), float(shares.max()), self._rarity.anywhere(claim)))
        probabilities = self._verifier.read(asked)
        found = []
        for own, near, beside in zip(chosen, nearness, seen, strict=True):
            found.append(ClaimReading(*self._decide(own, probabilities[: len(own)], near), *beside))
            probabilities = probabilities[len(own) :]
        return found

    def _decide(
        self, windows: Sequence[tuple[int, ...]], probabilities: NDArray[np.float32], nearness: NDArray[np.float64]
    ) -> tuple[float, float, ContextPiece]:
        """The surest support; without it, the surest contradiction. Evidence: the piece that says so, and is near."""
        supported = float(probabilities[:, 0].max())
        contradicted = min(float(probabilities[:, 2].max()), 1.0 - supported)
        column = 0 if supported >= contradicted else 2
        singles = [k for k, rows in enumerate(windows) if len(rows) == 1]
        best = max(singles, key=lambda k: (float(probabilities[k, column] * max(nearness[windows[k][0]], 0.0)), -k))
        return supported, contradicted, self.pieces[windows[best][0]]
