"""Row selection: the first rows, or a seeded sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import InputError
from eirene.core.signature import check_seed, derive_seed

_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class Selection:
    """The first `limit` rows (0: all), and `sample` of these (0: all), drawn by `seed` and left in their order."""

    limit: int = 0
    sample: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("limit", self.limit), ("sample", self.sample)):
            if value < 0:
                raise InputError(f"{name} must be at least 0, got {value}", field=name)
        check_seed(self.seed)

    def places(self, total: int) -> Sequence[int] | None:
        """The places taken of `total` rows, from 0 and rising; None for all."""
        among = min(total, self.limit) if self.limit else total
        if 0 < self.sample < among:
            return sampled(among, self.sample, seed=self.seed)
        return range(among) if among < total else None


def sampled(total: int, size: int, *, seed: int) -> list[int]:
    """`size` of the places from 0 to `total` - 1, rising: every set of so many is equally likely.

    Each place has a random number that hangs on it and on the seed alone, and the lowest ones are taken. So the same
    seed takes the same rows of any format, and a larger sample holds the smaller one. In memory are `size` numbers.
    """
    base = np.uint64(derive_seed(seed, "sample"))
    kept = np.empty(0, np.uint64), np.empty(0, np.int64)
    for begin in range(0, total, _CHUNK):
        places = np.arange(begin, min(begin + _CHUNK, total), dtype=np.int64)
        draws = np.concatenate([kept[0], _mixed(base + places.astype(np.uint64))])
        places = np.concatenate([kept[1], places])
        order = np.lexsort((places, draws))[:size]
        kept = draws[order], places[order]
    found: list[int] = np.sort(kept[1]).tolist()
    return found


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea & Flood 2014): a permutation of the 64-bit numbers whose outputs look random."""
    with np.errstate(over="ignore"):
        mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
