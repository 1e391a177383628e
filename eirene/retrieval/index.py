"""The index of a corpus on disk: built once, memory-mapped, and brought up to date by encoding what is new.

A folder holds the vectors of every passage ever encoded (`eirene.retrieval.store`) and one view: the passages of the
corpus as it was last read, with their texts, signs and names. A view is made aside and put in place by one rename; one
that is torn, or of another version, corpus or encoder, is made again from the vectors that are there.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.errors import InputError
from eirene.io import reason
from eirene.line_checksum import sealed, unsealed
from eirene.retrieval.names import hashed, names_of
from eirene.retrieval.passages import WORDS, Passage, corpus_files, read_corpus
from eirene.retrieval.search import signs
from eirene.retrieval.store import Half, Store

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

logger = logging.getLogger(__name__)

VERSION = 1
_BATCH = 256
_ROWS = 65_536
_VIEW = "view"
Progress = Callable[[int], None]
"""Told how many passages have been encoded so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """N passages: `codes` [words, N] signs, `vectors` [rows, width] with the row of each passage in `rows` [N], `spans`
    [N, 2] places in the bytes of `texts`, `keys` and `owners` the passages by hashed name. All but `rows` are mapped,
    and stay what they are where another process brings the index up to date.
    """

    folder: Path
    codes: NDArray[np.uint64]
    vectors: Half
    rows: NDArray[np.int64]
    texts: NDArray[np.uint8]
    spans: NDArray[np.int64]
    keys: NDArray[np.uint64]
    owners: NDArray[np.int32]
    digest: str
    encoder: str

    def __len__(self) -> int:
        return len(self.rows)

    def passages(self, numbers: Sequence[int]) -> list[Passage]:
        """Some passages, read by their places."""
        places = ((int(start), int(end)) for start, end in self.spans[list(numbers)])
        return [Passage(**self._read(start, end)) for start, end in places]

    def _read(self, start: int, end: int) -> dict[str, Any]:
        """A line of the passages; raises `InputError` for one that was changed on disk."""
        try:
            found: dict[str, Any] = json.loads(unsealed(self.texts[start:end].tobytes()))
        except ValueError as error:
            what = f"holds a passage that {error}; remove this folder, and the index is made again"
            raise InputError(what, where=str(self.folder)) from None
        return found


def open_index(
    place: str,
    encoder: Encodes,
    *,
    folder: Path,
    words: int = WORDS,
    progress: Progress | None = None,
) -> Index:
    """The index of the corpus at `place` (a file or folder), made or brought up to date where that is needed.

    `folder` holds one subfolder a corpus place, encoder and size of passages. An index whose files have not changed
    since (size and time) is opened without reading the corpus. Raises `InputError` for a corpus that cannot be read or
    has no passage, and for a folder that cannot be written or that another process is writing.
    """
    stamp = _stamp(place)
    named = hashlib.sha256(
        json.dumps([str(Path(place).resolve()), encoder.digest, words, VERSION]).encode()
    ).hexdigest()
    home = folder / f"corpus-{named[:24]}"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        index = _opened(home, stamp, encoder.digest)
        if index is not None:
            return index
        with _alone(home):
            index = _opened(home, stamp, encoder.digest)  # another process may have made it meanwhile
            if index is None:
                _build(home, read_corpus(place, words=words), encoder, stamp, progress, where=place)
                index = _opened(home, stamp, encoder.digest)
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


def _opened(home: Path, stamp: list[list[Any]], encoder: str) -> Index | None:
    """The view if it is whole and of this corpus; None, and the reason in the log, where it is not."""
    view = home / _VIEW
    if not view.is_dir():
        return None
    try:
        said = (view / "about.json").read_bytes()
        about = json.loads(said)
        if [about["version"], about["encoder"], about["files"]] != [VERSION, encoder, stamp]:
            return None
        vectors = Store(home, width=about["width"]).mapped()
        held = {name: np.load(view / f"{name}.npy", mmap_mode="r") for name in ("codes", "spans", "keys", "owners")}
        rows, texts = np.load(view / "rows.npy"), np.memmap(view / "passages.jsonl", np.uint8, "r")
        index = Index(home, vectors=vectors, rows=rows, texts=texts, digest=about["digest"], encoder=encoder, **held)
        is_one = (view / "about.json").read_bytes() == said  # nobody has put another view in its place meanwhile
        return index if is_one and _is_sound(index, about) else None
    except Exception as error:  # a torn file fails in whichever layer notices first: JSON, npy header, mmap
        logger.info("the index %s cannot be used and is made again: %s", home, error)
        return None


def _is_sound(index: Index, about: dict[str, Any]) -> bool:
    count = int(about["passages"])
    whole = (
        count > 0
        and len(index.rows) == len(index.spans) == index.codes.shape[1] == count
        and len(index.keys) == len(index.owners)
        and 0 <= int(index.rows.min()) <= int(index.rows.max()) < len(index.vectors)
        and int(index.spans[-1, 1]) == len(index.texts) == about["text_bytes"]
    )
    if not whole:
        logger.info("the index %s is torn and is made again", index.folder)
    return whole


class _Found:
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
    store = Store(home, width=width)
    known = store.rows()
    for left in home.glob("making-*"):  # by a build that was killed
        shutil.rmtree(left, ignore_errors=True)
    making = Path(tempfile.mkdtemp(dir=home, prefix="making-"))
    try:
        found, digest, at = _Found(), hashlib.sha256(), 0
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
        about = {
            "version": VERSION, "encoder": encoder.digest, "files": stamp, "width": width, "passages": len(found.rows),
            "text_bytes": at, "digest": digest.hexdigest()[:24],
        }  # fmt: skip
        (making / "about.json").write_text(json.dumps(about), encoding="utf-8")
        old = home / _VIEW
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
        store.append(list(fresh), encoder.encode(list(fresh.values())))
        for key in fresh:
            known[key] = len(known)


def _line(passage: Passage) -> bytes:
    data = {"id": passage.id, "text": passage.text, "title": passage.title}
    return sealed(json.dumps(data, ensure_ascii=True).encode("ascii")) + b"\n"
