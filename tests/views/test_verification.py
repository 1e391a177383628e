"""A verification as a table and as a page: every verdict in words, evidence in its passage, readable by everybody."""

from __future__ import annotations

import html
import io
from pathlib import Path

import pytest
from rich.console import Console

from eirene.core.verification import ClaimVerdict, Evidence, QuotationCheck, Verification, WordChange
from eirene.views.verification import outcome_of, render_verification, render_verification_page
from tests import axe
from tests.agent.server.chromium import browser

PASSAGES = ("The bridge was opened in 1932. It carries trains and cars.", "The tower is </p><script>x</script> old.")
IDS = ("bridges:1", "towers:1")
TRAINS = Evidence(passage=1, id="bridges:1", start=31, end=58, text="It carries trains and cars.")
OPENED = Evidence(passage=1, id="bridges:1", start=0, end=30, text="The bridge was opened in 1932.")
NUMBERS = {"supported": 0.25, "contradicted": 0.5, "risk": 0.75}


def claim(n: int, verdict: str, evidence: Evidence | None = None, text: str = "It is so.", **more: object) -> object:
    fields = {"n": n, "start": 0, "end": len(text), "text": text, "verdict": verdict, "evidence": evidence}
    return ClaimVerdict.model_validate({**fields, **more})


CLAIMS = (
    claim(1, "supported", TRAINS, **NUMBERS),
    claim(
        2,
        "unsupported",
        OPENED,
        "It has <b>lamps</b>.\x1b[31m",
        words=[{"start": 7, "end": 9, "text": "lamps"}],
        **NUMBERS,
    ),
    claim(3, "contradicted", OPENED, words=[{"start": 3, "end": 5, "text": "<i>", "instead": "was"}], **NUMBERS),
    claim(4, "not checked", text="Is it old?", why="a question"),
    claim(5, "unclear", OPENED, **NUMBERS),
)
QUOTATIONS = (
    QuotationCheck(n=1, start=0, end=9, text='"trains and cars"', verdict="exact", evidence=TRAINS),
    QuotationCheck(
        n=2, start=0, end=9, text='"opened in 1950 or so"', verdict="altered", evidence=OPENED,
        changes=(
            WordChange(quoted="1950", passage="1932"), WordChange(quoted="or so", passage=""),
            WordChange(quoted="", passage="was"),
        ),
    ),
    QuotationCheck(n=2, start=0, end=9, text='"cars ... bridge"', verdict="altered", evidence=TRAINS),
    QuotationCheck(n=3, start=0, end=9, text='"bees like it"', verdict="not found"),
)  # fmt: skip
FOUND = Verification.model_validate(
    {"answer": "...", "passages": 2, "claims": CLAIMS, "quotations": QUOTATIONS, "risk": 0.984, "verifier": "v"}
)
NOTHING = FOUND.model_copy(update={"claims": CLAIMS[3:4], "quotations": (), "risk": None, "passages": 1})


def printed(found: Verification) -> str:
    console = Console(file=io.StringIO(), width=100, markup=False, emoji=False, highlight=False)
    console.print(render_verification(found))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_outcome_counts_every_verdict_and_hedges_contradictions() -> None:
    assert outcome_of(FOUND) == [
        "1 of 4 checked sentences found supported by 2 passages; 1 unclear, 1 unsupported, 1 perhaps contradicted; "
        "1 not checked.",
        "Risk that people would mark one of them: 0.98.",
        "4 quotations: 1 exact, 2 altered, 1 not found.",
    ]
    assert outcome_of(NOTHING) == ["No sentence could be checked against 1 passage: a question."]


def test_the_table_has_every_verdict_with_its_evidence() -> None:
    text = printed(FOUND)
    rows = [" ".join(line.split()) for line in text.splitlines()]
    for row in [
        "1 supported 0.75 It is so.",
        "passage 1 (bridges:1): It carries trains and cars.",
        'not there: "lamps"',
        "nearest, passage 1 (bridges:1): The bridge was opened in 1932.",
        '"<i>" for "was"',
        "3 contradicted 0.75 It is so.",
        "4 not checked Is it old?",
        "5 unclear 0.75 It is so.",
        "a question",
        '2 altered "opened in 1950 or so"',
        '"1950" for "1932"; "or so" is added; "was" is left out',
        "its pieces stand in another order, or in other passages",
        '3 not found "bees like it"',
    ]:
        assert row in rows
    assert "people had marked" in " ".join(rows)
    assert "\x1b" not in text
    assert "Quotations" not in printed(NOTHING)


def test_the_page_marks_the_evidence_and_escapes_everything() -> None:
    page = render_verification_page(FOUND, PASSAGES, question="What is <it>?", ids=IDS)
    assert "<h1 dir=\"auto\">What is &lt;it&gt;?</h1>" in page  # fmt: skip
    assert '<strong class="fault f-contradicted">contradicted</strong>' in page
    assert '<strong class="fault f-unchecked">not checked</strong>' in page
    assert f"<mark>{OPENED.text}</mark> <mark>{TRAINS.text}</mark>" in page
    assert "Passage 1 (bridges:1): 2 places used" in page and "Passage 2 (towers:1)</summary>" in page
    assert "It has &lt;b&gt;lamps&lt;/b&gt;.␛[31m" in page
    assert "<script>x" not in page and html.escape("</p><script>x</script>") in page


def test_places_that_overlap_share_a_mark() -> None:
    inner = Evidence(passage=1, start=35, end=65, text="x")
    found = FOUND.model_copy(update={"claims": (*CLAIMS, claim(6, "supported", inner, **NUMBERS))})
    text = PASSAGES[0] + " And on it goes."
    assert f"<mark>{OPENED.text}</mark> <mark>{text[31:65]}</mark>{text[65:]}" in render_verification_page(
        found, [text]
    )


@pytest.mark.browser
@pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
@pytest.mark.parametrize("found", [FOUND, NOTHING], ids=["every verdict", "nothing checked"])
def test_nothing_keeps_anybody_from_reading_it(found: Verification, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_verification_page(found, PASSAGES[: found.passages], question="Is it old?"), "utf-8")
    unfold = "document.querySelectorAll('details').forEach((it) => { it.open = true; })"
    with browser(tmp_path / "profile") as tab:
        assert axe.violations_of(tab, path, lambda page: page.read(unfold)) == []
        assert tab.complaints == []


@pytest.mark.browser
@pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
def test_a_link_to_a_passage_unfolds_it(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_verification_page(FOUND, PASSAGES, ids=IDS), "utf-8")
    with browser(tmp_path / "profile") as tab:
        tab.screen(width=1280, height=900, dark=False)
        tab.open(path.resolve().as_uri())
        shown = "document.getElementById('passage-1').checkVisibility()"
        assert tab.read(shown) is False
        tab.read("document.querySelector('a[href=\"#passage-1\"]').click()")
        assert tab.read(shown) is True
