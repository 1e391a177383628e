"""Exact, adjacent, different: the EIR paper's accuracy (section 5.1, table 3), and what needs no model to reach it.

The first sentence that is called incomplete decides: *exact* if it is incomplete, *adjacent* if only a neighbour of it
is, else *different*. No sentence called incomplete is exact where none is, else different (the paper does not say).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from eirene.critique import Tag

Outcome = Literal["exact", "adjacent", "different"]
OUTCOMES: tuple[Outcome, ...] = ("exact", "adjacent", "different")


def outcome(predicted: Sequence[Tag], gold: Sequence[Tag]) -> Outcome:
    """Where the first sentence that is predicted incomplete lies; both sequences are of one answer."""
    if "Incomplete" not in predicted:
        return "different" if "Incomplete" in gold else "exact"
    return _at(list(predicted).index("Incomplete"), gold)


def random_outcomes(gold: Sequence[Tag], rate: float) -> list[float]:
    """The chances of exact, adjacent and different when each sentence is called incomplete with probability `rate`."""
    chances = dict.fromkeys(OUTCOMES, 0.0)
    none_so_far = 1.0
    for first in range(len(gold)):
        chances[_at(first, gold)] += none_so_far * rate
        none_so_far *= 1 - rate
    chances["different" if "Incomplete" in gold else "exact"] += none_so_far
    return [chances[name] for name in OUTCOMES]


def always(which: Literal["first", "last"]) -> Callable[[int], list[Tag]]:
    """A prediction for `n` sentences that calls the first, or the last, incomplete and no other."""

    def predict(n: int) -> list[Tag]:
        tags: list[Tag] = ["Complete"] * n
        tags[0 if which == "first" else n - 1] = "Incomplete"
        return tags

    return predict


def _at(first: int, gold: Sequence[Tag]) -> Outcome:
    if gold[first] == "Incomplete":
        return "exact"
    return "adjacent" if "Incomplete" in gold[max(0, first - 1) : first + 2] else "different"
