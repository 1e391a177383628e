"""Claims with evidence on the pages of runs: the verdicts of `eirene.verify`, escaped, and readable by everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import eirene
from eirene.core.records import FOUND_PASSAGES, Item, Record
from eirene.verification.verify import verify_item
from eirene.views.report import render_page, render_report
from eirene.views.verification import RecordClaims, claims_of, outcome_of
from tests import axe
from tests.agent.server.chromium import Browser, browser
from tests.views.records import ANSWER, BETTER, ITEM, record
from tests.views.test_html import NASTY, Page
from tests.views.test_report import IN_BROWSER, ROWS, data

PASSAGES = ["Zoos teach children about animals. They are open all year.", "Critics say that cages make animals suffer."]
QUOTED = 'A sign says "zoos teach children about plants".'
CONTEXT: dict[str, Any] = {"perspectives": None, "context": PASSAGES}
WITH_QUOTE: dict[str, Any] = {**CONTEXT, "answer": f"{ANSWER} {QUOTED}"}


def made(status: str = "accepted", **more: Any) -> tuple[Record, Item]:
    """A record, and the item that it is of."""
    given = {**CONTEXT, **more}
    return record(status, item=given), Item.model_validate({**ITEM, **given})


def shown(found: Record, item: Item | None) -> RecordClaims:
    claims = claims_of(found, item, verify_item)
    assert claims is not None
    return claims


def test_answer_and_original_have_the_verdicts_of_verify() -> None:
    claims = shown(*made())
    for text, part in ((BETTER, claims.answer), (ANSWER, claims.original)):
        expected = eirene.verify(text, PASSAGES)
        assert part is not None and part.outcome == tuple(outcome_of(expected))
        assert [(c.n, c.verdict, c.text) for c in part.claims] == [(c.n, c.verdict, c.text) for c in expected.claims]
        for drawn, claim in zip(part.claims, expected.claims, strict=True):
            if claim.evidence is not None and drawn.evidence is not None:
                assert (drawn.evidence.passage, drawn.evidence.text) == (claim.evidence.passage, claim.evidence.text)
            assert (drawn.evidence is None) == (claim.evidence is None)
    assert claims.answer is not None and claims.original is not None
    assert claims.answer.claims[0].verdict == "supported"
    assert "supported" != claims.original.claims[1].verdict == claims.original.words[-1]


def test_an_answer_that_stands_is_verified_once() -> None:
    asked: list[str] = []

    def counted(item: Item, text: str) -> eirene.Verification | None:
        asked.append(text)
        return verify_item(item, text)

    found, item = made("kept")
    claims = claims_of(found, item, counted)
    assert asked == [found.answer] and claims is not None and claims.original is None


def test_arguments_are_named_by_side_and_have_no_risk() -> None:
    """The risk is fitted on passages."""
    claims = shown(record("accepted"), Item.model_validate(ITEM))
    assert claims.unit == "argument" and claims.answer is not None
    assert claims.answer.outcome[0].endswith("supported by 2 arguments.")
    places = [claim.evidence.place for claim in claims.answer.claims if claim.evidence]
    assert places == ["con, argument 1", "pro, argument 1"]
    assert "isk" not in " ".join([*claims.answer.outcome, *(claim.figures for claim in claims.answer.claims)])


def test_what_is_not_the_row_of_the_run_is_not_verified() -> None:
    """An id says little: verdicts from another row's passages would be worse than none."""
    found, item = made()
    same_id = item.model_copy(update={"answer": "Another."})
    moved = item.model_copy(update={"meta": {FOUND_PASSAGES: ["a", "b"]}})
    said = {
        "no row with this id was given": shown(found, None),
        "the row with this id has another question or answer": shown(found, same_id),
        "the row with this id has other passages than the run had": shown(found, moved),
    }
    assert {why: claims.why for why, claims in said.items()} == {why: why for why in said}
    assert all(claims.answer is None for claims in said.values())
    blank = found.model_copy(update={"answer": " "})
    assert "blank" in shown(blank, item).why
    assert claims_of(found, item.model_copy(update={"context": None}), verify_item) is None


def section(page: str) -> str:
    return page.partition('<h2 id="claims">')[2].partition("</section>")[0]


def test_the_page_of_a_run_has_the_section_where_it_is_verified() -> None:
    found, item = made("kept", **WITH_QUOTE)
    part = unescape(section(render_page(found, item=item, verified=verify_item)))
    checked = eirene.verify(found.answer, PASSAGES)
    for claim in checked.claims:
        assert f'<strong class="fault f-{style(claim.verdict)}">{claim.verdict}</strong> {claim.text}' in part
        assert claim.evidence is None or f"<b>passage {claim.evidence.passage}</b>: {claim.evidence.text}" in part
    assert '"plants" for "animals"' in part
    assert "The original" not in part
    assert "people had marked" in part
    assert section(render_page(found, item=item)) == ""
    assert section(render_page(found, item=item.model_copy(update={"context": None}), verified=verify_item)) == ""
    other = item.model_copy(update={"answer": "Another."})
    assert "Not verified: the row with this id has" in section(render_page(found, item=other, verified=verify_item))


def style(word: str) -> str:
    return {"supported": "complete", "unclear": "other", "not checked": "unchecked"}.get(word, word)


def nasty() -> tuple[Record, Item]:
    text = f"Zoos teach children {NASTY} about animals. Cages make the moon shine."
    return made("kept", answer=text, context=[f"Zoos teach children {NASTY} about animals.", NASTY])


