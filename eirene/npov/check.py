"""Looks whether what a model wrote says every argument and nothing else, by the shipped encoder's alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eirene.alignment import align
from eirene.language import not_read
from eirene.topics import Topic

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

LIKELY = 0.5
"""Probability from which something is reported."""


@dataclass(frozen=True, slots=True)
class Check:
    """Ids of the arguments that the response seems not to say, and the sentences of it that no argument seems to back.

    Both are calibrated guesses (docs/detectors.md), not findings.
    """

    missing: tuple[str, ...]
    unsupported: tuple[str, ...]


def check(topic: Topic, main: str, encoder: Encodes) -> Check | None:
    """The check of a main response; None where it or its topic is in another language than English."""
    if not_read(main, [argument.text for _, argument in topic.arguments]) is not None:
        return None
    ids = [argument.id for _, argument in topic.arguments]
    found = align([argument.text for _, argument in topic.arguments], main, encoder, question=topic.question)
    return Check(
        tuple(i for i, p in zip(ids, found.p_missing, strict=True) if p >= LIKELY),
        tuple(s.text for s, p in zip(found.sentences, found.p_unsupported_sentences, strict=True) if p >= LIKELY),
    )
