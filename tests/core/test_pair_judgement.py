"""What the log-odds of both orders come to: a probability in which a liking for the first place cancels out."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.scores import PairJudgement, Unscored

ODDS = st.floats(-30, 30)


@given(ODDS, ODDS, st.floats(-5, 5))
def test_a_liking_for_the_first_place_changes_nothing(first: float, second: float, liking: float) -> None:
    """Where the text before is shown first the liking is against the rewrite, else for it."""
    fair = PairJudgement.of(first, second, judge="m")
    biased = PairJudgement.of(first - liking, second + liking, judge="m")
    assert fair.bias is not None and biased.bias is not None
    assert biased.better == pytest.approx(fair.better) and biased.bias - fair.bias == pytest.approx(liking)
    assert fair.better == pytest.approx(1 / (1 + math.exp(-(first + second) / 2)))
    assert PairJudgement.model_validate_json(fair.model_dump_json()) == fair


def test_with_one_order_alone_it_is_unscored() -> None:
    """A liking for the first place could not be told from a better answer."""
    for odds in [(Unscored(unscored="no word"), 3.0), (3.0, Unscored(unscored="no word"))]:
        found = PairJudgement.of(*odds, judge="m")
        assert found.better == Unscored(unscored="no word") and found.odds is None and found.bias is None
