"""AnswerEvidence of the embedded critic: features of arguments and of the parts of an answer.

Beside the alignment's own measures there are four ideas. What all arguments of a question have in common says nothing
about which of them a part says, so the question's direction is taken out of the vectors. A part whose argument is said
better elsewhere is more likely something else. An argument is rather said among those of its own perspective. And a
part that lies as close to an argument together with its neighbour as the neighbour alone elaborates on it, or was cut
off by mistake. No measure counts anything.

`Critic` are the logistic functions from measures to probabilities, and the thresholds. `critic.json` is written by
`benchmarks/fit_critic.py`, on training claims that the encoder had not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import Logistic, digest_of, read_json, real
from eirene.alignment.comparison import Comparison, passage_sentences
from eirene.alignment.features import WordWeights, overlap
from eirene.core.errors import EncoderError
from eirene.core.records import Item
from eirene.text.cancellation import check_cancelled
from eirene.text.clauses import Unit, core_text, opening_length, units_of
from eirene.text.sentences import Sentence, split_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

Table = NDArray[np.float64]
Measures = NDArray[np.float32]

UNSUPPORTED = ("support", "rivalled", "beaten", "leaning", "at_home")
CLAIMLESS = ("prototype", "support")
MISSING = ("two_sided", "at_home")
PASSAGE_UNSUPPORTED = ("log_odds",)

_WORDS = 0.3
"""Weight of shared words beside a cosine; that of the alignment."""
_FIRM, _SOFT = 0.1, 0.15
"""Temperatures at which arguments compete for a part, and parts for an argument; from training claims."""
_NO_LOSS = -0.03
"""A neighbour that says something else moves two parts together further from the argument than this."""


_SIDE = 0.15
"""What standing in its own perspective rather than in another adds to a closeness."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerEvidence:
    """Measures of an answer with n parts (its atoms, as indices of units, in order) against A arguments.

    `unsupported` [n, 5] and `claimless` [n, 2] hold the measures of those names for each part, `vectors` [n, width] are
    the parts'. `closeness` [A, n] is the cosine without the question's direction plus the weighed word overlap,
    `placed` the same with the place of the part counted in; `home` [A, n] marks the parts that stand in the argument's
    perspective (all, where there are no two), `said` [A, n] those that say the argument word for word.
    """

    atoms: tuple[int, ...]
    unsupported: Measures
    claimless: Measures
    vectors: Measures
    closeness: Table
    placed: Table
    home: NDArray[np.bool_]
    said: NDArray[np.bool_]

    def missing(self, kept: NDArray[np.bool_]) -> Measures:
        """The measures `MISSING` of each argument, [A, 2], when only the parts in `kept` [n] count as said."""
        placed = self.placed[:, kept]
        two_sided = _mutual(placed, 0, _FIRM) * _softmax(placed, 1, _FIRM)
        at_home = _mutual(self.closeness[:, kept], 0, _SOFT) * self.home[:, kept]
        return np.stack([m.max(axis=1, initial=0.0) for m in (two_sided, at_home)], axis=-1).astype(np.float32)


def gather(comparison: Comparison, question: str, answer: str, encoder: Encodes) -> AnswerEvidence:
    """Measures a comparison with at least one argument. Neighbouring parts are encoded once more, together."""
    alignment = comparison.alignment
    atoms = tuple(u for group in alignment.atoms for u in group)
    texts = [alignment.units[u].text for u in atoms]
    where = [alignment.units[u].sentence for u in atoms]
    given, said = encoder.encode(alignment.arguments), encoder.encode(texts)
    direction = encoder.encode([question])[0]
    words = overlap(alignment.arguments, texts, WordWeights(alignment.arguments, question))
    cosine = (given @ said.T).astype(np.float64)
    closeness = (_without(given, direction) @ _without(said, direction).T).astype(np.float64) + _WORDS * words.f1
    stands = np.array([comparison.stands[s] or "" for s in where], object)
    home = np.array([(stands == (g or "")) | (stands == "") for g in comparison.groups], bool).reshape(cosine.shape)
    prototype = np.asarray(alignment.features.prototype, np.float64)[list(atoms)]
    measures = (
        _joint_support(comparison, answer, encoder, cosine) + _WORDS * words.precision.max(axis=0, initial=0.0),
        _mutual(cosine + _WORDS * words.precision, 1, _FIRM).max(axis=0, initial=0.0),
        _beaten(closeness),
        _leaning(comparison, answer, atoms),
        np.where(home.any(axis=0), np.where(home, closeness, -1.0).max(axis=0, initial=-1.0), _top(closeness)),
    )
    return AnswerEvidence(
        atoms=atoms,
        unsupported=np.stack(measures, axis=-1).astype(np.float32),
        claimless=np.stack([prototype, _top(cosine)], axis=-1).astype(np.float32),
        vectors=said,
        closeness=closeness,
        placed=closeness + _SIDE * (comparison.sides[:, where] - 0.5),
        home=home,
        said=alignment.features.said[:, list(atoms)],
    )


def _top(table: Table) -> Table:
    """The highest value of each column, at least 0."""
    return np.asarray(table.max(axis=0, initial=0.0), np.float64)