def test_nothing_that_was_given_is_markup() -> None:
    found, item = nasty()
    text = render_page(found, item=item, verified=verify_item)
    page = Page(text)
    assert page.all("img") == [] and len(page.all("script")) == 2
    assert "alert(1)" in section(text) and "<script>" not in section(text) and "\x1b" not in text
    report = render_report([found], items={found.id: item}, verified=verify_item)
    assert Page(report).all("img") == [] and len(Page(report).all("script")) == 5


def test_a_report_counts_verdicts_before_and_after() -> None:
    accepted, item = made(id="a")
    kept, quoting = made("kept", id="b", **WITH_QUOTE)
    bare, nothing = made("kept", id="c", context=None)
    items = {"a": item, "b": quoting, "c": nothing}
    text = render_report([accepted, kept, bare, made("kept", id="d")[0]], items=items, verified=verify_item)
    part = text.partition('<h2 id="verdicts">')[2].partition("</section>")[0]
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr.*?</tr>", part, re.DOTALL)]
    before = [c.verdict for text in (accepted.original, kept.original) for c in eirene.verify(text, PASSAGES).claims]
    after = [c.verdict for text in (accepted.answer, kept.answer) for c in eirene.verify(text, PASSAGES).claims]
    for word in {*before, *after}:
        assert [*word.split(), str(before.count(word)), str(after.count(word))] in rows
    assert ["altered", "1", "1"] in rows
    assert "What was given says of 2 records." in part
    assert "1 record not verified: the row gives no passages and no arguments." in part
    assert "1 record not verified: no row with this id was given." in part
    assert '<option value="altered">altered (1)</option>' in text
    (index,) = data(text, "index")
    assert index[0][-1] == list(shown(accepted, item).answer.words)  # type: ignore[union-attr]  # it is verified
    assert index[1][-1][-1] == "altered" and index[2][-1] == index[3][-1] == []


def test_a_report_that_verifies_nothing_says_nothing_of_it() -> None:
    found, item = made()
    text = render_report([found], items={found.id: item})
    assert 'id="verdicts"' not in text and "<label hidden>Verdict" in text
    assert data(text, "details")[0][-1] is None
    none = render_report([found], items={}, verified=verify_item)
    assert "1 record not verified: no row with this id was given." in none and "What was given says of" not in none


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


UNFOLD = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
TURNS = {"history": [{"role": "user", "content": "Tell me of zoos."}, {"role": "assistant", "content": "Gladly."}]}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An accepted record, one with a quotation, a nasty one, one of sides, one without its row."""
    rows = [made(id="a", **TURNS), made("kept", id="b", **WITH_QUOTE), nasty()]
    rows.append((record("accepted", item={"id": "sides"}), Item.model_validate({**ITEM, "id": "sides"})))
    items = {item.id: item for _, item in rows}
    path = tmp_path_factory.mktemp("report") / "report.html"
    records = [*(found for found, _ in rows), made("kept", id="d")[0]]
    path.write_text(render_report(records, items=items, verified=verify_item), "utf-8")
    return path


class TestInABrowser:
    """What a reader sees, in both themes and at both widths where axe-core reads it."""

    pytestmark = IN_BROWSER

    def test_a_row_shows_its_conversation_claims_and_quotations(self, tab: Browser, path: Path) -> None:
        tab.complaints.clear()
        tab.screen(width=1280, height=900, dark=False)
        tab.open(path.as_uri())
        for n in range(5):
            tab.read(f"{ROWS}[{n}].querySelector('button').click()")
        bodies = tab.read("[...document.querySelectorAll('tr.body')].map((body) => body.textContent)")
        assert "The conversation before it: 2 turns" in bodies[0] and "Tell me of zoos." in bodies[0]
        for sentence in eirene.verify(BETTER, PASSAGES).claims:
            assert f"{sentence.n}. {sentence.verdict} {sentence.text}" in bodies[0]
        assert "Of the original: " in bodies[0] and "passage 1: Zoos teach children about animals." in bodies[0]
        assert 'In 3. altered "zoos teach children about plants"' in bodies[1]
        assert '"plants" for "animals"' in bodies[1]
        assert "<img src=x" in bodies[2] and tab.read("document.images.length") == 0
        assert "pro, argument 1: Cages make animals suffer." in bodies[3]
        assert "Not verified: no row with this id was given." in bodies[4]
        assert tab.complaints == []

    def test_a_verdict_narrows_the_list(self, tab: Browser, path: Path) -> None:
        tab.screen(width=1280, height=900, dark=False)
        tab.open(path.as_uri())
        tab.read("verdict.value = 'altered'; verdict.dispatchEvent(new Event('change'))")
        assert tab.read("count.textContent") == "1 of 5 records"
        tab.read("form.reset()")
        tab.wait_for("count.textContent === '5 records'")

    @pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
    def test_everybody_can_read_it(self, tab: Browser, path: Path, tmp_path: Path) -> None:
        def opened(page: Browser) -> None:
            page.read(f"[0, 1, 2, 3, 4].forEach((n) => {ROWS}[n].querySelector('button').click())")
            page.read(UNFOLD)

        assert axe.violations_of(tab, path, opened) == []
        for found, item in (made("kept", **TURNS, **WITH_QUOTE), made()):
            page = tmp_path / "page.html"
            page.write_text(render_page(found, item=item, verified=verify_item), "utf-8")
            assert axe.violations_of(tab, page, lambda it: it.read(UNFOLD)) == []
            assert tab.read("document.documentElement.scrollWidth <= window.innerWidth")
