"""The page of an evaluation of detectors: what it concludes, and that everybody can read it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eirene.views.charts import ShownCurve, curves
from eirene.views.detectors_page import render_detectors_page
from eirene.views.detectors_verdict import conclusion
from tests import axe
from tests.agent.server.chromium import browser
from tests.views.test_detectors import curve, summary

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


@pytest.mark.parametrize(
    ("floor", "said"),
    [
        (MIDDLE, "above counting alone"),
        ({**MIDDLE, "high": 0.84}, "not clearly above counting alone"),
        ({**MIDDLE, "value": 0.86, "high": 0.9}, "no better than counting alone"),
    ],
)
def test_a_floor_is_beaten_only_where_the_intervals_are_apart(floor: dict[str, Any], said: str) -> None:
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


def test_the_conclusion_stands_before_the_curves_and_floors_beside_the_detectors() -> None:
    page = render_detectors_page(summary(), [curve()])
    text = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    conclusion_, plot, table = (text.index(part) for part in ("cannot be told from chance", "<svg", "<table"))
    assert conclusion_ < plot < table
    assert "Floors: what counting alone gives" in text and ">earlier</th>" in text
    assert "Intervals over fewer than 10 clusters are too narrow; here there are 3." in text
    assert "style=" not in text and "http://" not in text


def test_hostile_names_stay_texts() -> None:
    evil = "<script>alert(1)</script>\x1b"
    found = summary()
    found["data"]["name"] = evil
    found["levels"][0]["detectors"][evil] = found["levels"][0]["detectors"]["x"]
    shown = curve()
    shown["detectors"] = {evil: shown["detectors"]["x"]}
    page = render_detectors_page(found, [shown])
    assert "<script>alert" not in page and "\x1b" not in page


def test_a_curve_goes_through_its_points_and_steps_where_nothing_is_between_them() -> None:
    """In the square of 260 units at (38, 6) the middle is (168, 136)."""
    half = ShownCurve([0, 0.5, 0.5, 1], [0, 0.5, 0.5, 1], 1)
    options: Any = {"name": "n", "across": "x", "up": "y", "line": [(0, 0), (1, 1)]}
    assert 'd="M38.0 266.0L168.0 136.0L298.0 6.0"' in curves([half], **options, steps=False)
    steps = curves([ShownCurve([0, 1], [1, 0.5], 1)], **options, steps=True)
    assert 'd="M38.0 6.0V136.0H298.0"' in steps


class TestInABrowser:
    pytestmark = axe.NEEDED

    def test_nothing_keeps_anybody_from_reading_it(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text(render_detectors_page(summary(), [curve()]), encoding="utf-8")
        unfold = "document.querySelectorAll('details').forEach((it) => { it.open = true; })"
        with browser(tmp_path / "profile") as page:
            assert axe.violations_of(page, path, lambda tab: tab.read(unfold)) == []
            assert page.complaints == []
