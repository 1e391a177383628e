"""The salience page: shaded words, the map, and that no text gets out of its place."""

from __future__ import annotations

from eirene.views.salience import Heatmap, ShadedText, render_salience_page, shaded

EVIL = "<script>alert(1)</script>\x1b[31m"
HEATMAP = Heatmap(EVIL, ["pro"], [EVIL], ["wind"], [[0.25]], [0.75], [0.75])


def rendered() -> str:
    text = ShadedText(f"wind {EVIL}", [(0, 4, 0.75)])
    return render_salience_page(HEATMAP, answer=text, arguments=[(EVIL, [text])], scores="s", model=EVIL)


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
