"""What an evaluation of detectors concludes, in words."""

from __future__ import annotations

from typing import Any

from eirene.views.detectors import conclusion

HIGH = {"value": 0.85, "low": 0.8, "high": 0.9, "n": 99}
MIDDLE = {"value": 0.7, "low": 0.65, "high": 0.76, "n": 99}
FLOOR = {"value": 0.55, "low": 0.5, "high": 0.6, "n": 99}
TOLD = {"value": -0.15, "low": -0.2, "high": -0.1, "n": 99}


def level(floor: dict[str, Any] = FLOOR, **areas: dict[str, Any]) -> dict[str, Any]:
    """A level with these areas; detector `b` minus detector `a` is told."""
    detectors = {
        name: {"scored": 99, "unscored": {}, "auc": area, "ap": area, "f1": area} for name, area in areas.items()
    }
    pairs = [{"a": "b", "b": "a", "n": 99, "errors": 50, "difference": TOLD, "p": 0.001, "holm": 0.003}]
    return {"error": "coverage", "level": "answer", "n": 99, "errors": 50, "clusters": 99, "detectors": detectors,
            "floors": {"all": {"auc": {"value": 0.5}}, "words": {"direction": "more", "auc": floor}},
            "pairs": pairs if {"a", "b"} <= set(areas) else [], "slices": {}}  # fmt: skip


def test_the_best_is_named_with_whom_it_beats_and_what_counting_gives() -> None:
    assert conclusion(level(a=HIGH, b=MIDDLE)) == (
        "a ranks errors best, with a ROC AUC of 0.85 [0.80, 0.90]; better than b (by 0.15 [0.10, 0.20]); "
        'above counting alone ("more words": 0.55 [0.50, 0.60]).'
    )


def test_a_difference_that_does_not_hold_after_correction_is_not_told() -> None:
    open_ = level(a=HIGH, b=MIDDLE)
    open_["pairs"][0]["holm"] = 0.2
    assert "; not told apart from b; " in conclusion(open_)


def test_a_floor_is_beaten_only_where_the_intervals_are_apart() -> None:
    for floor, said in [
        (MIDDLE, "above counting alone"),
        ({**MIDDLE, "high": 0.84}, "not clearly above counting alone"),
        ({**MIDDLE, "value": 0.86, "high": 0.9}, "no better than counting alone"),
    ]:
        assert f"; {said} (" in conclusion(level(floor, a=HIGH))


def test_where_nothing_can_be_told_it_says_so() -> None:
    low = {**MIDDLE, "low": 0.45}
    assert conclusion(level(a=low)) == "a cannot be told from chance; the ROC AUC of a is 0.70 [0.45, 0.76]."
    assert conclusion(level(a=low, c=low)).startswith("No detector can be told from chance")
    surer = {**MIDDLE, "value": 0.6, "low": 0.55, "high": 0.65}
    assert "0.70 [0.45, 0.76], which cannot be told from chance; " in conclusion(level(a=low, c=surer))
    assert conclusion(level()) == "Nothing can be told: no detector scores at this level."
    one_class = {**level(a=HIGH), "errors": 0}
    assert conclusion(one_class) == "Nothing can be told: of 99 labelled answers none of them is an error."
