"""Vectors on disk by the digest of what was encoded: append-only, so that no passage is ever encoded twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eirene.retrieval.checksums import Running, damaged, read_prefix, sealed, unsealed

_DIGEST = 16
_RECORD = "store.json"
Half = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows of a store count, whose vectors they are, and the checksums of these rows in its two files."""

    count: int
    encoder: str
    width: int
    vectors: str
    digests: str


class Store:
    """Vectors of `width` numbers in half precision in `vectors.f16`, and the digests of their texts in `digests.bin`.

    `store.json` says how many rows count, and their checksums; it is written last, so that what a crash cut off does
    not count. What counts and is not what was written is damaged: the store then raises `InputError`.
    """

    def __init__(self, folder: Path, *, width: int, encoder: str) -> None:
        self.folder = folder
        self.width = width
        self.encoder = encoder
        self._vectors, self._digests = folder / "vectors.f16", folder / "digests.bin"
        self._sums = (Running(), Running())

    def open(self) -> dict[bytes, int]:
        """The row of each digest, after what is torn has been cut off: for whoever writes."""
        kept = self._read_record()
        count = 0 if kept is None else kept.count
        for file in (self._vectors, self._digests):
            file.touch()
        if kept is not None:
            self._sums = self.check(kept)
        os.truncate(self._vectors, count * 2 * self.width)
        os.truncate(self._digests, count * _DIGEST)
        data = self._digests.read_bytes()
        return {data[i * _DIGEST : (i + 1) * _DIGEST]: i for i in range(count)}

    def check(self, rows: Rows) -> tuple[Running, Running]:
        """The checksums of the first rows of both files. Raises `InputError` where they are not those of `rows`."""
        if (rows.encoder, rows.width) != (self.encoder, self.width):
            why = (
                f"vectors of {rows.width} numbers by the encoder {rows.encoder}, wanted {self.width} by {self.encoder}"
            )
            raise damaged(self._vectors, why, home=self.folder)
        vectors = self._checked(self._vectors, rows.count * 2 * self.width, rows.vectors)
        return vectors, self._checked(self._digests, rows.count * _DIGEST, rows.digests)

    def append(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Adds rows; when this returns they are on disk."""
        for file, running, data in (
            (self._vectors, self._sums[0], np.ascontiguousarray(vectors, np.float16).tobytes()),
            (self._digests, self._sums[1], b"".join(digests)),
        ):
            with file.open("ab") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            running.add(data)
        self._write_record()

    def rows(self) -> Rows:
        """What is in the store, for whoever opened it."""
        vectors, digests = self._sums
        return Rows(digests.size // _DIGEST, self.encoder, self.width, vectors.hexdigest(), digests.hexdigest())

    def mapped(self) -> Half:
        """All vectors, [rows, width], mapped and not read."""
        size = self._vectors.stat().st_size // (2 * self.width)
        if not size:
            return np.zeros((0, self.width), np.float16)
        return np.memmap(self._vectors, np.float16, "r", shape=(size, self.width))

    def _checked(self, file: Path, size: int, wanted: str) -> Running:
        try:
            found = read_prefix(file, size)
        except FileNotFoundError:
            raise damaged(file, "it is not there", home=self.folder) from None
        if found.size < size:
            raise damaged(file, f"{found.size} bytes of {size} are left", home=self.folder)
        if found.hexdigest() != wanted:
            raise damaged(file, "its checksum does not fit", home=self.folder)
        return found

    def _read_record(self) -> Rows | None:
        file = self.folder / _RECORD
        try:
            return Rows(**unsealed(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(file, str(error), home=self.folder) from None

    def _write_record(self) -> None:
        trial = self.folder / f"{_RECORD}.new"
        with trial.open("wb") as out:
            out.write(sealed(asdict(self.rows())))
            out.flush()
            os.fsync(out.fileno())
        os.replace(trial, self.folder / _RECORD)
