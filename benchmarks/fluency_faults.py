"""Faults put into sentences on purpose: shuffled, torn, glued and salted ones, with the joints that they broke.

A sentence is its tokens' numbers; a fault rearranges the places `order` (-1: a token of another sentence). A joint is
broken where two neighbours did not stand side by side before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.int64]
Rng = np.random.Generator


def shuffled(n: int, rng: Rng) -> Order:
    """All words in random order."""
    return rng.permutation(n)


def shuffled_part(n: int, rng: Rng) -> Order:
    """Three to eight words in random order."""
    size = int(min(n, rng.integers(3, 9)))
    at = int(rng.integers(0, n - size + 1))
    order = np.arange(n)
    order[at : at + size] = at + rng.permutation(size)
    return order


def swapped_neighbours(n: int, rng: Rng) -> Order:
    """Neighbouring words exchanged, once, here and there, or throughout."""
    order = np.arange(n)
    pairs = np.arange(int(rng.integers(0, 2)), n - 1, 2)
    share = rng.choice([0.0, 0.3, 1.0])
    chosen = pairs[rng.random(len(pairs)) < share]
    for at in chosen if len(chosen) else [int(rng.integers(0, max(n - 1, 1)))]:
        if at + 1 < n:
            order[at], order[at + 1] = order[at + 1], order[at]
    return order


def reversed_order(n: int, rng: Rng) -> Order:
    """The last word first."""
    return np.arange(n)[::-1].copy()


def halves_exchanged(n: int, rng: Rng) -> Order:
    """The second half before the first."""
    at = int(rng.integers(1, max(n - 1, 2)))
    return np.concatenate([np.arange(at, n), np.arange(at)])


def spans_exchanged(n: int, rng: Rng) -> Order:
    """Two spans inside exchanged."""
    a, b, c, d = np.sort(rng.integers(0, n + 1, 4))
    return np.concatenate([np.arange(a), np.arange(c, d), np.arange(b, c), np.arange(a, b), np.arange(d, n)])


def without_words(n: int, rng: Rng) -> Order:
    """One to three words missing."""
    size = int(rng.integers(1, 4))
    at = int(rng.integers(0, max(n - size, 1)))
    return np.concatenate([np.arange(at), np.arange(at + size, n)])


def said_double(n: int, rng: Rng) -> Order:
    """One or two words twice in a row."""
    size = int(rng.integers(1, 3))
    at = int(rng.integers(0, max(n - size, 1)))
    return np.concatenate([np.arange(at + size), np.arange(at, n)])


REARRANGED: tuple[tuple[float, Callable[[int, Rng], Order]], ...] = (
    (0.24, shuffled),
    (0.14, shuffled_part),
    (0.24, swapped_neighbours),
    (0.04, reversed_order),
    (0.12, halves_exchanged),
    (0.06, spans_exchanged),
    (0.12, without_words),
    (0.04, said_double),
)
