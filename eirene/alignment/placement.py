"""Misplaced and repeated parts of an answer: on the wrong side, or saying what another part has said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import Alignment
from eirene.alignment.comparison import Comparison

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

Array = NDArray[np.float64]

SURE_TWICE = 0.9
"""Probability from which a unit counts as saying an argument again: two arguments of one side are often close."""

ALIKE = 0.8
"""Cosine from which two units that say the same argument say it in the same way."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Unit `unit` says argument `argument`, which the earlier unit `earlier` says too."""

    unit: int
    earlier: int
    argument: int


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where an answer's n atoms (as indices of units, in order) stand.

    `said` [n] is the probability that an atom says one of the given arguments, `elsewhere` [n] that it says one of
    another perspective than the one whose part of the answer it stands in, `again` [n] marks atoms that surely say, in
    the same way, what an earlier one has said.
    """

    atoms: tuple[int, ...]
    said: Array
    elsewhere: Array
    again: NDArray[np.bool_]

    @property
    def wrong(self) -> Array:
        """The probability that an atom stands where it should not: under another side, or a second time; [n]."""
        return np.where(self.again, 1.0, self.elsewhere)

    @property
    def disorder(self) -> float:
        """The expected share, in [0, 1], of what the answer says of the arguments that stands where it should not."""
        share = float(self.wrong.sum()) / max(float(self.said.sum()), 1.0)
        return min(share, 1.0)


def placement(comparison: Comparison, encoder: Encodes) -> Placement:
    """Where the parts of a compared answer stand.

    Only where the answer says in words that another perspective is speaking does an argument stand elsewhere; beside
    the others' arguments is no wrong place. `elsewhere` is then the product of two probabilities: that the atom says
    the argument (calibrated), and that its sentence stands in another perspective's part (`Comparison.sides`). An
    argument that several perspectives give is at home with each.
    """
    alignment = comparison.alignment
    atoms = tuple(u for group in alignment.atoms for u in group)
    says = alignment.p_says[:, list(atoms)]
    where = [alignment.units[u].sentence for u in atoms]
    own = [a for a in range(len(comparison.groups)) if a not in comparison.shared]
    groups = np.array([comparison.groups[a] for a in own], object)[:, None]
    speaker = np.array([comparison.told[u] for u in atoms], object)[None, :]
    is_other = (speaker != groups) & (speaker != np.array(None))
    away = (1.0 - comparison.sides[np.ix_(own, where)]) * is_other
    repeated = {repeat.unit for repeat in alike_repeats(alignment, encoder)}
    return Placement(
        atoms=atoms,
        said=says.max(axis=0, initial=0.0),
        elsewhere=(says[own] * away).max(axis=0, initial=0.0),
        again=np.array([u in repeated for u in atoms], np.bool_),
    )


def alike_repeats(alignment: Alignment, encoder: Encodes) -> tuple[Repeat, ...]:
    """Those of `repeats` in which both units say the argument in the same way."""
    found = repeats(alignment)
    if not found:
        return ()
    texts = [(alignment.units[r.unit].text, alignment.units[r.earlier].text) for r in found]
    vectors = encoder.encode([text for pair in texts for text in pair])
    likeness = (vectors[0::2] * vectors[1::2]).sum(axis=1)
    return tuple(repeat for repeat, cosine in zip(found, likeness, strict=True) if cosine >= ALIKE)


def repeats(alignment: Alignment) -> tuple[Repeat, ...]:
    """Units that say an argument again, in order of the answer. Both sayings have at least probability `SURE_TWICE`.

    A unit that says another argument too, word for word and for the first time, is no repetition.
    """
    first: dict[int, int] = {}
    found = []
    for unit in _saying(alignment, SURE_TWICE):
        argument = int(alignment.best_argument[unit])
        new = [a for a in np.flatnonzero(alignment.features.said[:, unit]).tolist() if a not in first]
        if argument in first and not new:
            found.append(Repeat(unit, first[argument], argument))
        for a in (argument, *new):
            first.setdefault(a, unit)
    return tuple(found)


def _saying(alignment: Alignment, sure: float) -> list[int]:
    """Atoms that claim something and say their best argument with probability `sure` or more."""
    if not alignment.arguments:
        return []
    atoms = [u for group in alignment.atoms for u in group if alignment.p_claimless[u] < 0.5]
    return [u for u in atoms if alignment.p_says[alignment.best_argument[u], u] >= sure]
