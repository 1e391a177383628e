"""The page of a comparison in a real browser: the verdict in sight, items sorted and chosen, readable by everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.core.records import Item
from eirene.views.comparison.page import render_blind_page
from eirene.views.comparison.verdict import verdict
from tests import axe
from tests.agent.server.chromium import BROWSER, Browser, browser
from tests.views.comparisons import compared_rows, page_of, summary_of

in_browser = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m"
SHOWN = "[...document.querySelectorAll('#body .pick')].map((it) => it.textContent)"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 items in three modes."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page_of(compared_rows(200)), encoding="utf-8")
    return path


def opened(tab: Browser, path: Path, *, width: int = 1280) -> None:
    tab.complaints.clear()
    tab.screen(width=width, height=800, dark=False)
    tab.open(path.as_uri())


def test_hostile_texts_stay_texts_and_nothing_is_loaded() -> None:
    item = Item(question=EVIL, answer=EVIL, context=[EVIL], history=[{"role": "user", "content": EVIL}])
    for page in (page_of(compared_rows(2, question=EVIL), title=EVIL), render_blind_page([(EVIL, item, EVIL, EVIL)])):
        assert "<script>alert" not in page and "<img" not in page and "\x1b" not in page
        assert "style=" not in page
        assert not re.search(r"(?:src|href)=[\"']?https?:", page)
        assert "default-src 'none'" in page


class TestInABrowser:
    """What a reader sees and does."""

    pytestmark = in_browser

    @pytest.mark.parametrize("width", [1280, 390])
    def test_the_verdict_is_in_sight_without_scrolling(self, tab: Browser, report: Path, width: int) -> None:
        opened(tab, report, width=width)
        box = tab.read("(({top, bottom, width}) => [top, bottom, width])(verdict.getBoundingClientRect())")
        assert 0 <= box[0] < box[1] <= 800 and 0 < box[2] <= width
        assert tab.read("document.getElementById('verdict').textContent") == verdict(summary_of(compared_rows(200)))
        assert tab.read("document.documentElement.scrollWidth") <= width
        assert tab.complaints == []

    def test_items_are_sorted_by_any_column_and_found_by_words(self, tab: Browser, report: Path) -> None:
        """The largest difference comes first; a second click turns the order; what is left is counted."""
        opened(tab, report)
        cells = "[...document.querySelectorAll('#body tr')].map((it) => Number(it.lastElementChild.innerText))"
        found = tab.read(cells)
        assert len(found) == 100 and found == sorted(found, reverse=True)
        click = "document.querySelectorAll('#head button')[{}].click()"
        tab.read(click.format(1))
        before = "[...document.querySelectorAll('#body tr')].map((it) => Number(it.children[1].innerText))"
        falling = tab.read(before)
        assert falling == sorted(falling, reverse=True)
        assert tab.read("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"
        tab.read(click.format(1))
        rising = tab.read(before)
        assert rising == sorted(rising) and rising[0] < falling[-1]
        assert tab.read("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "ascending"
        tab.read("search.value = 'ITEM-77'; search.dispatchEvent(new Event('input'))")
        tab.wait_for("count.textContent === '1 of 200 items'")
        assert tab.read(SHOWN) == ["Should zoos close (77)?"]

    def test_every_item_can_be_reached(self, tab: Browser, report: Path) -> None:
        opened(tab, report)
        tab.read("more.click()")
        assert len(set(tab.read(SHOWN))) == 200
        assert tab.read("more.hidden")

    def test_a_chosen_items_rewrites_stand_side_by_side(self, tab: Browser, report: Path) -> None:
        """By keyboard: the choice takes the focus to the rewrites, one column a mode, what changed marked."""
        opened(tab, report)
        tab.tab_to("it.matches('.pick')")
        tab.press("Enter")
        name = tab.read("document.querySelector('.pick').textContent")
        assert tab.read("document.activeElement.id + ' ' + document.activeElement.textContent") == f"item {name}"
        assert tab.read("[...document.querySelectorAll('.side h3')].map((it) => it.firstChild.textContent)") == [
            "improve", "generic", "fine-grained",
        ]  # fmt: skip
        tops = tab.read("[...document.querySelectorAll('.side')].map((it) => it.getBoundingClientRect().top)")
        assert len(set(tops)) == 1
        assert tab.read("[...document.querySelectorAll('.side ins')].length") == 3
        assert "Zoos teach children about animals." in tab.read("document.getElementById('about').textContent")
        tab.read("document.getElementById('next').click()")
        assert tab.read("document.getElementById('item').textContent") == tab.read(SHOWN)[1]
        assert tab.read("document.getElementById('where').textContent") == "2 of 200"

    def test_a_link_to_an_item_opens_it(self, tab: Browser, report: Path) -> None:
        tab.open("about:blank")
        for n in (150, 33):
            tab.open(f"{report.as_uri()}#item=item-{n}&seed=0")
            tab.wait_for(f"document.getElementById('item').textContent === 'Should zoos close ({n})?'")

    @pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
    @pytest.mark.parametrize("n", [1, 200])
    def test_nothing_keeps_anybody_from_reading_it(self, tab: Browser, tmp_path: Path, n: int) -> None:
        """No violation of axe-core's rules, with every folded part open."""
        path = tmp_path / "page.html"
        path.write_text(page_of(compared_rows(n)), encoding="utf-8")
        unfold = "document.querySelectorAll('details').forEach((it) => { it.open = true; })"
        assert axe.violations_of(tab, path, lambda page: page.read(unfold)) == []
