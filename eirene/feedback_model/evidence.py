"""What the critic looks at before it judges: measures of arguments and of the parts of an answer.

Beside the alignment's own measures there are three ideas. What all arguments of a question have in common says nothing
about which of them a part says, so the question's direction is taken out of the vectors. A part whose argument is said
better elsewhere is more likely something else. And a part that lies as close to an argument together with its neighbour
as the neighbour alone elaborates on it, or was cut off by mistake. No measure counts anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.comparison import Comparison
from eirene.alignment.overlap import WordWeights, overlap
from eirene.clauses import core_text
from eirene.openings import opening_length

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

Table = NDArray[np.float64]
Measures = NDArray[np.float32]

UNSUPPORTED = ("support", "rivalled", "beaten")
CLAIMLESS = ("prototype", "support")
MISSING = ("mutual", "two_sided")

_WORDS = 0.3
"""Weight of shared words beside a cosine; that of the alignment."""
_FIRM, _SOFT = 0.1, 0.15
"""Temperatures at which arguments compete for a part, and parts for an argument; from training claims."""
_NO_LOSS = -0.03
"""A neighbour that says something else moves two parts together further from the argument than this."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Measures of an answer with n parts (its atoms, as indices of units, in order) against A arguments.

    `unsupported` [n, 3] and `claimless` [n, 2] hold the measures of those names for each part. `closeness` [A, n] is
    the cosine without the question's direction plus the weighed word overlap.
    """

    atoms: tuple[int, ...]
    unsupported: Measures
    claimless: Measures
    closeness: Table

    def missing(self, kept: NDArray[np.bool_]) -> Measures:
        """The measures `MISSING` of each argument, [A, 2], when only the parts in `kept` [n] count as said."""
        table = self.closeness[:, kept]
        two_sided = _mutual(table, 0, _FIRM) * _softmax(table, 1, _FIRM)
        measures = (_mutual(table, 0, _SOFT), two_sided)
        return np.stack([m.max(axis=1, initial=0.0) for m in measures], axis=-1).astype(np.float32)


def gather(comparison: Comparison, question: str, answer: str, encoder: Encodes) -> Evidence:
    """Measures a comparison with at least one argument. Neighbouring parts are encoded once more, together."""
    alignment = comparison.alignment
    atoms = tuple(u for group in alignment.atoms for u in group)
    texts = [alignment.units[u].text for u in atoms]
    given, said = encoder.encode(alignment.arguments), encoder.encode(texts)
    direction = encoder.encode([question])[0]
    words = overlap(alignment.arguments, texts, WordWeights(alignment.arguments, question))
    cosine = (given @ said.T).astype(np.float64)
    closeness = (_without(given, direction) @ _without(said, direction).T).astype(np.float64) + _WORDS * words.f1
    joint = np.maximum(_joint_support(comparison, answer, encoder, cosine), cosine.max(axis=0, initial=0.0))
    rivalled = _mutual(closeness, 1, _FIRM).max(axis=0, initial=0.0)
    support = joint + _WORDS * words.precision.max(axis=0, initial=0.0)
    prototype = np.asarray(alignment.features.prototype, np.float64)[list(atoms)]
    return Evidence(
        atoms=atoms,
        unsupported=np.stack([support, rivalled, _beaten(closeness)], axis=-1).astype(np.float32),
        claimless=np.stack([prototype, cosine.max(axis=0, initial=0.0)], axis=-1).astype(np.float32),
        closeness=closeness,
    )


def _joint_support(comparison: Comparison, answer: str, encoder: Encodes, cosine: Table) -> Table:
    """Each part's support together with a neighbour, if that does not draw the neighbour off its argument; else 0."""
    atoms = tuple(u for group in comparison.alignment.atoms for u in group)
    joint = np.zeros(len(atoms))
    pairs = [(i, _together(comparison, answer, atoms[i], atoms[i + 1])) for i in range(len(atoms) - 1)]
    pairs = [(i, text) for i, text in pairs if text]
    if not pairs:
        return joint
    given = encoder.encode(comparison.alignment.arguments)
    together = (given @ encoder.encode([text for _, text in pairs]).T).astype(np.float64)
    for column, (left, _) in enumerate(pairs):
        for part, neighbour in ((left, left + 1), (left + 1, left)):
            argument = int(cosine[:, neighbour].argmax())
            if together[argument, column] - cosine[argument, neighbour] > _NO_LOSS:
                joint[part] = max(joint[part], together[argument, column])
    return joint


def _together(comparison: Comparison, answer: str, left: int, right: int) -> str:
    """Two parts as one text: clauses of a sentence, or a sentence and the next if that opens no new point; else ""."""
    a, b = comparison.alignment.units[left], comparison.alignment.units[right]
    if a.sentence != b.sentence and opening_length(comparison.alignment.sentences[b.sentence].text):
        return ""
    return core_text(answer[a.start : b.end])


def _without(vectors: NDArray[np.float32], direction: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors without what they have in common with a direction, of length 1 again."""
    rest = vectors - np.outer(vectors @ direction, direction)
    norms = np.linalg.norm(rest, axis=1, keepdims=True)
    return np.asarray(rest / np.maximum(norms, 1e-9), np.float32)


def _softmax(table: Table, axis: int, temperature: float) -> Table:
    if not table.size:
        return table
    weight = np.exp((table - table.max(axis=axis, keepdims=True)) / temperature)
    return np.asarray(weight / weight.sum(axis=axis, keepdims=True), np.float64)


def _mutual(table: Table, axis: int, temperature: float) -> Table:
    return np.asarray(np.maximum(table, 0.0) * _softmax(table, axis, temperature), np.float64)


def _beaten(closeness: Table) -> Table:
    """By how much another part says a part's argument better than it does itself; negative where none does. [n]"""
    arguments, parts = closeness.shape
    if not arguments or not parts:
        return np.zeros(parts)
    best = closeness.argmax(axis=0)
    ranked = np.sort(closeness, axis=1)
    first, second = ranked[:, -1], ranked[:, -2] if parts > 1 else np.zeros(arguments)
    mine = closeness[best, np.arange(parts)]
    rival = np.where(mine >= first[best], second[best], first[best])
    return np.asarray(np.maximum(rival, 0.0) - mine, np.float64)
