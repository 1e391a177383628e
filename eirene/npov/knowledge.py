"""A knowledge base of topics: which topic a question is about, by the vectors of questions and other names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import InputError
from eirene.data import read_topics
from eirene.data.topics import Topic, key_of
from eirene.models.encoder.runtime import shipped_encoder

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

THRESHOLD = 0.63
"""Cosine from which a topic fits. Chosen on one half of 148 machine-written questions with hand-made labels and checked
on the other (docs/guides/npov.md): the encoder takes "should be banned" for half of what is said."""
_BATCH = 1024
Progress = Callable[[int, int], None]
"""Told how many names are encoded, and of how many."""


@dataclass(frozen=True, slots=True)
class TopicHit:
    """A topic and how well it fits: its number in the file (from 0), the cosine of query and nearest name in [-1, 1],
    and whether the query is one of its names, word for word (then the similarity is 1)."""

    n: int
    topic: Topic
    similarity: float
    exact: bool


@dataclass(frozen=True, slots=True)
class TopicSearch:
    """What a query found: the topic that fits, or None; and the nearest ones, best first, ties as in the file."""

    match: TopicHit | None
    nearest: tuple[TopicHit, ...]


class KnowledgeBase:
    """Topics and the vectors of their names; `load_topics` makes one from a file."""

    def __init__(self, topics: Sequence[Topic], encoder: Encodes, *, progress: Progress | None = None) -> None:
        self._topics = topics
        self._encoder = encoder
        self.encoder_digest = encoder.digest
        self._vectors = _encoded([name for topic in topics for name in topic.names], encoder, progress)
        self._owners = np.array([n for n, topic in enumerate(topics) for _ in topic.names], np.int64)
        self._named: dict[str, list[int]] = {}
        for n, topic in enumerate(topics):
            for name in topic.names:
                self._named.setdefault(key_of(name), []).append(n)

    def __len__(self) -> int:
        return len(self._topics)

    def __getitem__(self, n: int) -> Topic:
        return self._topics[n]

    def find(self, query: str, *, k: int = 3, threshold: float = THRESHOLD) -> TopicSearch:
        """The topic that a query is about: the one it names word for word, else the nearest from `threshold` on.

        Case, punctuation and white space do not matter for a name. The same query finds the same topic; of two that
        are equally near the first in the file is taken. Raises `InputError` for a blank query or a number out of range.
        """
        if not query.strip():
            raise InputError("the query is blank; ask a question", field="query")
        if k < 1:
            raise InputError(f"k must be at least 1, got {k}", field="k")
        if not -1 <= threshold <= 1:  # also NaN
            raise InputError(f"threshold must lie in [-1, 1], got {threshold}", field="threshold")
        if not len(self):
            return TopicSearch(None, ())
        near = np.full(len(self), -1.0, np.float32)
        np.maximum.at(near, self._owners, self._vectors @ self._encoder.encode([query])[0])
        named = list(dict.fromkeys(self._named.get(key_of(query), ())))
        near[named] = 2.0  # before everything else, in the order of the file
        order = np.argsort(-near, kind="stable")[:k]
        nearest = tuple(
            TopicHit(int(n), self[int(n)], 1.0 if n in named else min(1.0, float(near[n])), int(n) in named)
            for n in order
        )
        fits = nearest[0].exact or nearest[0].similarity >= threshold
        return TopicSearch(nearest[0] if fits else None, nearest)


def load_topics(path: str, *, encoder: Encodes | None = None, progress: Progress | None = None) -> KnowledgeBase:
    """The knowledge base in a file or dataset (see `read_topics`), or on standard input (`-`); every row is checked.

    `progress` hears of the encoding. Raises `InputError` that names file, row and field.
    """
    encoder = shipped_encoder() if encoder is None else encoder
    return KnowledgeBase(read_topics(path), encoder, progress=progress)


def _encoded(names: Sequence[str], encoder: Encodes, progress: Progress | None) -> NDArray[np.float32]:
    """The vectors of names, float32 [names, width], each of length 1."""
    parts = [encoder.encode([])]
    for start in range(0, len(names), _BATCH):
        parts.append(encoder.encode(names[start : start + _BATCH]))
        if progress is not None:
            progress(min(start + _BATCH, len(names)), len(names))
    return np.concatenate(parts)
