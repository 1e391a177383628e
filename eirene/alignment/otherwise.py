"""Said otherwise: arguments and parts of an answer that share words of which a frame makes something else in one.

"Vaccines cause autism." does not say "It is a myth that vaccines cause autism.", however close the two are to an
encoder, nor the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.text.frames import StatementFrame, frames_of
from eirene.text.polarity.mark_words import DENIES
from eirene.text.polarity.marks import read_marks
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

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
