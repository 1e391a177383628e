"""A knowledge base of topics: which topic a question is about, by the vectors of questions and other names."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.core import memo
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data import read_topics
from eirene.data.topics import Topic, key_of
from eirene.models.encoder.runtime import shipped_encoder

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

THRESHOLD = 0.63
"""Cosine from which a topic fits. Chosen on one half of 148 machine-written questions with hand-made labels and checked
on the other (docs/guides/npov.md): the encoder takes "should be banned" for half of what is said."""
KEPT_NAMES = 500
"""Names from which vectors are kept on disk: fewer are encoded in a second or two."""
logger = get_logger(__name__)
_BATCH = 1024
Vectors = NDArray[np.float32]
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
    """Topics and the vectors of their names; `load_topics` makes one from a file.

    `vectors`: float32 [names of all topics in order, width], each of length 1; None: they are encoded.
    """

    def __init__(self, topics: Sequence[Topic], encoder: Encodes, *, vectors: Vectors | None = None) -> None:
        self._topics = topics
        self._encoder = encoder
        self._vectors = _encoded(_names(topics), encoder, None) if vectors is None else vectors
        self._owners = np.array([n for n, topic in enumerate(topics) for _ in topic.names], np.int64)
        self._named: dict[str, list[int]] = {}
        for n, topic in enumerate(topics):
            for name in topic.names:
                self._named.setdefault(key_of(name), []).append(n)

    def __len__(self) -> int:
        return len(self._topics)

    def __getitem__(self, n: int) -> Topic:
        return self._topics[n]

    @property
    def encoder_digest(self) -> str:
        """Of the encoder that compares, for signatures."""
        return self._encoder.digest

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


def load_topics(
    path: str, *, encoder: Encodes | None = None, cache_folder: Path | None = None, progress: Progress | None = None
) -> KnowledgeBase:
    """The knowledge base in a file or dataset (see `read_topics`), or on standard input (`-`); every row is checked.

    The vectors of many names are kept in `cache_folder` (default: the user's), by the names' hash: the next time
    nothing is encoded. `progress` hears of the encoding. Raises `InputError` that names file, row and field.
    """
    encoder = shipped_encoder() if encoder is None else encoder
    topics = read_topics(path)
    names = _names(topics)
    folder = memo.cache_folder() if cache_folder is None else cache_folder
    if folder is None or len(names) < KEPT_NAMES:
        return KnowledgeBase(topics, encoder, vectors=_encoded(names, encoder, progress))
    digest = hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    file = folder / f"topics-{digest}-{encoder.digest}.npy"
    vectors = _kept(file, len(names))
    if vectors is None:
        vectors = _encoded(names, encoder, progress)
        _keep(vectors, file)
    return KnowledgeBase(topics, encoder, vectors=vectors)


def _names(topics: Sequence[Topic]) -> list[str]:
    return [name for topic in topics for name in topic.names]


def _encoded(names: Sequence[str], encoder: Encodes, progress: Progress | None) -> Vectors:
    """The vectors of names, in the precision of the file, so that kept ones find the same."""
    parts = [encoder.encode([])]
    for start in range(0, len(names), _BATCH):
        parts.append(encoder.encode(names[start : start + _BATCH]))
        if progress is not None:
            progress(min(start + _BATCH, len(names)), len(names))
    return np.concatenate(parts).astype(np.float16).astype(np.float32)


def _kept(file: Path, names: int) -> Vectors | None:
    """The vectors in a file, or None where there are none that can be used."""
    if not file.is_file():
        return None
    try:
        vectors: Vectors = np.load(file, allow_pickle=False).astype(np.float32)
    except Exception as error:  # a torn file fails in whichever layer notices first
        logger.info("the vectors %s cannot be read and are made again: %s", file, error)
        return None
    return vectors if vectors.ndim == 2 and len(vectors) == names and bool(np.isfinite(vectors).all()) else None


def _keep(vectors: Vectors, file: Path) -> None:
    """Keeps the vectors; where the folder cannot be written, that is logged and nothing is lost but time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".tmp", delete=False) as out:
            np.save(out, vectors.astype(np.float16))
        os.replace(out.name, file)
    except OSError as error:
        logger.info("the vectors are not kept: %s", error)
