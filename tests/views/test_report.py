"""The page of a run: whole by itself, nothing from a record is ever markup, and it works in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from eirene.core.records import STATUSES, Item
from eirene.views.record import view_of
from eirene.views.report import means_by_status, render_report, row_of
from tests import axe
from tests.agent.server.chromium import BROWSER, Browser, browser
from tests.views.records import ITEM, record
from tests.views.test_html import NASTY, Page

IN_BROWSER = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]
ROWS = "[...list.querySelectorAll('tr.line')]"


def data(page: str, name: str) -> list[Any]:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return [json.loads(line) for line in found[1].split("\n")]


def test_every_record_is_in_the_page_with_all_that_it_shows() -> None:
    records = [record(status) for status in STATUSES]
    page = render_report(records, items={"zoo": Item.model_validate(ITEM)})
    (index,) = data(page, "index")
    details = data(page, "details")
    assert [line[3] for line in index] == list(STATUSES)
    assert index[0][5:] == ["1 sentence added, 1 removed", 0.6, 0.1, 0.9, 0.2, []]
    about, summary, lines, now_said, _, still, critiques, columns, scores, _, _, arguments, rounds, _, _ = details[0]
    pieces = [piece for line in lines for piece in line[1]]
    assert "".join(words for kind, words in pieces if kind != "gone") == records[0].answer
    assert summary == index[0][5] and len(now_said) == 1 and still == []
    assert critiques[0][3][1][5] == "nnyb"
    assert columns == ["before", "after"]
    assert scores[0] == ["scripted", "hallucination", [0.6, 0.1], False]
    assert arguments[0][2] == "Cages make animals suffer."
    assert rounds[0][0] == "accept"
    assert about[2] == ""
    assert details[-1][0][1].startswith("ScriptExhaustedError")
    assert details[1][0][2] == records[1].original


def test_the_diff_loses_nothing_of_either_text() -> None:
    result = record("accepted")
    pieces = [(line.done(piece), piece.text) for line in view_of(result).diff for piece in line.pieces]
    new, gone = ("added", "moved to here"), ("removed", "moved from here")
    assert "".join(text for done, text in pieces if done not in new) == result.original
    assert "".join(text for done, text in pieces if done not in gone) == result.answer


def test_means_and_counts_by_status_stand_on_top() -> None:
    """Of the detectors that decide; a record without scores counts as a record and in no mean."""
    table = means_by_status([row_of(r, view_of(r)) for r in (record("accepted"), record("kept"), record("failed"))])
    found = {re.sub("<[^>]+>", "", str(row[0])): [re.sub("<[^>]+>", "", str(cell)) for cell in row[1:]]
             for group in table.groups for row in group.rows}  # fmt: skip
    assert found["accepted"] == ["1", "0.600", "0.100", "0.900", "0.200"]
    assert found["kept"] == ["1", "0.600", "0.600", "0.900", "0.900"]
    assert found["all"][0] == "3" and found["all"][1].startswith("0.600")


def test_a_rewrite_is_in_the_page_once() -> None:
    """A round whose rewrite is the one that the diff shows names none of its own."""
    assert [r.candidate for r in view_of(record("accepted")).rounds] == [""]
    kept = record("kept")
    assert [r.candidate for r in view_of(kept).rounds] == [kept.rounds[0].candidate, ""]


def test_nothing_from_a_record_is_markup() -> None:
    nasty = record("accepted", item={"id": NASTY, "question": NASTY}, reason=NASTY)
    text = render_report([nasty], title=NASTY)
    page = Page(text)
    assert len(page.all("script")) == 5
    assert page.all("img") == []
    (index,) = data(text, "index")
    assert "alert(1)" in index[0][0]
    assert "<" not in re.sub(r"<[^<>]*>", "", re.search(r"<main>.*", text, re.DOTALL)[0].split("<script")[0])  # type: ignore[index]  # there is one


def test_nothing_is_loaded_from_elsewhere() -> None:
    page = render_report([record("accepted")])
    assert "default-src 'none'" in unescape(page)
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", page.split("<script")[0])


def test_an_empty_run_is_a_page() -> None:
    assert "0 records" in render_report([])


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 records of five statuses."""
    statuses = ("accepted", "complete", "kept", "abstained", "failed")
    made = [record(status, item={"id": f"r{n}"}) for n, status in enumerate(statuses)] * 60
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_report(made, items={f"r{n}": Item.model_validate(ITEM) for n in range(5)}), "utf-8")
    return path


class TestInABrowser:
    """What a reader sees and does."""

    pytestmark = IN_BROWSER

    @pytest.fixture(autouse=True)
    def _opened(self, tab: Browser, path: Path) -> None:
        tab.complaints.clear()
        tab.screen(width=1280, height=900, dark=False)
        tab.open(path.as_uri())

    def test_the_list_is_drawn_a_page_at_a_time_and_nothing_is_complained_of(self, tab: Browser) -> None:
        assert tab.read(f"{ROWS}.length") == 100
        assert tab.read("more.textContent") == "Show 100 more (200 not shown yet)"
        assert tab.read("count.textContent") == "300 records"
        tab.read("more.click()")
        assert tab.read(f"{ROWS}.length") == 200
        assert tab.complaints == []

    def test_a_status_and_words_narrow_the_list(self, tab: Browser) -> None:
        tab.read("status.value = 'kept'; status.dispatchEvent(new Event('change'))")
        assert tab.read("count.textContent") == "60 of 300 records"
        assert tab.read(f"new Set({ROWS}.map((row) => row.cells[1].textContent)).size") == 1
        tab.read("status.value = ''; search.value = 'moon unsupported'; filter()")
        assert tab.read("count.textContent") == "120 of 300 records"
        tab.read("search.value = 'no such words'; filter()")
        assert tab.read("count.textContent") == "0 of 300 records" and tab.read(f"{ROWS}.length") == 0

    def test_a_column_sorts_both_ways_and_rows_without_a_score_come_last(self, tab: Browser) -> None:
        press = "document.querySelector('th[data-sort=coverage] button').click()"
        first = f"{ROWS}[0].cells[4].textContent"
        tab.read(press)
        assert tab.read("document.querySelector('[aria-sort]').getAttribute('aria-sort')") == "descending"
        assert tab.read(first).startswith("0.90")
        tab.read(press)
        assert tab.read(first) == "0.90 → 0.20 better"
        assert tab.read("matches.slice(-60).every((at) => index[at][9] === null)")

    def test_a_row_opens_and_closes_again(self, tab: Browser) -> None:
        tab.read(f"{ROWS}[0].querySelector('button').click()")
        heads = "[...document.querySelectorAll('tr.body h3')].map((head) => head.textContent)"
        assert tab.read(heads) == ["Answer", "What changed", "What is still missing or at fault", "Details"]
        assert tab.read(f"{ROWS}[0].querySelector('button').getAttribute('aria-expanded')") == "true"
        assert "f-unsupported" in tab.read("document.querySelector('tr.body ul.diff').innerHTML")
        tab.read(f"{ROWS}[0].querySelector('button').click()")
        assert tab.read(heads) == []

    @pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
    def test_everybody_can_read_it(self, tab: Browser, path: Path) -> None:
        def opened(page: Browser) -> None:
            page.read(f"[0, 1, 2, 3, 4].forEach((n) => {ROWS}[n].querySelector('button').click())")
            page.read("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")

        assert axe.violations_of(tab, path) == []
        assert axe.violations_of(tab, path, opened) == []
