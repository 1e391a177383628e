"""A view of the index: the corpus as it was last read, in memory-mapped files that are opened only if all are whole."""

from __future__ import annotations

import json
import mmap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data import line_checksum
from eirene.retrieval.passages import Passage
from eirene.retrieval.vectors import Half, Rows, Store, damaged, sealed, sha256_of, unsealed

logger = get_logger(__name__)

VERSION = 2
VIEW = "view"
_ABOUT = "about.json"
_ARRAYS = ("codes", "spans", "keys", "owners", "rows")
_TEXTS = "passages.jsonl"
_FILES = (*(f"{name}.npy" for name in _ARRAYS), _TEXTS)


@dataclass(frozen=True, slots=True, eq=False)
class PassageIndex:
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
        """Some passages, read by their places. Raises `InputError` where the file was changed since it was opened."""
        places = ((int(start), int(end)) for start, end in self.spans[list(numbers)])
        try:
            return [
                Passage(**json.loads(line_checksum.unsealed(self.texts[start:end].tobytes()))) for start, end in places
            ]
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged(_TEXTS, f"no passage where one was: {error}") from None

    def check_mapped(self) -> None:
        """Raises `InputError` where a mapped file has become shorter: reading on would end the process."""
        mapped: dict[str, NDArray[Any]] = {
            "codes.npy": self.codes, "spans.npy": self.spans, "keys.npy": self.keys, "owners.npy": self.owners,
            _TEXTS: self.texts,
        }  # fmt: skip
        for name, array in mapped.items():
            if _is_cut(array):
                raise self._damaged(name, "it was cut while in use")
        if _is_cut(self.vectors):
            raise damaged(self.folder / "vectors.f16", "it was cut while in use", home=self.folder)

    def _damaged(self, name: str, why: str) -> InputError:
        return damaged(self.folder / VIEW / name, why, home=self.folder)


def _is_cut(array: NDArray[Any]) -> bool:
    """Whether a mapped file is shorter by now than what was mapped of it."""
    source: object = array.base
    return isinstance(source, mmap.mmap) and source.size() < len(source)


def open_view(home: Path, stamp: list[list[Any]], encoder: str, *, tell: bool = False) -> PassageIndex | None:
    """The view if it is whole and of this corpus and encoder; None where it is to be made (again).

    Raises `InputError` where the vectors are not those it was made of: to make them again takes long, and is for the
    user to decide. A view that is damaged itself costs no encoding; with `tell` a warning says that it is made again.
    """
    view = home / VIEW
    if not view.is_dir():
        return None
    about = _about(view)
    if about is None:
        _warn(view / _ABOUT, tell=tell)
        return None
    if about["of"] != _of(home, stamp, encoder):
        return None
    torn = _torn(view, about["sha256"])
    if torn is not None:
        _warn(view / torn, tell=tell)
        return None
    rows = Rows(**about["store"])
    store = Store(home, width=rows.width, encoder=encoder)
    store.check(rows)
    held = {name: np.load(view / f"{name}.npy", mmap_mode=None if name == "rows" else "r") for name in _ARRAYS}
    texts = np.memmap(view / _TEXTS, np.uint8, "r")
    index = PassageIndex(home, vectors=store.mapped(), texts=texts, digest=about["digest"], encoder=encoder, **held)
    is_one = _about(view) == about  # nobody has put another view in its place meanwhile
    return index if is_one else None


def write_about(view: Path, home: Path, stamp: list[list[Any]], *, rows: Rows, digest: str) -> None:
    """Closes a view whose other files are written: what it is of, and their checksums."""
    about = {
        "of": _of(home, stamp, rows.encoder), "store": {name: getattr(rows, name) for name in Rows.__slots__},
        "digest": digest, "sha256": _sums(view),
    }  # fmt: skip
    (view / _ABOUT).write_bytes(sealed(about))


def _of(home: Path, stamp: list[list[Any]], encoder: str) -> list[Any]:
    return [VERSION, home.name, encoder, stamp]


def _about(view: Path) -> dict[str, Any] | None:
    try:
        return unsealed((view / _ABOUT).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _torn(view: Path, wanted: dict[str, str]) -> str | None:
    """The first file that is missing or not what was written."""
    try:
        found = _sums(view)
    except FileNotFoundError as error:
        return Path(error.filename).name
    return next((name for name in _FILES if found[name] != wanted.get(name)), None)


def _sums(view: Path) -> dict[str, str]:
    with ThreadPoolExecutor(max_workers=2) as pool:  # hashing lets go of the interpreter
        return dict(zip(_FILES, pool.map(lambda name: sha256_of(view / name), _FILES), strict=True))


def _warn(file: Path, *, tell: bool) -> None:
    if tell:
        logger.warning("%s is damaged; the index is made again from its corpus and the vectors that are there", file)
