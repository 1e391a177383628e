"""A knowledge base of topics: which topic a question is about, by an index of questions and arguments."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.core import memo
from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.logs import get_logger
from eirene.data import read_topics
from eirene.data.json_rows import read_source
from eirene.data.topics import Topic, key_of, parse_topic
from eirene.models.encoder.runtime import shipped_encoder

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

THRESHOLD = 0.63
"""Cosine from which a topic fits. Chosen on one half of 148 machine-written questions with hand-made labels and checked
on the other (docs/guides/npov.md): the encoder takes "should be banned" for half of what is said."""
KEPT_NAMES = 500
"""Names from which an index is kept on disk: fewer are encoded in a second or two."""
_BOM = b"\xef\xbb\xbf"
_LINES = (".jsonl", ".ndjson")
logger = get_logger(__name__)
VERSION = 1
"""Of the file's layout; another number is another file."""
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
    """Topics and their index. `load_topics` makes one from a file; made by hand it takes topics as they are."""

    def __init__(self, topics: Sequence[Topic], encoder: Encodes, *, index: TopicIndex | None = None) -> None:
        self._topics = topics
        self._encoder = encoder
        self._index = build(topics, encoder, progress=None) if index is None else index

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
        near = self._index.similarities(self._encoder.encode([query])[0], len(self))
        named = self._named(query)
        near[named] = 2.0  # before everything else, in the order of the file
        order = np.argsort(-near, kind="stable")[:k]
        nearest = tuple(
            TopicHit(int(n), self[int(n)], 1.0 if n in named else min(1.0, float(near[n])), int(n) in named)
            for n in order
        )
        fits = nearest[0].exact or nearest[0].similarity >= threshold
        return TopicSearch(nearest[0] if fits else None, nearest)

    def _named(self, query: str) -> list[int]:
        """The topics of which the query is a name; the texts decide, not their hashes."""
        hits = np.unique(self._index.owners[self._index.keys == np.uint64(hashed(query))])
        return [int(n) for n in hits if key_of(query) in map(key_of, self[int(n)].names)]


def load_topics(
    path: str, *, encoder: Encodes | None = None, cache_folder: Path | None = None, progress: Progress | None = None
) -> KnowledgeBase:
    """The knowledge base in a file or dataset (see `read_topics`), or on standard input (`-`); every row is checked.

    The index of a large JSON Lines file is kept in `cache_folder` (default: the user's), by the file's hash: the next
    time nothing is encoded, and only the topics that are asked for are parsed. `progress` hears of the encoding.
    Raises `InputError` that names file, row and field.
    """
    encoder = shipped_encoder() if encoder is None else encoder
    data = _lines_in(path)
    spans = None if data is None else _spans(data)
    file = None
    folder = memo.cache_folder() if cache_folder is None else cache_folder
    if data is not None and spans is not None and folder is not None:
        file = cache_file(folder, data, encoder)
        kept = load(file, size=len(data))
        if kept is not None:
            return KnowledgeBase(_Shelf(path, data, kept.spans), encoder, index=kept)
    topics = read_topics(path)
    if spans is not None and len(spans) != len(topics):  # an array after all, whatever the name says
        spans = file = None
    index = build(topics, encoder, spans=spans, progress=progress)
    if file is not None and len(index.owners) >= KEPT_NAMES:
        save(index, file)
    return KnowledgeBase(topics, encoder, index=index)


class _Shelf(Sequence[Topic]):
    """The topics of a file that has been checked before, parsed when they are taken."""

    def __init__(self, name: str, data: bytes, spans: NDArray[np.int64]) -> None:
        self._name = name
        self._data = data
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    def __getitem__(self, n: int) -> Topic:  # type: ignore[override]  # slices are never asked for
        start, end = (int(offset) for offset in self._spans[n])
        where = f"{self._name}, topic {n + 1}"
        return parse_topic(parse_json(self._data[start:end], where=where), where=where)


def _lines_in(path: str) -> bytes | None:
    """The bytes of a file of JSON Lines, without a byte order mark; None for whatever else `path` names."""
    if not path.endswith(_LINES) or not Path(path).is_file():
        return None
    return read_source(path).data.removeprefix(_BOM)


