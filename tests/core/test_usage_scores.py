"""Usage adds up with nothing lost; a score is a number in [0, 1] or says why there is none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.core.scores import ArgumentScore, Poll, Polls, Scores, SentenceScore, Unscored, WordScore, number
from eirene.core.usage import Meter, Usage
from tests.rows import each

counts = st.integers(0, 10**6)
usages = st.builds(
    Usage,
    calls=counts,
    retries=counts,
    input_tokens=counts,
    output_tokens=counts,
    cached_tokens=counts,
    cache_hits=counts,
    cost_usd=st.none() | st.floats(0, 1e3),
    seconds=st.floats(0, 1e4),
)


@given(usages, usages)
def test_usage_adds_field_by_field(a: Usage, b: Usage) -> None:
    both = a + b
    for name in ("calls", "retries", "input_tokens", "output_tokens", "cached_tokens", "cache_hits", "seconds"):
        assert getattr(both, name) == getattr(a, name) + getattr(b, name)
    assert both == b + a and a + Usage() == a


@given(usages, usages)
def test_an_unknown_cost_makes_the_sum_unknown_and_nothing_else_does(a: Usage, b: Usage) -> None:
    if a.cost_usd is None or b.cost_usd is None:
        assert (a + b).cost_usd is None
    else:
        assert (a + b).cost_usd == a.cost_usd + b.cost_usd


@given(st.lists(usages, max_size=6))
def test_a_meter_holds_the_sum_of_what_it_was_given(given_usages: list[Usage]) -> None:
    meter = Meter()
    for usage in given_usages:
        meter.add(usage)
    assert meter.total.calls == sum(u.calls for u in given_usages)
    assert math.isclose(meter.total.seconds, math.fsum(u.seconds for u in given_usages), abs_tol=1e-9)


def test_meters_share_nothing() -> None:
    first = Meter()
    first.add(Usage(calls=1))
    assert Meter().total == Usage() and first.total.calls == 1


@each("fields", [{"calls": -1}, {"seconds": -0.1}, {"seconds": math.nan}, {"cost_usd": math.inf}, {"dollars": 1}])
def test_impossible_usage_cannot_be_built(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Usage(**fields)


@given(st.floats(0, 1))
def test_a_score_in_range_is_its_number(value: float) -> None:
    scores = Scores(hallucination=value, coverage=1.0 - value)
    assert (number(scores.hallucination), number(scores.coverage)) == (value, 1.0 - value)
    assert Scores.model_validate_json(scores.model_dump_json()) == scores


@each("value", [-0.01, 1.01, math.nan, math.inf, None, "high"])
def test_what_is_no_score_cannot_be_built(value: Any) -> None:
    for build in (
        lambda: Scores(hallucination=value, coverage=0.0),
        lambda: SentenceScore(n=1, hallucination=value),
        lambda: ArgumentScore(group="pro", n=1, coverage=value),
    ):
        with pytest.raises(InputError):
            build()


def test_a_word_score_is_a_number_in_range() -> None:
    for value in (-0.1, 1.5, math.nan):
        with pytest.raises(InputError):
            WordScore(start=0, end=1, score=value)


def test_unscored_is_a_value_of_its_own_with_its_reason() -> None:
    scores = Scores.none("nothing was given")
    assert scores.hallucination == scores.coverage == Unscored(unscored="nothing was given")
    assert number(scores.hallucination) is None and number(0.0) == 0.0
    assert scores.model_dump(mode="json")["coverage"] == {"unscored": "nothing was given"}
    assert Scores.model_validate_json(scores.model_dump_json()) == scores


def test_polls_and_raw_values_come_back_and_are_left_out_where_there_are_none() -> None:
    polls = Polls(
        asked="adherence",
        requested=3,
        replies=(Poll(error=True, text="Verdict: yes"), Poll(error=None, text="?", unread="no verdict")),
        low=0.1,
        high=1.0,
    )
    scores = Scores(hallucination=1.0, coverage=Unscored(unscored="no"), polls=polls, raw={"nll": 7.5})
    assert (polls.yes, polls.answered) == (1, 1)
    assert Scores.model_validate_json(scores.model_dump_json()) == scores
    assert not {"polls", "raw"} & set(Scores.none("no").model_dump(mode="json"))
    with pytest.raises(InputError):
        Scores(hallucination=0.0, coverage=0.0, raw={"nll": math.inf})
