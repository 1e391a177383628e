"""Values between two steps: checked when they come from outside, taken as they are when they were just dumped."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from eirene.agent.state import dump, load
from eirene.core.errors import InputError
from eirene.core.scores import Scores, SentenceScore


def scores(n: int = 1) -> Scores:
    return Scores(
        hallucination=0.5, coverage=0.25, sentences=tuple(SentenceScore(n=i, hallucination=0) for i in range(n))
    )


def test_what_was_just_dumped_comes_back_as_it_was() -> None:
    """The very object gives the very value."""
    value = scores()
    assert load(Scores, dump(value)) is value


def test_a_copy_is_checked_and_equal() -> None:
    """A value from a checkpoint is another object, and equal."""
    value = scores()
    loaded = load(Scores, copy.deepcopy(dump(value)))
    assert loaded is not value
    assert loaded == value


def test_what_is_no_value_is_refused() -> None:
    """Data from outside is never taken unseen."""
    broken: dict[str, Any] = dump(scores()) | {"coverage": 2.0}
    with pytest.raises(InputError):
        load(Scores, broken)


def test_memory_stays_bounded() -> None:
    """Old values are forgotten and checked again, large ones at once."""
    first, large = scores(), scores(1000)
    dumped, dumped_large = dump(first), dump(large)
    for _ in range(300):
        dump(scores())
    assert load(Scores, dumped) == first
    assert load(Scores, dumped) is not first
    assert load(Scores, dumped_large) is not large
