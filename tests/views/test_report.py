"""The page of a run: whole by itself, nothing from a record is ever markup, and it works in a real browser."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from eirene.core.records import Item, Record
from eirene.views.record import view_of
from eirene.views.report import render_report
from tests.views.records import ITEM, record
from tests.views.test_browser import BROWSER, FLAGS
from tests.views.test_html import NASTY, Page

STATUSES = ("accepted", "complete", "kept", "abstained", "failed")


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
    about, pieces, critiques, columns, scores, _, _, arguments, rounds, _ = details[0]
    assert "".join(words for what, words in pieces if what != "removed") == records[0].answer
    assert critiques[0][3][1][5] == "nnyb"
    assert columns == ["before", "after"]
    assert scores[0] == ["scripted", "hallucination", [0.6, 0.1], False]
    assert arguments[0][2] == "Cages make animals suffer."
    assert rounds[0][0] == "accept"
    assert about[2] == ""
    assert details[4][0][1].startswith("ScriptExhaustedError")
    assert details[1][0][2] == records[1].original


def test_the_diff_loses_nothing_of_either_text() -> None:
    result = record("accepted")
    pieces = view_of(result).diff
    new, gone = ("added", "moved to here"), ("removed", "moved from here")
    assert "".join(p.text for p in pieces if p.what not in new) == result.original
    assert "".join(p.text for p in pieces if p.what not in gone) == result.answer


def test_a_rewrite_is_in_the_page_once() -> None:
    """A round whose rewrite is the one that the diff shows names none of its own."""
    assert [r.candidate for r in view_of(record("accepted")).rounds] == [""]
    kept = record("kept")
    assert [r.candidate for r in view_of(kept).rounds] == [kept.rounds[0].candidate, ""]


def test_nothing_from_a_record_is_markup() -> None:
    nasty = record("accepted", item={"id": NASTY, "question": NASTY}, reason=NASTY)
    text = render_report([nasty], title=NASTY)
    page = Page(text)
    assert len(page.all("script")) == 4
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


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_draws_the_list_and_finds_nothing_to_complain_of(tmp_path: Path) -> None:
    assert BROWSER is not None
    path = tmp_path / "page.html"
    records = [record(STATUSES[n % 5], item={"id": f"r{n}"}) for n in range(5)] * 60
    path.write_text(render_report([Record.model_validate(r) for r in records]), encoding="utf-8")
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [BROWSER, *FLAGS, *sandbox, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count('<span class="question"') == 100
    assert "Show 100 more (200 not shown yet)" in done.stdout
    assert "300 records</p>" in done.stdout
