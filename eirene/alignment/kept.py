"""Remembers the latest alignments: critic, refiner and detectors look at the same answer one after another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_KEPT = 64
_KEPT_CHARACTERS = 20_000
"""What is made of longer texts is not kept: the memory that this takes is bounded in bytes."""


def kept(make: Callable[..., T]) -> Callable[..., T]:
    """The function, which takes hashable values by name, with a memory of its latest results.

    A result is shared by all who ask for it, so that its arrays can no longer be written to.
    """

    def made(**key: object) -> T:
        result = make(**key)
        _freeze(result)
        return result

    remembered = functools.lru_cache(maxsize=_KEPT)(made)

    @functools.wraps(make)
    def run(**key: object) -> T:
        small = _characters(tuple(key.values())) <= _KEPT_CHARACTERS
        return remembered(**key) if small else make(**key)

    return run


def _characters(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_characters, value)) if isinstance(value, tuple) else 0


def _freeze(value: object) -> None:
    for name in getattr(value, "__dataclass_fields__", ()):
        inner = getattr(value, name)
        if isinstance(inner, np.ndarray):
            inner.flags.writeable = False
        else:
            _freeze(inner)
