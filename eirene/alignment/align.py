"""`align`: which argument each unit of an answer says, by features calibrated to probabilities; recent ones are cached.

`constants.json` has what was fitted on training data, and names the encoder that it was fitted for.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eirene.alignment import features
from eirene.alignment.features import Blend, Features, measure
from eirene.alignment.verbatim import verbatim
from eirene.core.errors import EncoderError
from eirene.core.signature import digest
from eirene.text.clauses import Unit, units_of
from eirene.text.remembered import memoised
from eirene.text.sentences import Sentence, split_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

T = TypeVar("T")
Array = NDArray[np.float64]

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


SCORING = 4
"""Counted up whenever the same files give the same text other scores, if only in the last bit: in how vectors are
computed and summed, or in how sentences and arguments are compared. Belongs in the signature of what was
made with it, as `Constants.digest` does."""

_FILE = "constants.json"
_SHIPPED = {
    "checkworthiness.json": "ee5febd07601",
    "constants.json": "c1ba12a3af5d",
    "critic.json": "937426098253",
    "passages.json": "1da1d9fc0c8a",
    "unsaid.json": "943618b0417e",
}
"""SHA-256 of each fitted file's text, its first 12 hex digits. One other digit in a file would change scores unseen."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(bias + weights . features) over the last axis."""

    weights: tuple[float, ...]
    bias: float

    def __call__(self, measures: NDArray[np.float32]) -> Array:
        """Probabilities in (0, 1), of the shape of `measures` without its last axis."""
        total = np.clip(measures.astype(np.float64) @ np.array(self.weights) + self.bias, -50.0, 50.0)
        return np.asarray(1.0 / (1.0 + np.exp(-total)), np.float64)

    @classmethod
    def read(cls, data: Mapping[str, Any], key: str, names: Sequence[str], *, file: str) -> Logistic:
        """The function that a constants file holds under `key`, for these features in this order.

        Raises `EncoderError` that names the `file` where there is none, or one for other features.
        """
        entry = data.get(key)
        weights = entry.get("weights") if isinstance(entry, Mapping) else None
        if entry is None or not isinstance(weights, Mapping) or tuple(weights) != tuple(names):
            raise EncoderError(f"{file}: {key!r} must have the weights {list(names)}; fit it again for this version")
        return cls(tuple(real(weights, name, file=file) for name in names), real(entry, "bias", file=file))


@dataclass(frozen=True, slots=True)
class Constants:
    """All that was fitted. `encoder` is the digest of the encoder it was fitted for; another one works less well.

    `digest` (8 hex digits) changes with anything in the file, and belongs in the signature of what was made with it.
    """

    digest: str
    encoder: str
    blend: Blend
    bearing: float
    says: Logistic
    missing: Logistic
    unsupported: Logistic
    claimless: Logistic


@lru_cache(maxsize=1)
def load_constants() -> Constants:
    """The shipped constants."""
    return parse_constants(read_json("eirene.alignment", _FILE))


def parse_constants(data: Mapping[str, Any]) -> Constants:
    """Constants from the content of a constants file; raises `EncoderError` where it does not fit this version."""
    return Constants(
        encoder=str(data.get("encoder")),
        blend=Blend(words=real(data, "words", file=_FILE), temperature=real(data, "temperature", file=_FILE)),
        bearing=real(data, "bearing", file=_FILE),
        says=Logistic.read(data, "says", features.SAYS, file=_FILE),
        missing=Logistic.read(data, "missing", features.MISSING, file=_FILE),
        unsupported=Logistic.read(data, "unsupported", features.UNSUPPORTED, file=_FILE),
        claimless=Logistic.read(data, "claimless", features.CLAIMLESS, file=_FILE),
        digest=digest_of(data),
    )


def read_json(package: str, file: str) -> Any:
    """The object in a JSON file that ships in a package; raises `EncoderError` where the file is missing or damaged,
    or not the one that shipped."""
    try:
        text = files(package).joinpath(file).read_text("utf-8")
        known = hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]
        if _SHIPPED.get(file, known) != known:
            raise ValueError(f"it is not the one that ships: digest {known}, not {_SHIPPED[file]}")
        found = json.loads(text)
    except (OSError, ValueError) as error:
        raise EncoderError(f"{file}: cannot be read ({error}); reinstall eirene") from error
    if not isinstance(found, dict):
        raise EncoderError(f"{file}: must hold a JSON object; reinstall eirene")
    return found


def digest_of(data: Mapping[str, Any]) -> str:
    """8 hex digits that stand for the content of a constants file."""
    return digest(dict(data))[:8]


def real(data: Mapping[str, Any], key: str, *, file: str) -> float:
    """The number under `key`; raises `EncoderError` that names the `file` where there is none, NaN or infinity."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise EncoderError(f"{file}: {key!r} must be a number, got {value!r}")
    return float(value)


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
    p_says: Array
    p_missing: Array
    p_unsupported: Array
    p_unsupported_sentences: Array
    p_claimless: Array
    p_claimless_sentences: Array
    best_argument: NDArray[np.int64]
    best_unit: NDArray[np.int64]


def align(
    arguments: Sequence[str],
    answer: str,
    encoder: Encodes,
    *,
    question: str | None = None,
    evidence: Sequence[str] | None = None,
    sentences: Sequence[Sentence] | None = None,
) -> Alignment:
    """Aligns arguments with an answer's units. Copies of an argument share what says them; their order does not matter.

    With `question`, its words count for little. `evidence` is what may support a unit, by default the arguments;
    `sentences` are those of the answer where they are cut already. Works
    without arguments (nothing is missing) and on any text.
    """
    return _align(
        arguments=tuple(arguments),
        answer=answer,
        encoder=encoder,
        question=question,
        evidence=None if evidence is None else tuple(evidence),
        cut=tuple(split_sentences(answer) if sentences is None else sentences),
        constants=load_constants(),
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
