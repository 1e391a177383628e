"""The small index of a knowledge base: a vector and a key for each name of a topic, kept on disk for large files."""

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

from eirene.core.logs import get_logger
from eirene.data.topics import Topic, key_of

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

logger = get_logger(__name__)

VERSION = 1
"""Of the file's layout; another number is another file."""
_BATCH = 1024
Progress = Callable[[int, int], None]
"""Told how many names are encoded, and of how many."""


@dataclass(frozen=True, slots=True, eq=False)
class Index:
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
) -> Index:
    """The index of some topics. Vectors have the precision of the file, so that a kept index finds the same."""
    names = [name for topic in topics for name in topic.names]
    owners = [n for n, topic in enumerate(topics) for _ in topic.names]
    vectors = []
    for start in range(0, len(names), _BATCH):
        vectors.append(encoder.encode(names[start : start + _BATCH]).astype(np.float16).astype(np.float32))
        if progress is not None:
            progress(min(start + _BATCH, len(names)), len(names))
    return Index(
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


def load(file: Path, *, size: int) -> Index | None:
    """The index in a file, or None where there is none that can be used; `size`: of the knowledge base in bytes."""
    if not file.is_file():
        return None
    try:
        with open(file, "rb") as data, np.load(data, allow_pickle=False) as held:
            index = Index(
                held["vectors"].astype(np.float32), held["owners"].astype(np.int64), held["keys"].astype(np.uint64),
                held["spans"].astype(np.int64),
            )  # fmt: skip
    except Exception as error:  # a torn file fails in whichever layer notices first: zip, npy header, or an array
        logger.info("the index %s cannot be read and is made again: %s", file, error)
        return None
    return index if _is_sound(index, size) else None


def _is_sound(index: Index, size: int) -> bool:
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


def save(index: Index, file: Path) -> None:
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
