"""Vectors on disk by the digest of what was encoded: append-only, so that no passage is ever encoded twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_DIGEST = 16
Half = NDArray[np.float16]


class Store:
    """Vectors of `width` numbers in half precision in `vectors.f16`, and the digests of their texts in `digests.bin`.

    What was cut off by a crash is dropped when the store is opened for writing: a vector counts once its digest is on
    disk, and that is written after it.
    """

    def __init__(self, folder: Path, *, width: int) -> None:
        self.folder = folder
        self.width = width
        self._vectors, self._digests = folder / "vectors.f16", folder / "digests.bin"

    def rows(self) -> dict[bytes, int]:
        """The row of each digest, after what is torn has been cut off."""
        for file in (self._vectors, self._digests):
            file.touch()
        count = min(self._vectors.stat().st_size // (2 * self.width), self._digests.stat().st_size // _DIGEST)
        os.truncate(self._vectors, count * 2 * self.width)
        os.truncate(self._digests, count * _DIGEST)
        data = self._digests.read_bytes()
        return {data[i * _DIGEST : (i + 1) * _DIGEST]: i for i in range(count)}

    def append(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Adds rows; when this returns they are on disk."""
        for file, data in (
            (self._vectors, np.ascontiguousarray(vectors, np.float16).tobytes()),
            (self._digests, b"".join(digests)),
        ):
            with file.open("ab") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())

    def mapped(self) -> Half:
        """All vectors, [rows, width], mapped and not read."""
        size = self._vectors.stat().st_size // (2 * self.width)
        if not size:
            return np.zeros((0, self.width), np.float16)
        return np.memmap(self._vectors, np.float16, "r", shape=(size, self.width))
