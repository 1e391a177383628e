"""The index of a corpus on disk: built once, memory-mapped, updated by encoding only new passages.

A folder holds the vectors of every passage ever encoded (`eirene.retrieval.vectors`) and one view of them, the corpus
as it was last read (`eirene.retrieval.view`). A view is made aside and put in place by one rename; one that is torn, or
of another version, corpus or encoder, is made again from the vectors that are there.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eirene.core.errors import EncoderError, InputError
from eirene.data.json_rows import reason
from eirene.data.line_checksum import sealed
from eirene.retrieval.passages import WORDS, Passage, corpus_files, read_corpus
from eirene.retrieval.search import hashed, names_of, signs
from eirene.retrieval.vectors import Half, Store
from eirene.retrieval.view import VERSION, VIEW, PassageIndex, open_view, write_about

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_BATCH = 256
_ROWS = 65_536
Progress = Callable[[int], None]
"""Told how many passages have been encoded so far."""


def open_index(
    place: str,
    encoder: Encodes,
    *,
    folder: Path,
    words: int = WORDS,
    progress: Progress | None = None,
) -> PassageIndex:
    """The index of the corpus at `place` (a file or folder), made or brought up to date where that is needed.

    `folder` holds one subfolder a corpus place, encoder and size of passages. An index whose files have not changed
    since (size and time) is opened without reading the corpus. Raises `InputError` for a corpus that cannot be read or
    has no passage, for a folder that cannot be written or that another process is writing, and for vectors on disk
    that are not what was written; `EncoderError` where the encoder gives no numbers.
    """
    stamp = _stamp(place)
    named = hashlib.sha256(
        json.dumps([str(Path(place).resolve()), encoder.digest, words, VERSION]).encode()
    ).hexdigest()
    home = folder / f"corpus-{named[:24]}"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        index = open_view(home, stamp, encoder.digest)
        if index is not None:
            return index
        with _alone(home):
            # Another process may have made it meanwhile; where none has, what is wrong is said once, here.
            index = open_view(home, stamp, encoder.digest, tell=True)
            if index is None:
                _build(home, read_corpus(place, words=words), encoder, stamp, progress, where=place)
                index = open_view(home, stamp, encoder.digest)
    except OSError as error:
        raise InputError(f"the index cannot be written: {reason(error)}", where=str(home)) from None
    if index is None:
        raise InputError("the index was changed while it was being made; run the command again", where=str(home))
    return index


def _stamp(place: str) -> list[list[Any]]:
    root = Path(place)
    return [
        [str(file if file == root else file.relative_to(root)), stat.st_size, stat.st_mtime_ns]
        for file in corpus_files(place)
        for stat in [file.stat()]
    ]


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    with open(home / "lock", "ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another process is making this index; wait for it", where=str(home)) from None
        yield


class _PassageArrays:
    """The passages of a view as they are read: what is kept of each, in arrays of numbers."""

    def __init__(self) -> None:
        self.rows, self._spans = array("q"), array("q")
        self._keys, self._owners = array("Q"), array("i")

    def add(self, row: int, start: int, end: int, names: Iterable[str]) -> None:
        for name in names:
            self._keys.append(hashed(name))
            self._owners.append(len(self.rows))
        self.rows.append(row)
        self._spans.extend((start, end))

    def save(self, folder: Path, vectors: Half) -> None:
        of = np.array(self.rows, np.int64)
        np.save(folder / "rows.npy", of)
        np.save(folder / "spans.npy", np.array(self._spans, np.int64).reshape(-1, 2))
        blocks = [signs(vectors[of[start : start + _ROWS]]) for start in range(0, len(of), _ROWS)]
        np.save(folder / "codes.npy", np.concatenate(blocks, axis=1))
        keys, owners = np.array(self._keys, np.uint64), np.array(self._owners, np.int32)
        order = np.lexsort((owners, keys))
        np.save(folder / "keys.npy", keys[order])
        np.save(folder / "owners.npy", owners[order])


def _build(
    home: Path,
    passages: Iterator[Passage],
    encoder: Encodes,
    stamp: list[list[Any]],
    progress: Progress | None,
    *,
    where: str,
) -> None:
    width = encoder.encode([""]).shape[1]
    store = Store(home, width=width, encoder=encoder.digest)
    known = store.open()
    for left in home.glob("making-*"):  # by a build that was killed
        shutil.rmtree(left, ignore_errors=True)
    making = Path(tempfile.mkdtemp(dir=home, prefix="making-"))
    try:
        found, digest, at = _PassageArrays(), hashlib.sha256(), 0
        with open(making / "passages.jsonl", "wb") as texts:
            while batch := list(islice(passages, _BATCH)):
                _encode(batch, encoder, store, known)
                for passage in batch:
                    line = _line(passage)
                    texts.write(line)
                    found.add(known[passage.digest], at, at + len(line), names_of(passage.shown))
                    at += len(line)
                    digest.update(passage.id.encode("utf-8", "surrogatepass") + b"\0" + passage.digest)
                if progress is not None:
                    progress(len(found.rows))
        if not found.rows:
            raise InputError("has no passage", field="corpus", where=where)
        found.save(making, store.mapped())
        write_about(making, home, stamp, rows=store.rows(), digest=digest.hexdigest()[:24])
        old = home / VIEW
        if old.exists():
            os.rename(old, making / "old")
        os.rename(making, old)
        shutil.rmtree(old / "old", ignore_errors=True)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _encode(batch: Sequence[Passage], encoder: Encodes, store: Store, known: dict[bytes, int]) -> None:
    """Encodes what the store has not got."""
    fresh = {passage.digest: passage.shown for passage in batch if passage.digest not in known}
    if fresh:
        vectors = encoder.encode(list(fresh.values()))
        if not np.isfinite(vectors).all():
            raise EncoderError(f"the encoder {encoder.digest} is damaged: its vectors hold NaN or infinity")
        store.append(list(fresh), vectors)
        for key in fresh:
            known[key] = len(known)


def _line(passage: Passage) -> bytes:
    data = {"id": passage.id, "text": passage.text, "title": passage.title}
    return sealed(json.dumps(data, ensure_ascii=True).encode("ascii")) + b"\n"
