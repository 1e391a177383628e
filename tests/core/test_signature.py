"""One seed in, independent streams out, the same in every process; and settings as one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.core.signature import MAX_SEED, check_seed, derive_seed, rng_for, signature
from tests.rows import each

seeds = st.integers(0, MAX_SEED)
names = st.lists(st.text() | st.integers(), max_size=4)


@given(seeds, names)
def test_a_derived_seed_is_a_seed_and_depends_on_its_names_alone(seed: int, purpose: list[object]) -> None:
    assert check_seed(derive_seed(seed, *purpose)) == derive_seed(seed, *purpose)
    assert rng_for(seed, *purpose).integers(2**62) == rng_for(seed, *purpose).integers(2**62)


@given(seeds, names, st.text())
def test_another_seed_name_or_depth_gives_another_stream(seed: int, purpose: list[object], more: str) -> None:
    derived = derive_seed(seed, *purpose)
    assert derived != derive_seed((seed + 1) % MAX_SEED, *purpose)
    assert derived != derive_seed(seed, *purpose, more)


def test_names_do_not_run_into_one_another() -> None:
    assert len({derive_seed(0, *p) for p in (("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), ())}) == 5


@each("good", [0, 1, MAX_SEED])
def test_seeds_in_range_pass(good: int) -> None:
    assert check_seed(good) == good


@each("bad", [-1, MAX_SEED + 1, 1.0, True, "0", None])
def test_what_is_no_seed_is_an_input_error(bad: object) -> None:
    with pytest.raises(InputError, match="seed must be an integer from 0 to") as caught:
        check_seed(bad)  # type: ignore[arg-type]  # what a caller without a type checker may pass
    assert caught.value.field == "seed"


def test_a_signature_keeps_order_and_leaves_none_out() -> None:
    assert signature(n=20, stop="none", judge=None, t=0.7, seed=0) == "n:20|stop:none|t:0.7|seed:0"
    assert signature() == ""
