"""A cache for functions that read texts: the gate's checks ask for the same sentences and words again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def memoised(most: int, *, small: Callable[..., bool]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keeps a function's last `most` results by its arguments, which are hashable; nobody changes a result.

    Arguments that are not `small` are read anew each time, so that the memory is bounded in bytes.
    """

    def decorate(read: Callable[P, R]) -> Callable[P, R]:
        kept = cast("Callable[P, R]", lru_cache(maxsize=most)(read))

        @wraps(read)
        def run(*args: P.args, **named: P.kwargs) -> R:
            return kept(*args, **named) if small(*args, **named) else read(*args, **named)

        return run

    return decorate


def remembered(most: int, *, longest: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same for a function whose first argument is a text; one of more than `longest` characters is not small."""
    return memoised(most, small=lambda text, *_, **__: len(text) <= longest)
