"""A cache for functions that read one text: the gate's checks ask for the same sentences and words again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def remembered(
    most: int, *, longest: int
) -> Callable[[Callable[Concatenate[str, P], R]], Callable[Concatenate[str, P], R]]:
    """Keeps the last `most` results of a function whose first argument is a text, and whose results nobody changes.

    Texts of more than `longest` characters are read anew each time, so that the memory is bounded in bytes.
    """

    def decorate(read: Callable[Concatenate[str, P], R]) -> Callable[Concatenate[str, P], R]:
        kept = cast("Callable[Concatenate[str, P], R]", lru_cache(maxsize=most)(read))

        @wraps(read)
        def run(text: str, /, *args: P.args, **named: P.kwargs) -> R:
            return kept(text, *args, **named) if len(text) <= longest else read(text, *args, **named)

        return run

    return decorate
