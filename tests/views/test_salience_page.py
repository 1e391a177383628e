"""The salience page: shaded words, the map, and that no text gets out of its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eirene.core.scores import ArgumentScore, Scores, WordScore
from eirene.views.salience import render_salience_page, shaded
from tests import axe
from tests.agent.server.chromium import browser

EVIL = "<script>alert(1)</script>\x1b[31m"


def words(text: str, *errors: float) -> tuple[WordScore, ...]:
    """The words of a text with their errors."""
    found = re.finditer(r"\S+", text)
    return tuple(WordScore(start=m.start(), end=m.end(), score=e) for m, e in zip(found, errors, strict=True))


def rendered(answer: str, errors: list[float], argument: str = "wind", given: float = 0.75, group: str = "pro") -> str:
    """The page of an answer and one argument; what each word of the answer came from is a quarter of it."""
    argued = ArgumentScore(group=group, n=1, coverage=0.5, words=words(argument, given))
    shares = tuple((0, column, 0.25) for column in range(len(errors)))
    scores = Scores(
        hallucination=0.5, coverage=0.5, arguments=(argued,), words=words(answer, *errors), shares=shares
    )  # fmt: skip
    return render_salience_page("Wind?", answer, [argument], scores, model="m")


def test_hostile_texts_stay_texts() -> None:
    page = rendered(f"wind {EVIL}", [0.75, 0.75], EVIL, group=EVIL)
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert page.count("<script>") == 1


def test_nothing_is_styled_in_line_and_nothing_comes_from_outside() -> None:
    page = rendered("wind", [0.75])
    assert "style=" not in page
    assert "http://" not in page and "https://" not in page


def test_words_are_shaded_by_their_error_and_the_rest_stays() -> None:
    found = str(shaded("a bird & b", [WordScore(start=2, end=6, score=1.0), WordScore(start=9, end=10, score=0.0)]))
    assert found == (
        '<p class="text" dir="auto">a <mark class="shaded s4" title="1.00">bird</mark> &amp; '
        '<mark class="shaded s0" title="0.00">b</mark></p>'
    )


def test_a_square_has_the_area_of_its_share() -> None:
    """A quarter of the largest area is half the side: 6.5 of 13."""
    assert 'width="6.5" height="6.5"' in rendered("wind", [0.75])


def test_the_words_that_stand_apart_are_counted_and_named() -> None:
    page = rendered("wind blows", [0.2, 0.9])
    assert "1 of the answer&#39;s 2 words come little from the arguments (error of 0.6 or more)" in page
    assert "most of all &#34;blows&#34;." in page
    assert "None of the answer&#39;s 1 words has an error of 0.6 or more." in rendered("wind", [0.2])


@pytest.mark.browser
@pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
def test_nothing_keeps_anybody_from_reading_it(tmp_path: Path) -> None:
    """Every level of marking, on both sides, and a map wider than the screen."""
    path = tmp_path / "page.html"
    page = rendered(" ".join(["word"] * 200), [n % 5 / 5 + 0.1 for n in range(200)])
    path.write_text(page, encoding="utf-8")
    with browser(tmp_path / "profile") as tab:
        assert axe.violations_of(tab, path) == []
        assert tab.read("document.documentElement.scrollWidth") <= 390
        assert tab.complaints == []
