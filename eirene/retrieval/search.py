"""Nearest vectors among many: a scan over the vectors' signs, then exact cosines of the few that are left.

A vector of 384 numbers becomes 48 bytes of signs, whose Hamming distance to the query's follows the angle between the
two. A million of them are scanned in milliseconds with nothing to build beforehand, the result does not depend on the
order or the number of builds, and exact cosines of the nearest thousand put right what the signs got wrong
(docs/retrieval.md has the recall).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.retrieval.names import hashed, names_of

Words = NDArray[np.uint64]
Rows = NDArray[np.int64]
CANDIDATES = 1000
"""Vectors whose cosines are computed."""
_BLOCK = 32_768  # vectors at once: their distances stay in the cache
_COMMON = 0.02
"""A name in more than this share of the passages tells nothing."""


def signs(vectors: NDArray[Any]) -> Words:
    """The signs of vectors [n, width], packed: [ceil(width / 64), n], a column for each vector."""
    bits = np.packbits(np.asarray(vectors) > 0, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


def near_by_signs(codes: Words, query: NDArray[np.float32], count: int) -> Rows:
    """The columns of `codes` nearest to the query by Hamming distance: at least `count` (all of the last distance)."""
    wanted = signs(query[None])[:, 0]
    size = codes.shape[1]
    distance = np.zeros(size, np.uint16)
    for start in range(0, size, _BLOCK):
        block = codes[:, start : start + _BLOCK]
        for word, own in zip(block, wanted, strict=True):
            distance[start : start + _BLOCK] += _bits(word ^ own)
    at_most = np.searchsorted(np.bincount(distance).cumsum(), min(count, size))
    return np.flatnonzero(distance <= at_most)


def nearest(
    codes: Words, vectors: NDArray[np.float16], rows: Rows, query: NDArray[np.float32], count: int
) -> tuple[Rows, NDArray[np.float32]]:
    """The candidates with the highest cosines, best first (of equals the earlier), and the cosines."""
    candidates = near_by_signs(codes, query, max(CANDIDATES, count))
    cosines = cosines_of(vectors, rows, candidates, query)
    order = np.argsort(-cosines, kind="stable")[:count]
    return candidates[order], cosines[order]


def cosines_of(
    vectors: NDArray[np.float16], rows: Rows, passages: Rows, query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The cosines of some passages with the query, in single precision."""
    return np.asarray(vectors[np.asarray(rows[passages])], np.float32) @ query


def sharing_names(keys: Words, owners: NDArray[np.int32], size: int, text: str, count: int) -> dict[int, float]:
    """The passages that share most of the text's names: passage -> share of the names' weight that it has, in (0.5, 1].

    `keys` are hashed names in rising order, `owners` the passages that have them. A name weighs log(size / number of
    passages that have it); one that more than 2 % of the passages have counts nothing, and neither does one that no
    passage has.
    """
    weights: dict[int, float] = {}
    total = 0.0
    for name in sorted(names_of(text)):
        low, high = (
            np.searchsorted(keys, np.uint64(hashed(name)), "left"),
            np.searchsorted(keys, np.uint64(hashed(name)), "right"),
        )
        if low == high or high - low > max(_COMMON * size, 10):
            continue
        weight = float(np.log(1 + size / (high - low)))
        total += weight
        for owner in owners[low:high].tolist():
            weights[owner] = weights.get(owner, 0.0) + weight
    found = sorted(((-w / total, owner) for owner, w in weights.items() if w > total / 2))[:count]
    return {owner: -share for share, owner in found}


def _popcount_by_table() -> Callable[[Words], NDArray[np.uint8]]:
    table = np.array([bin(i).count("1") for i in range(65_536)], np.uint8)
    return lambda words: table[words.view(np.uint16)].reshape(-1, 4).sum(axis=1, dtype=np.uint8)


# NumPy counts bits itself from version 2 on.
_bits: Callable[[Words], NDArray[np.uint8]] = getattr(np, "bitwise_count", None) or _popcount_by_table()
