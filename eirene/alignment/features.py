"""Features of arguments and units before any decision. No feature counts anything.

Word overlap between given texts and units, weighed so that the words of the topic itself say little.

What sentences sound like that claim nothing about the matter: introductions, fillers, calls for fairness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.text.cancellation import check_cancelled
from eirene.text.frames import StatementFrame, frames_of
from eirene.text.polarity.marks import DENIES, read_marks
from eirene.text.sentences import split_sentences
from eirene.text.words import listed_sentences, stems

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

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

    What says an argument otherwise (`eirene.alignment.features`), denied or asked, is as far from it as can be.
    `evidence` is what may support the units: None means the arguments. Saying an argument and more supports nothing.
    """
    vectors = encoder.encode([*arguments, *texts])
    given, spoken = vectors[: len(arguments)], vectors[len(arguments) :]
    cosine = np.clip(given @ spoken.T, -1.0, 1.0)
    weights = WordWeights(arguments, question)
    words = overlap(arguments, texts, weights)
    turned = otherwise(arguments, texts, encoder)
    closeness = np.where(turned, np.float32(0.0), cosine + blend.words * words.f1)
    copies = (given @ given.T > _COPY) | np.eye(len(given), dtype=np.bool_)  # a blank one's vector is zero
    mutual = mutual_alignment(closeness, copies, blend.temperature)
    if evidence is None:
        support = np.where(turned, 0.0, cosine + blend.words * words.precision).max(axis=0, initial=0.0)
    else:
        spread = WordWeights(evidence, question)
        support = _support(evidence, encoder.encode(evidence), texts, spoken, weights=spread, words=blend.words)
    return Features(
        cosine=cosine,
        closeness=closeness,
        mutual=np.where(said & ~turned, np.float32(1.0 + blend.words), mutual),
        said=said & ~turned,
        support=support,
        prototype=(spoken @ encoder.encode(PROTOTYPES).T).max(axis=1, initial=0.0),
    )


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


QUESTION_WEIGHT = 0.1
"""Weight of a word that the question has: every argument may use it. Of 0.1, 0.3, 0.5 and 1 the best on
training data, by little."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Weighed shares with clipped counts, [G, U], in [0, 1]: of a given text's words in a unit, of a unit's in it."""

    recall: Table
    precision: Table

    @property
    def f1(self) -> Table:
        """Harmonic mean of recall and precision, [G, U]; 0 where nothing is shared."""
        total = self.recall + self.precision
        product = 2.0 * self.recall * self.precision
        return np.asarray(np.divide(product, total, out=np.zeros_like(total), where=total > 0), np.float32)


class WordWeights:
    """Weights of words: what few given texts say tells more than what all say, and the question's words tell little."""

    def __init__(self, given: Sequence[str], question: str | None) -> None:
        texts = {tuple(stems(text)) for text in given}
        self._spread = Counter(word for words in texts for word in set(words))
        self._asked = frozenset(stems(question)) if question else frozenset()

    def __call__(self, word: str) -> float:
        """The weight of a stem, in (0, 1]; 1 for a word that neither the given texts nor the question have."""
        base = QUESTION_WEIGHT if word in self._asked else 1.0
        return base / (1.0 + float(np.log2(max(self._spread[word], 1))))


def overlap(given: Sequence[str], units: Sequence[str], weight: WordWeights) -> Overlap:
    """The overlap of every given text with every unit. A text without content words overlaps with nothing."""
    have = [Counter(stems(text)) for text in given]
    column = {word: n for n, word in enumerate(dict.fromkeys(word for words in have for word in words))}
    weights = np.array([weight(word) for word in column], np.float32)
    counts = np.zeros((len(have), len(column)), np.float32)
    for row, words in zip(counts, have, strict=True):
        row[[column[word] for word in words]] = list(words.values())
    totals = counts @ weights
    recall = np.zeros((len(have), len(units)), np.float32)
    precision = np.zeros_like(recall)
    for u, text in enumerate(units):
        check_cancelled()
        words = Counter(stems(text))
        known = [word for word in words if word in column]
        if not known:
            continue
        at = [column[word] for word in known]
        shared = np.minimum(counts[:, at], np.array([words[word] for word in known], np.float32)) @ weights[at]
        recall[:, u] = np.divide(shared, totals, out=np.zeros_like(totals), where=totals > 0)
        precision[:, u] = shared / sum(weight(word) * n for word, n in words.items())
    return Overlap(np.minimum(recall, 1.0), np.minimum(precision, 1.0))


PROTOTYPES = listed_sentences("prototypes")
"""Sentences of our own: each says something about a debate and nothing about its matter."""


if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_ALIKE = 0.6
"""Least share of a text's words that a statement has that is left open: people argue by conditions and questions."""


def otherwise(arguments: Sequence[str], units: Sequence[str], encoder: Encodes) -> NDArray[np.bool_]:
    """Which units say only what an argument's frame governs, or the other way round, [A, U].

    That is so where one of the two has a frame and the other none, nor a word of denial, and is no closer in meaning to
    the first with its frame than without. What is only left open ("If the tax rises, ...") it must say in its words.
    """
    table = np.zeros((len(arguments), len(units)), np.bool_)
    given, said = [_frame(text) for text in arguments], [_frame(text) for text in units]
    for a, frame in enumerate(given):
        bare = [u for u, other in enumerate(said) if frame is not None and other is None]
        if frame is not None and bare:
            table[a, bare] = _only_governed(frame, arguments[a], [units[u] for u in bare], encoder)
    for u, frame in enumerate(said):
        bare = [a for a, other in enumerate(given) if frame is not None and other is None]
        if frame is not None and bare:
            table[bare, u] = _only_governed(frame, units[u], [arguments[a] for a in bare], encoder)
    return table


def _frame(text: str) -> StatementFrame | None:
    frames = frames_of([sentence.text for sentence in split_sentences(text)])
    return next(
        (frame for frame in frames if frame is not None and frame.kind in ("denied", "open", "condition")), None
    )


def _only_governed(frame: StatementFrame, whole: str, bare: Sequence[str], encoder: Encodes) -> NDArray[np.bool_]:
    """Which of some texts without a frame say what a frame governs, and not what the whole of it says."""
    vectors = encoder.encode([frame.statement, whole, *bare])
    closer = vectors[2:] @ vectors[0] >= vectors[2:] @ vectors[1]
    own = frozenset(stems(frame.statement))
    alike = [frame.kind == "denied" or len(own & set(stems(text))) >= _ALIKE * len(set(stems(text))) for text in bare]
    undenied = [not _denials(text) - _denials(frame.statement) for text in bare]
    return np.asarray(closer & np.array(alike) & np.array(undenied), np.bool_)


def _denials(text: str) -> set[str]:
    marked = read_marks(text)
    negations = {text[m.start : m.end].lower() for m in marked.marks if m.kind == "negation"}
    return negations | {word.stem for word in marked.words if word.stem in DENIES}
