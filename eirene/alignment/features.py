"""What is measured of arguments and units before anything is concluded. No feature counts anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.claimless import PROTOTYPES
from eirene.words import stems

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

Table = NDArray[np.float32]

SAYS = ("mutual", "cosine", "recall")
MISSING = ("mutual", "cosine", "recall")
UNSUPPORTED = ("support", "precision")
CLAIMLESS = ("support", "prototype", "precision")

_BLOCK = 2048
_COPY = 0.999
"""Cosine from which two arguments are one: they do not compete for a unit."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Measures of A arguments and U units, all in [0, 1] but cosines ([-1, 1]).

    `cosine`, `mutual`, `recall` (share of the argument's words found in the unit) are [A, U]; `support` (highest cosine with any
    evidence), `precision` (share of the unit's words found in the evidence) and `prototype` (highest cosine with a sentence
    that claims nothing) are [U].
    """

    cosine: Table
    mutual: Table
    recall: Table
    support: Table
    precision: Table
    prototype: Table

    def says(self) -> Table:
        """The features `SAYS` of every pair, [A, U, 3]."""
        return np.stack([self.mutual, self.cosine, self.recall], axis=-1)

    def missing(self) -> Table:
        """The features `MISSING` of every argument, [A, 3]."""
        return np.stack([t.max(axis=1, initial=0.0) for t in (self.mutual, self.cosine, self.recall)], axis=-1)

    def unsupported(self) -> Table:
        """The features `UNSUPPORTED` of every unit, [U, 2]."""
        return np.stack([self.support, self.precision], axis=-1)

    def claimless(self) -> Table:
        """The features `CLAIMLESS` of every unit, [U, 3]."""
        return np.stack([self.support, self.prototype, self.precision], axis=-1)


def measure(
    arguments: Sequence[str], texts: Sequence[str], encoder: Encodes, *, evidence: Sequence[str], temperature: float
) -> Features:
    """The features of units with the given texts against arguments, and against `evidence` (often the arguments again)."""
    said = encoder.encode(texts)
    given = encoder.encode(arguments)
    cosine = np.clip(given @ said.T, -1.0, 1.0)
    return Features(
        cosine=cosine,
        mutual=mutual_alignment(cosine, given @ given.T > _COPY, temperature),
        recall=_recall(arguments, texts),
        support=cosine.max(axis=0, initial=0.0) if evidence is arguments else _highest(encoder.encode(evidence), said),
        precision=_precision(evidence, texts),
        prototype=_highest(encoder.encode(PROTOTYPES), said),
    )


def mutual_alignment(cosine: Table, copies: NDArray[np.bool_], temperature: float) -> Table:
    """max(cosine, 0) times the softmax over arguments of cosine / temperature: [A, U], in [0, 1] (design, section 7).

    A unit that already says another argument better does not cover this one. `copies` [A, A] marks arguments that are one:
    they do not compete, so that each gets what a single one would.
    """
    if not cosine.size:
        return cosine
    weight = np.exp((cosine - cosine.max(axis=0, keepdims=True)) / temperature)
    rivals = weight / copies.sum(axis=1, keepdims=True).astype(np.float32)
    return np.asarray(np.maximum(cosine, 0.0) * weight / rivals.sum(axis=0, keepdims=True), np.float32)


def _highest(evidence: Table, said: Table) -> Table:
    """max(0, highest cosine of each row of `said` with any row of `evidence`), in blocks so that memory stays bounded."""
    best = np.zeros(len(said), np.float32)
    for start in range(0, len(evidence), _BLOCK):
        part = evidence[start : start + _BLOCK]
        for at in range(0, len(said), _BLOCK):
            rows = slice(at, at + _BLOCK)
            best[rows] = np.maximum(best[rows], (said[rows] @ part.T).max(axis=1))
    return np.minimum(best, 1.0)


def _recall(arguments: Sequence[str], texts: Sequence[str]) -> Table:
    """Share of each argument's words (clipped counts) that each text has, [A, U]; 0 for an argument without content words."""
    given = [Counter(stems(text)) for text in arguments]
    column = {word: n for n, word in enumerate(sorted(set().union(*given)))}
    counts = np.zeros((len(given), len(column)), np.float32)
    for a, words in enumerate(given):
        for word, n in words.items():
            counts[a, column[word]] = n
    out = np.zeros((len(given), len(texts)), np.float32)
    totals = np.maximum(counts.sum(axis=1), 1.0)
    for u, text in enumerate(texts):
        words = Counter(word for word in stems(text) if word in column)
        if words:
            has = np.array(list(words.values()), np.float32)
            out[:, u] = np.minimum(counts[:, [column[word] for word in words]], has).sum(axis=1) / totals
    return out


def _precision(evidence: Sequence[str], texts: Sequence[str]) -> Table:
    """Share of each text's words that occur in the evidence, [U]; 0 for a text without content words."""
    known = {word for text in evidence for word in stems(text)}
    words = [stems(text) for text in texts]
    return np.array([sum(word in known for word in w) / max(len(w), 1) for w in words], np.float32)
