"""The index of a corpus on disk: built once, memory-mapped, updated by encoding only new passages.

A folder holds one view: the corpus as it was last read, and the vectors of every passage ever encoded. A view is made
aside and put in place by one rename. One that is damaged, or of another version, corpus or encoder, is made again,
from the vectors that are there, as far as these are whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import EncoderError, InputError
from eirene.core.logs import get_logger
from eirene.core.signature import digest as digest_of
from eirene.data.journal import lock
from eirene.data.json_rows import reason
from eirene.retrieval.passages import Passage, corpus_files, read_corpus
from eirene.retrieval.search import hashed, names_of, signs

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

logger = get_logger(__name__)

VERSION = 3
Half = NDArray[np.float16]
Progress = Callable[[int], None]
"""Told how many passages have been encoded so far."""
_OVERWRITTEN = "the index was overwritten while it was in use; open it again"
_BATCH = 256
_ROWS = 65_536
_DIGEST = 16  # bytes
_VIEW, _MAKING, _ABOUT, _TEXTS = "view", "making", "about.json", "passages.jsonl"
_ARRAYS = ("codes", "spans", "keys", "owners", "rows")
_STORE = ("vectors.f16", "digests.bin")
_FILES = (*(f"{name}.npy" for name in _ARRAYS), _TEXTS, *_STORE)


@dataclass(frozen=True, slots=True, eq=False)
class PassageIndex:
    """N passages: `codes` [words, N] signs, `vectors` [rows, width] with the row of each passage in `rows` [N], `spans`
    [N, 2] places in the bytes of `texts`, `keys` and `owners` the passages by hashed name. All but `rows` are mapped,
    and stay what they are where another process brings the index up to date.
    """

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
        """Some passages, read by their places. Raises `InputError` where the file was overwritten in the meantime."""
        places = ((int(start), int(end)) for start, end in self.spans[list(numbers)])
        try:
            return [Passage(**json.loads(self.texts[start:end].tobytes())) for start, end in places]
        except (ValueError, TypeError, RecursionError):
            raise InputError(_OVERWRITTEN, where=_TEXTS) from None

    def check_mapped(self) -> None:
        """Raises `InputError` where a mapped file has become shorter: reading on would end the process."""
        for held in (self.codes, self.vectors, self.texts, self.spans, self.keys, self.owners):
            mapped: Any = getattr(held, "_mmap", None)
            if mapped is not None and mapped.size() < len(mapped):
                raise InputError(_OVERWRITTEN, where=str(getattr(held, "filename", None)))


def open_index(place: str, encoder: Encodes, *, folder: Path, progress: Progress | None = None) -> PassageIndex:
    """The index of the corpus at `place` (a file or folder), made or brought up to date where that is needed.

    `folder` holds one subfolder a corpus place and encoder. An index whose files have not changed since (size and
    time) is opened without reading the corpus. Raises `InputError` for a corpus that cannot be read or has no passage,
    and for a folder that cannot be written or that another process is writing; `EncoderError` where the encoder gives
    no numbers.
    """
    of = [VERSION, encoder.digest, _stamp(place)]
    home = folder / f"corpus-{digest_of([VERSION, encoder.digest, str(Path(place).resolve())])[:24]}"
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        index = _opened(home / _VIEW, of)
        if index is None:
            with _alone(home):
                index = _opened(home / _VIEW, of)  # another process may have made it meanwhile
                if index is None:
                    _build(home, read_corpus(place), encoder, of, progress, where=place)
                    index = _opened(home / _VIEW, of)
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


def _opened(view: Path, of: list[Any]) -> PassageIndex | None:
    """The view if it is whole and `of` this corpus and encoder; None where it is to be made (again)."""
    about = _about(view)
    if about is None or about["of"] != of or not _is_whole(view, about, _FILES):
        return None
    held = {name: np.load(view / f"{name}.npy", mmap_mode=None if name == "rows" else "r") for name in _ARRAYS}
    texts = np.memmap(view / _TEXTS, np.uint8, "r")
    vectors = _mapped(view, about["width"])
    index = PassageIndex(vectors=vectors, texts=texts, digest=about["digest"], encoder=of[1], **held)
    return index if _about(view) == about else None  # nobody has put another view in its place meanwhile


def _about(view: Path) -> dict[str, Any] | None:
    """What a view is of, with the checksums of its files; None where there is no whole one."""
    try:
        found = json.loads((view / _ABOUT).read_bytes())
        return found if found.pop("check") == digest_of(found) else None
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return None


def _is_whole(view: Path, about: dict[str, Any], files: Iterable[str]) -> bool:
    """Whether these files are what was written; a warning names the first that is not."""
    for name in files:
        try:
            is_same = _sha256(view / name) == about["sha256"][name]
        except FileNotFoundError:
            is_same = False
        if not is_same:
            logger.warning("%s is damaged; the index is made again", view / name)
            return False
    return True


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _mapped(folder: Path, width: int) -> Half:
    """All vectors, [rows, width], mapped and not read."""
    return np.memmap(folder / _STORE[0], np.float16, "r").reshape(-1, width)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    with open(home / "lock", "ab") as file:
        lock(file.fileno(), home, busy="another process is making this index; wait for it")
        yield


def _build(
    home: Path, passages: Iterator[Passage], encoder: Encodes, of: list[Any], progress: Progress | None, *, where: str
) -> None:
    """Makes the view. What was encoded before an interruption stays in the folder that it is made in."""
    making, view = home / _MAKING, home / _VIEW
    store = _Store(making, view, width=encoder.encode([""]).shape[1])
    found, digest, at = _PassageArrays(), hashlib.sha256(), 0
    with store, open(making / _TEXTS, "wb") as texts:
        while batch := list(islice(passages, _BATCH)):
            store.encode(batch, encoder)
            for passage in batch:
                data = {"id": passage.id, "text": passage.text, "title": passage.title}
                line = json.dumps(data, ensure_ascii=True).encode("ascii") + b"\n"
                texts.write(line)
                found.add(store.known[passage.digest], at, at + len(line), names_of(passage.shown))
                at += len(line)
                digest.update(passage.id.encode("utf-8", "surrogatepass") + b"\0" + passage.digest)
            if progress is not None:
                progress(len(found.rows))
    if not found.rows:
        shutil.rmtree(making)
        raise InputError("has no passage", field="corpus", where=where)
    found.save(making, _mapped(making, store.width))
    sums = {name: _sha256(making / name) for name in _FILES}
    about = {"of": of, "width": store.width, "digest": digest.hexdigest()[:24], "sha256": sums}
    (making / _ABOUT).write_text(json.dumps({**about, "check": digest_of(about)}), "ascii")
    if view.exists():
        os.rename(view, making / "old")
    os.rename(making, view)
    shutil.rmtree(view / "old", ignore_errors=True)


class _Store:
    """Vectors of `width` numbers in half precision, and the digests of their texts, appended to while a view is made.

    It begins with those of an interrupted build, else of the view that is there. A vector is on disk before its digest
    is, so that what a crash cut off does not count.
    """

    def __init__(self, making: Path, view: Path, *, width: int) -> None:
        self.width = width
        self._files: list[IO[bytes]] = []
        self._places = [making / name for name in _STORE]
        sizes = (2 * width, _DIGEST)
        if not making.exists():
            about = _about(view)
            if about is not None and about["width"] == width and _is_whole(view, about, _STORE):
                making.mkdir()
                for name in reversed(_STORE):
                    shutil.copyfile(view / name, making / name)
        making.mkdir(exist_ok=True)
        for place in self._places:
            place.touch()
        count = min(place.stat().st_size // size for place, size in zip(self._places, sizes, strict=True))
        for place, size in zip(self._places, sizes, strict=True):
            os.truncate(place, count * size)
        data = self._places[1].read_bytes()
        self.known = {data[i * _DIGEST : (i + 1) * _DIGEST]: i for i in range(count)}

    def __enter__(self) -> None:
        self._files = [place.open("ab") for place in self._places]

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def encode(self, batch: Sequence[Passage], encoder: Encodes) -> None:
        """Encodes what is not there yet; when this returns it is on disk."""
        fresh = {passage.digest: passage.shown for passage in batch if passage.digest not in self.known}
        if not fresh:
            return
        vectors = encoder.encode(list(fresh.values()))
        if not np.isfinite(vectors).all():
            raise EncoderError(f"the encoder {encoder.digest} is damaged: its vectors hold NaN or infinity")
        for file, data in zip(self._files, (vectors.astype(np.float16).tobytes(), b"".join(fresh)), strict=True):
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        for key in fresh:
            self.known[key] = len(self.known)


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
