"""The salience page: shaded words, the map, and that no text gets out of its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eirene.views.salience import Heatmap, ShadedText, render_salience_page, shaded
from tests import axe
from tests.agent.server.chromium import browser

EVIL = "<script>alert(1)</script>\x1b[31m"
HEATMAP = Heatmap(EVIL, ["pro"], [EVIL], ["wind"], [[0.25]], [0.75], [0.75])


def rendered() -> str:
    text = ShadedText(f"wind {EVIL}", [(0, 4, 0.75)])
    return render_salience_page(
        HEATMAP, answer=text, arguments=[(EVIL, [text])], scores={"coverage": "0.5"}, model=EVIL
    )


def test_hostile_texts_stay_texts() -> None:
    page = rendered()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert page.count("<script>") == 1


def test_nothing_is_styled_in_line_and_nothing_comes_from_outside() -> None:
    page = rendered()
    assert "style=" not in page
    assert "http://" not in page and "https://" not in page


def test_words_are_shaded_by_their_error_and_the_rest_stays() -> None:
    found = str(shaded(ShadedText("a bird & b", [(2, 6, 1.0), (9, 10, 0.0)])))
    assert found == (
        '<p class="text" dir="auto">a <mark class="shaded s4" title="1.00">bird</mark> &amp; '
        '<mark class="shaded s0" title="0.00">b</mark></p>'
    )


def test_a_square_has_the_area_of_its_share() -> None:
    """A quarter of the largest area is half the side: 6.5 of 13."""
    assert 'width="6.5" height="6.5"' in rendered()


def test_the_words_that_stand_apart_are_counted_and_named() -> None:
    text = ShadedText("wind blows", [(0, 4, 0.2), (5, 10, 0.9)])
    page = render_salience_page(HEATMAP, answer=text, arguments=[], scores={"coverage": "0.500"}, model="m")
    assert "1 of the answer&#39;s 2 words come little from the arguments (error of 0.6 or more)" in page
    assert "most of all &#34;blows&#34;." in page
    calm = ShadedText("wind", [(0, 4, 0.2)])
    page = render_salience_page(HEATMAP, answer=calm, arguments=[], scores={}, model="m")
    assert "None of the answer&#39;s 1 words has an error of 0.6 or more." in page


@pytest.mark.browser
@pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
def test_nothing_keeps_anybody_from_reading_it(tmp_path: Path) -> None:
    """Every level of marking, on both sides, and a map wider than the screen."""
    text = "one two three four five"
    words = ((m.start(), m.end(), n / 5 + 0.1) for n, m in enumerate(re.finditer(r"\w+", text)))
    marked = ShadedText(text, list(words))
    wide = Heatmap("Wind?", ["pro"], ["wind"], ["word"] * 200, [[0.25] * 200], [0.75], [0.75] * 200)
    path = tmp_path / "page.html"
    scores = {"hallucination": "0.500", "coverage": "0.500"}
    page = render_salience_page(wide, answer=marked, arguments=[("pro", [marked])], scores=scores, model="m")
    path.write_text(page, encoding="utf-8")
    with browser(tmp_path / "profile") as tab:
        assert axe.violations_of(tab, path) == []
        assert tab.read("document.documentElement.scrollWidth") <= 390
        assert tab.complaints == []
