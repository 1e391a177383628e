"""The level of calls follows the provider."""

from __future__ import annotations

from eirene.models.limits import AdaptiveLevel


def test_good_replies_lift_it_to_the_ceiling_and_no_further() -> None:
    level = AdaptiveLevel(64)
    for _ in range(200):
        level.went_well(under_way=level.now)
    assert level.now == 64


def test_a_refusal_halves_it_once_for_all_calls_sent_before() -> None:
    level = AdaptiveLevel(16)
    for _ in range(5):
        level.refused(sent_at_step=0)
    assert (level.now, level.steps_down) == (8, 1)


def test_after_a_refusal_it_grows_by_one_a_round_and_never_falls_below_one() -> None:
    level = AdaptiveLevel(16)
    level.refused(sent_at_step=0)
    for _ in range(9):
        level.went_well(under_way=level.now)
    assert level.now == 9
    for step in range(1, 20):
        level.refused(sent_at_step=step)
    assert level.now == 1


def test_an_idle_limit_proves_nothing() -> None:
    level = AdaptiveLevel(64)
    level.went_well(under_way=1)
    assert level.now == 16
