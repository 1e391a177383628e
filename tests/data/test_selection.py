"""Which rows are taken."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from eirene.core.errors import InputError
from eirene.data import Selection
from eirene.data.dataset import sampled

TOTAL = st.integers(0, 400)


@given(TOTAL, st.integers(1, 50), st.integers(1, 50), st.integers(0, 9))
def test_a_larger_sample_holds_the_smaller_one(total: int, size: int, more: int, seed: int) -> None:
    assert set(sampled(total, size, seed=seed)) <= set(sampled(total, size + more, seed=seed))


def test_every_place_is_as_likely_as_any_other() -> None:
    draws = [tuple(sampled(12, 2, seed=seed)) for seed in range(6600)]
    pairs = Counter(draws)
    assert len(pairs) == 66
    assert chisquare(list(pairs.values())).pvalue > 0.001  # the seeds are fixed: this is one number


@given(TOTAL, st.integers(0, 450), st.integers(0, 450))
def test_limit_comes_first_and_all_is_none(total: int, limit: int, sample: int) -> None:
    places = Selection(limit, sample, 3).places(total)
    among = min(total, limit) if limit else total
    size = min(among, sample) if sample else among
    if places is None:
        assert size == total
    else:
        assert len(places) == size < total
        assert list(places) == sorted(set(places))
        assert all(0 <= place < among for place in places)


def test_numbers_that_make_no_sense_are_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[tuple[int, ...], str]] = [
        ((-1,), "limit must"),
        ((0, -1), "sample must"),
        ((0, 1, -1), "seed must"),
    ]
    for numbers, said in cases:
        with subtests.test(case=numbers), pytest.raises(InputError, match=said):
            Selection(*numbers)