def _leaning(comparison: Comparison, answer: str, atoms: tuple[int, ...]) -> Table:
    """1 for a clause that hangs on its neighbour by a bare "and" or "but", 0 for what stands on its own; [n]."""
    found = np.zeros(len(atoms))
    for i in range(len(atoms) - 1):
        a, b = comparison.alignment.units[atoms[i]], comparison.alignment.units[atoms[i + 1]]
        joint = answer[a.end : b.start]
        if a.sentence == b.sentence and ";" not in joint and not joint.rstrip().endswith(" that"):
            found[i] = found[i + 1] = 1.0
    return found


def _joint_support(comparison: Comparison, answer: str, encoder: Encodes, cosine: Table) -> Table:
    """Each part's cosine with an argument, alone or with a neighbour that is not drawn off its own argument by it."""
    atoms = tuple(u for group in comparison.alignment.atoms for u in group)
    joint = _top(cosine)
    units, sentences = comparison.alignment.units, comparison.alignment.sentences
    pairs = [(i, together(answer, sentences, units[a], units[b])) for i, (a, b) in enumerate(pairwise(atoms))]
    pairs = [(i, text) for i, text in pairs if text]
    if not pairs:
        return joint
    given = encoder.encode(comparison.alignment.arguments)
    joined = (given @ encoder.encode([text for _, text in pairs]).T).astype(np.float64)
    for column, (left, _) in enumerate(pairs):
        check_cancelled()
        for part, neighbour in ((left, left + 1), (left + 1, left)):
            argument = int(cosine[:, neighbour].argmax())
            if joined[argument, column] - cosine[argument, neighbour] > _NO_LOSS:
                joint[part] = max(joint[part], joined[argument, column])
    return joint


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


def texts_of(item: Item) -> Iterator[str]:
    """The question, what is given, the units of the answer, and its neighbouring parts taken together.

    A text too many costs its encoding, one too few is encoded when it is asked for: neither changes a record.
    """
    yield item.query
    if item.perspectives:
        yield from (" ".join(argument.split()) for side in item.perspectives for argument in side.arguments)
    elif item.context:
        yield from passage_sentences(item.context)
    else:
        return
    sentences = split_sentences(item.answer)
    units = units_of(item.answer, sentences)
    yield from (unit.text for unit in units)
    clauses: list[list[Unit]] = [[] for _ in sentences]
    for unit in units:
        if unit.is_clause or not clauses[unit.sentence]:
            clauses[unit.sentence] = [u for u in clauses[unit.sentence] if u.is_clause] + [unit]
    for a, b in pairwise(chain.from_iterable(clauses)):
        text = together(item.answer, sentences, a, b)
        if text:
            yield text


def together(answer: str, sentences: Sequence[Sentence], a: Unit, b: Unit) -> str:
    """Two parts as one text: clauses of a sentence, or a sentence and the next if that opens no new point; else ""."""
    if a.sentence != b.sentence and opening_length(sentences[b.sentence].text):
        return ""
    return core_text(answer[a.start : b.end])


_FILE = "critic.json"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """From which calibrated probability each kind of fault is named, and how much single critiques differ.

    A threshold t says that naming a fault wrongly costs t / (1 - t) times as much as passing over one. `restated` is
    the one for arguments that only a part says which is to go; `passage_unsupported` holds against passages.

    `temperature` scales the noise of a draw in log odds (0: all draws are one); `coherence` in [0, 1] is the share of
    the noise that all sentences of a draw have in common: strict and lenient readers.
    """

    missing: float
    restated: float
    unsupported: float
    repeated: float
    misplaced: float
    passage_unsupported: float
    temperature: float
    coherence: float


@dataclass(frozen=True, slots=True)
class Critic:
    """Logistic functions of the measures in `AnswerEvidence`, and the operating point.

    `digest` (8 hex digits) changes with anything in the file, and belongs in the signature of what was made with it.
    """

    digest: str
    missing: Logistic
    unsupported: Logistic
    claimless: Logistic
    passage_unsupported: Logistic
    point: OperatingPoint


@lru_cache(maxsize=1)
def load_critic() -> Critic:
    """The shipped constants."""
    return parse_critic(read_json("eirene.feedback_model.embedded", _FILE))


def parse_critic(data: Mapping[str, Any]) -> Critic:
    """A critic from the content of its file; raises `EncoderError` where that does not fit this version."""
    point = data.get("operating_point")
    names = [f.name for f in fields(OperatingPoint)]
    if not isinstance(point, Mapping) or sorted(point) != sorted(names):
        raise EncoderError(f"{_FILE}: the operating point must have {names}, got {point!r}")
    return Critic(
        missing=Logistic.read(data, "missing", MISSING, file=_FILE),
        unsupported=Logistic.read(data, "unsupported", UNSUPPORTED, file=_FILE),
        claimless=Logistic.read(data, "claimless", CLAIMLESS, file=_FILE),
        passage_unsupported=Logistic.read(data, "passage_unsupported", PASSAGE_UNSUPPORTED, file=_FILE),
        point=OperatingPoint(**{name: real(point, name, file=_FILE) for name in names}),
        digest=digest_of(data),
    )
