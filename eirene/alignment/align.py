"""`align`: the similarity of arguments and the units of an answer, with a cache of recent alignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.calibration import Constants, load_constants
from eirene.alignment.features import Features, measure
from eirene.alignment.verbatim import verbatim
from eirene.core.memo import memoised
from eirene.text.clauses import Unit, units_of
from eirene.text.sentences import Sentence, split_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

T = TypeVar("T")

KEPT = 64
"""Alignments: critic, refiner and detectors look at the same answer one after another."""
_KEPT_CHARACTERS = 20_000


def is_small(**arguments: object) -> bool:
    """Whether the texts among some arguments are so short that what is made of them may be kept."""
    return _characters(tuple(arguments.values())) <= _KEPT_CHARACTERS


def _characters(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_characters, value)) if isinstance(value, tuple) else 0


def frozen(value: T) -> T:
    """The value; all who ask for it share it, and so its arrays can no longer be written to."""
    for name in getattr(value, "__dataclass_fields__", ()):
        inner = getattr(value, name)
        if isinstance(inner, np.ndarray):
            inner.flags.writeable = False
        else:
            frozen(inner)
    return value


Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """What `align` found: A arguments, U units, S sentences of the answer.

    `missing` [A] and `unsupported` [U] are plain error scores in [0, 1] (design, section 7), higher is worse. The
    `p_...` are calibrated probabilities: `p_missing` [A] that the answer does not say the argument, `p_says` [A, U]
    that a unit says it, `p_unsupported` [U] that a unit claims something that was not given, `p_claimless` [U] that it
    claims nothing about the matter ("Opinions differ."). A sentence [S] is as bad as the worst of its clauses, and
    claimless if all of them are.

    `atoms[s]` are the units that make up sentence s: its clauses, or the sentence itself where it has one.
    `best_argument` [U] is the argument that a unit says best, `best_unit` [A] the atom that says an argument best; -1
    where there is none.
    """

    arguments: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    units: tuple[Unit, ...]
    atoms: tuple[tuple[int, ...], ...]
    features: Features
    missing: Array
    unsupported: Array
    unsupported_sentences: Array
    p_says: Array
    p_missing: Array
    p_unsupported: Array
    p_unsupported_sentences: Array
    p_claimless: Array
    p_claimless_sentences: Array
    best_argument: NDArray[np.int64]
    best_unit: NDArray[np.int64]

    @property
    def cosine(self) -> NDArray[np.float32]:
        """Cosine of each argument and unit, [A, U]."""
        return self.features.cosine

    @property
    def mutual(self) -> NDArray[np.float32]:
        """Cosine weighed by how much a unit prefers the argument to the others, [A, U]."""
        return self.features.mutual


def align(
    arguments: Sequence[str],
    answer: str,
    encoder: Encodes,
    *,
    question: str | None = None,
    evidence: Sequence[str] | None = None,
    sentences: Sequence[Sentence] | None = None,
    constants: Constants | None = None,
) -> Alignment:
    """Aligns arguments with an answer's units. Copies of an argument share what says them; their order does not matter.

    With `question`, its words count for little. `evidence` is what may support a unit, by default the arguments;
    `sentences` are those of the answer where they are cut already; `constants` default to the shipped ones. Works
    without arguments (nothing is missing) and on any text.
    """
    return _align(
        arguments=tuple(arguments),
        answer=answer,
        encoder=encoder,
        question=question,
        evidence=None if evidence is None else tuple(evidence),
        cut=tuple(split_sentences(answer) if sentences is None else sentences),
        constants=load_constants() if constants is None else constants,
    )


@memoised(KEPT, small=is_small)
def _align(
    *,
    arguments: tuple[str, ...],
    answer: str,
    encoder: Encodes,
    question: str | None,
    evidence: tuple[str, ...] | None,
    cut: tuple[Sentence, ...],
    constants: Constants,
) -> Alignment:
    units = units_of(answer, cut)
    found = measure(
        arguments,
        [unit.text for unit in units],
        encoder,
        question=question,
        evidence=evidence,
        blend=constants.blend,
        said=verbatim(arguments, answer, units, cut),
    )
    return frozen(conclude(arguments, cut, units, found, constants))


def conclude(
    arguments: tuple[str, ...],
    sentences: tuple[Sentence, ...],
    units: tuple[Unit, ...],
    found: Features,
    constants: Constants,
) -> Alignment:
    """The alignment that follows from measures."""
    atoms = _atoms(units, len(sentences))
    p_claimless = constants.claimless(found.claimless())
    p_unsupported = constants.unsupported(found.unsupported()) * (1.0 - p_claimless)
    unsupported = 1.0 - np.minimum(found.support.astype(np.float64), 1.0)
    p_says = constants.says(found.says())
    flat = np.array([u for group in atoms for u in group], np.int64)
    return Alignment(
        arguments=arguments,
        sentences=sentences,
        units=units,
        atoms=atoms,
        features=found,
        missing=1.0 - np.minimum(found.mutual.max(axis=1, initial=0.0).astype(np.float64), 1.0),
        unsupported=unsupported,
        unsupported_sentences=np.array([unsupported[list(group)].max() for group in atoms]),
        p_says=p_says,
        p_missing=constants.missing(found.missing()),
        p_unsupported=p_unsupported,
        p_unsupported_sentences=np.array([p_unsupported[list(group)].max() for group in atoms]),
        p_claimless=p_claimless,
        p_claimless_sentences=np.array([p_claimless[list(group)].min() for group in atoms]),
        best_argument=p_says.argmax(axis=0) if len(arguments) else np.full(len(units), -1, np.int64),
        best_unit=flat[p_says[:, flat].argmax(axis=1)] if len(flat) else np.full(len(arguments), -1, np.int64),
    )


def _atoms(units: Sequence[Unit], n_sentences: int) -> tuple[tuple[int, ...], ...]:
    whole: list[int] = [-1] * n_sentences
    clauses: list[list[int]] = [[] for _ in range(n_sentences)]
    for index, unit in enumerate(units):
        if unit.is_clause:
            clauses[unit.sentence].append(index)
        else:
            whole[unit.sentence] = index
    return tuple(tuple(parts) or (one,) for one, parts in zip(whole, clauses, strict=True))
