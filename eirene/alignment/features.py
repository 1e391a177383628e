"""What is measured of arguments and units before anything is concluded. No feature counts anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.claimless import PROTOTYPES
from eirene.alignment.overlap import WordWeights, overlap

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

Table = NDArray[np.float32]

SAYS = ("mutual", "closeness")
MISSING = ("mutual",)
UNSUPPORTED = ("support",)
CLAIMLESS = ("prototype", "support")

_BLOCK = 512
_COPY = 0.999
"""Cosine from which two arguments are one: they do not compete for a unit."""


@dataclass(frozen=True, slots=True)
class Blend:
    """How words and meaning are weighed: closeness = cosine + words * overlap; `temperature` is that of the softmax."""

    words: float
    temperature: float


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Measures of A arguments and U units.

    [A, U]: `cosine` in [-1, 1]; `closeness`, cosine plus weighed word overlap; `mutual`, the closeness times the share
    of the unit that falls to this argument; `said`, whether the unit says it word for word: its `mutual` is then that
    of an argument alone, whatever else the unit says. [U]: `support`, the highest closeness to any evidence with the
    unit's words alone counted; `prototype`, the highest cosine with a sentence that claims nothing.
    """

    cosine: Table
    closeness: Table
    mutual: Table
    said: NDArray[np.bool_]
    support: Table
    prototype: Table

    def says(self) -> Table:
        """The features `SAYS` of every pair, [A, U, 2]."""
        return np.stack([self.mutual, self.closeness], axis=-1)

    def missing(self) -> Table:
        """The features `MISSING` of every argument, [A, 1]."""
        highest: Table = self.mutual.max(axis=1, initial=0.0)
        return highest[:, None]

    def unsupported(self) -> Table:
        """The features `UNSUPPORTED` of every unit, [U, 1]."""
        return self.support[:, None]

    def claimless(self) -> Table:
        """The features `CLAIMLESS` of every unit, [U, 2]."""
        return np.stack([self.prototype, self.support], axis=-1)


def measure(
    arguments: Sequence[str],
    texts: Sequence[str],
    encoder: Encodes,
    *,
    question: str | None,
    evidence: Sequence[str] | None,
    blend: Blend,
    said: NDArray[np.bool_],
) -> Features:
    """The features of units with the given texts, of which `said` [A, U] marks those that stand there word for word.

    `evidence` is what may support the units: None means the arguments. Saying an argument and more supports nothing.
    """
    vectors = encoder.encode([*arguments, *texts])
    given, spoken = vectors[: len(arguments)], vectors[len(arguments) :]
    cosine = np.clip(given @ spoken.T, -1.0, 1.0)
    weights = WordWeights(arguments, question)
    words = overlap(arguments, texts, weights)
    closeness = cosine + blend.words * words.f1
    mutual = mutual_alignment(closeness, _copies(given), blend.temperature)
    if evidence is None:
        support = (cosine + blend.words * words.precision).max(axis=0, initial=0.0)
    else:
        spread = WordWeights(evidence, question)
        support = _support(evidence, encoder.encode(evidence), texts, spoken, weights=spread, words=blend.words)
    return Features(
        cosine=cosine,
        closeness=closeness,
        mutual=np.where(said, np.float32(1.0 + blend.words), mutual),
        said=said,
        support=support,
        prototype=(spoken @ encoder.encode(PROTOTYPES).T).max(axis=1, initial=0.0),
    )


def _copies(given: Table) -> NDArray[np.bool_]:
    """Which arguments are one, [A, A]; each is its own copy, also one whose vector is zero because it is blank."""
    return np.asarray((given @ given.T > _COPY) | np.eye(len(given), dtype=np.bool_))


def mutual_alignment(closeness: Table, copies: NDArray[np.bool_], temperature: float) -> Table:
    """max(closeness, 0) times the softmax over arguments of closeness / temperature, [A, U] (design, section 7).

    A unit that already says another argument better does not cover this one. `copies` [A, A] marks arguments that are
    one: they do not compete, so that each gets what a single one would.
    """
    if not closeness.size:
        return closeness
    weight = np.exp((closeness - closeness.max(axis=0, keepdims=True)) / temperature)
    rivals = (weight / copies.sum(axis=1, keepdims=True)).sum(axis=0, keepdims=True)
    return np.asarray(np.maximum(closeness, 0.0) * weight / rivals, np.float32)


def _support(
    evidence: Sequence[str], vectors: Table, texts: Sequence[str], said: Table, *, weights: WordWeights, words: float
) -> Table:
    """Highest closeness of each unit to any evidence, at least 0; in blocks, so that memory stays bounded."""
    best = np.zeros(len(texts), np.float32)
    for start in range(0, len(evidence), _BLOCK):
        part = slice(start, start + _BLOCK)
        for at in range(0, len(texts), _BLOCK):
            rows = slice(at, at + _BLOCK)
            shared = overlap(evidence[part], texts[rows], weights).precision
            best[rows] = np.maximum(best[rows], (vectors[part] @ said[rows].T + words * shared).max(axis=0))
    return best