def _spans(data: bytes) -> NDArray[np.int64] | None:
    """Where each line that is not blank stands in the data; None where they hold something else."""
    if data.lstrip()[:1] != b"{":
        return None
    return np.array(list(_line_spans(data)), np.int64).reshape(-1, 2)


def _line_spans(data: bytes) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if data[start:end].strip():
            yield start, end
        start = end + 1


@dataclass(frozen=True, slots=True, eq=False)
class TopicIndex:
    """For N names: `vectors` [N, width] of length 1, `owners` [N] the number of the topic, `keys` [N] what an exact
    match must have. `spans` [topics, 2]: where in the file a topic's line stands, or [0, 2] where it has no lines.
    """

    vectors: NDArray[np.float32]
    owners: NDArray[np.int64]
    keys: NDArray[np.uint64]
    spans: NDArray[np.int64]

    def similarities(self, query: NDArray[np.float32], topics: int) -> NDArray[np.float32]:
        """The cosine of a query with the nearest name of each topic, [topics]."""
        found = np.full(topics, -1.0, np.float32)
        np.maximum.at(found, self.owners, self.vectors @ query)
        return found


def build(
    topics: Sequence[Topic], encoder: Encodes, *, spans: NDArray[np.int64] | None = None, progress: Progress | None
) -> TopicIndex:
    """The index of some topics. Vectors have the precision of the file, so that a kept index finds the same."""
    names = [name for topic in topics for name in topic.names]
    owners = [n for n, topic in enumerate(topics) for _ in topic.names]
    vectors = []
    for start in range(0, len(names), _BATCH):
        vectors.append(encoder.encode(names[start : start + _BATCH]).astype(np.float16).astype(np.float32))
        if progress is not None:
            progress(min(start + _BATCH, len(names)), len(names))
    return TopicIndex(
        np.concatenate(vectors) if vectors else encoder.encode([]),
        np.array(owners, np.int64),
        np.array([hashed(name) for name in names], np.uint64),
        np.zeros((0, 2), np.int64) if spans is None else spans,
    )


def hashed(name: str) -> int:
    """64 bits that stand for a name's words."""
    return int.from_bytes(hashlib.sha256(key_of(name).encode("utf-8", "surrogatepass")).digest()[:8], "big")


def cache_file(folder: Path, data: bytes, encoder: Encodes) -> Path:
    """The file for this knowledge base and this encoder: another byte in either is another file."""
    return folder / f"topics-{hashlib.sha256(data).hexdigest()[:32]}-{encoder.digest}-{VERSION}.npz"


def load(file: Path, *, size: int) -> TopicIndex | None:
    """The index in a file, or None where there is none that can be used; `size`: of the knowledge base in bytes."""
    if not file.is_file():
        return None
    try:
        with open(file, "rb") as data, np.load(data, allow_pickle=False) as held:
            index = TopicIndex(
                held["vectors"].astype(np.float32), held["owners"].astype(np.int64), held["keys"].astype(np.uint64),
                held["spans"].astype(np.int64),
            )  # fmt: skip
    except Exception as error:  # a torn file fails in whichever layer notices first: zip, npy header, or an array
        logger.info("the index %s cannot be read and is made again: %s", file, error)
        return None
    return index if _is_sound(index, size) else None


def _is_sound(index: TopicIndex, size: int) -> bool:
    names, topics = len(index.vectors), len(index.spans)
    return (
        index.vectors.ndim == 2
        and index.owners.shape == index.keys.shape == (names,)
        and index.spans.ndim == 2
        and index.spans.shape[1] == 2
        and topics > 0
        and names > 0
        and bool(np.isfinite(index.vectors).all())
        and index.owners.min() >= 0
        and index.owners.max() == topics - 1
        and index.spans.min() >= 0
        and index.spans.max() <= size
    )


def save(index: TopicIndex, file: Path) -> None:
    """Keeps the index; where the folder cannot be written, that is logged and nothing is lost but time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.stem + ".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as out:
                np.savez(
                    out, vectors=index.vectors.astype(np.float16), owners=index.owners, keys=index.keys,
                    spans=index.spans,
                )  # fmt: skip
            os.replace(name, file)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        logger.info("the index is not kept: %s", error)
