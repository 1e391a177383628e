"""What stands in for arguments where passages are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eirene.alignment.calibration import Constants, load_constants
from eirene.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes


def passage_sentences(passages: Sequence[str]) -> tuple[str, ...]:
    """All sentences of the passages, in order, blank ones and copies left out."""
    return tuple(dict.fromkeys(s.text for passage in passages for s in split_sentences(passage) if s.text))


def bearing_sentences(
    passages: Sequence[str], question: str, encoder: Encodes, *, constants: Constants | None = None
) -> tuple[str, ...]:
    """The passages' sentences that bear on the question, in order: what an answer is expected to cover.

    A sentence bears on it if its cosine with the question reaches the share `bearing` of the highest one there is; at
    least one does where there are any. This finds the topic, not the answer: on questions with passages it tells little
    of what a good answer would have used.
    """
    constants = load_constants() if constants is None else constants
    sentences = passage_sentences(passages)
    if not sentences:
        return ()
    similarity = encoder.encode(sentences) @ encoder.encode([question])[0]
    threshold = float(similarity.max()) * constants.bearing
    return tuple(s for s, value in zip(sentences, similarity, strict=True) if value >= min(threshold, similarity.max()))
