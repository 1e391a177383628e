"""The answer that a critique is about, as its replies are held against it: worked out once for all samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from eirene.critique import Tag
from eirene.feedback_model.reading_claims import Statement, bracketed_tags, holds_tag, statements_of
from eirene.sentences import Sentence

_KEPT = 64  # answers whose samples come in side by side
_KEPT_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """An answer's statements, whether any holds what reads as a verdict, and the bracketed tags in them."""

    statements: tuple[Statement, ...]
    is_suspect: bool
    tags: frozenset[Tag]


def answer_read(sentences: Sequence[Sentence]) -> AnswerRead:
    """The answer of these sentences. The latest few are remembered: a critique is sampled twenty times and more."""
    key = tuple(sentences)
    return _remembered(key) if sum(len(s.text) for s in key) <= _KEPT_CHARACTERS else _read(key)


def _read(sentences: tuple[Sentence, ...]) -> AnswerRead:
    statements = tuple(statements_of(sentences))
    return AnswerRead(
        statements,
        is_suspect=any(holds_tag(s.text) for s in statements),
        tags=frozenset(tag for s in statements for tag in bracketed_tags(s.text)),
    )


_remembered = lru_cache(maxsize=_KEPT)(_read)
