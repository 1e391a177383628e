"""Edits made one by one: the server's rules are those of mode edit, and the page shows what they make."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.critique import HALLUCINATIONS, Finding
from eirene.core.findings.edits import apply_findings
from eirene.views.faults import WORDS
from tests.agent.server.chromium import BROWSER, Browser, browser
from tests.agent.server.serving import Served, embedded_engine, served
from tests.agent.server.test_page import CONTRASTS, ENDED
from tests.rows import each

CASE: dict[str, Any] = json.loads((Path(__file__).parents[3] / "examples/fava.json").read_text("utf-8"))
BODY = {key: CASE[key] for key in ("question", "answer", "context")}


@pytest.fixture
def server(loopback: None) -> Iterator[Served]:
    """A server whose critic names edits."""
    with served(embedded_engine(critic="hallucination")) as running:
        yield running


def test_edits_are_made_as_mode_edit_makes_them(server: Served) -> None:
    """Any edits give the text that the Python rules give, offsets in characters; those without a place are numbered."""

    @given(
        st.text(alphabet="Abc 𝒳é.,\n", min_size=1, max_size=60).filter(str.strip),
        st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.sampled_from(["", "new", "An é𝒳"])), max_size=5),
    )
    @settings(max_examples=30, deadline=None)
    def holds(text: str, places: list[tuple[int, int, str]]) -> None:
        asked = [
            {"kind": HALLUCINATIONS[n % 6], "start": min(a, len(text)), "end": min(a + b, len(text)), "edit": edit}
            for n, (a, b, edit) in enumerate(places)
        ]
        made = apply_findings(text, [Finding.model_validate({**a, "reason": ""}) for a in asked])
        reply = client.post("/v1/edits", json={"text": text, "findings": asked}).json()
        assert (reply["text"], len(reply["skipped"])) == (made.text, len(made.skipped))

    with httpx.Client(base_url=server.root) as client:
        holds()


@each("body", [
        {}, {"text": " "}, {"text": "a", "findings": [{"kind": "entity", "start": 0, "end": 9, "edit": ""}]},
        {"text": "a", "findings": [{"kind": "other", "start": 0, "end": 1, "edit": ""}]},
        {"text": "a", "findings": [{"kind": "entity", "start": 1, "end": 0, "edit": ""}]}, {"text": "a" * 50_001},
    ],)  # fmt: skip
def test_edits_that_cannot_be_made_are_refused(server: Served, body: dict[str, Any]) -> None:
    """A place outside the text, a kind that is none, no text: a 400 in the protocol's form."""
    reply = httpx.post(f"{server.root}/v1/edits", json=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests here."""
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


def reviewed(tab: Browser, server: Served, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs a question through the page's form, with passages; returns the edits that were named."""
    tab.open(f"{server.root}/")
    fields = {"question": body["question"], "answer": body["answer"], "passages": "\n \n".join(body["context"])}
    tab.read(f"""for (const [id, text] of Object.entries({json.dumps(fields)}))
        document.getElementById(id).value = text; document.getElementById('go').click()""")
    tab.wait_for(ENDED)
    tab.wait_for("document.getElementById('edits-told')?.textContent.includes('accepted')")
    tab.read("document.getElementById('choose').open = true")
    edits: list[dict[str, Any]] = tab.read("review.edits")
    return edits


def wanted(edits: list[dict[str, Any]], accepted: set[int]) -> str:
    keys = ("kind", "start", "end", "edit")
    chosen = [
        Finding.model_validate({k: e[k] for k in keys} | {"reason": ""}) for n, e in enumerate(edits) if n in accepted
    ]
    return apply_findings(CASE["answer"], chosen).text


@pytest.mark.usefixtures("loopback")
def test_an_edit_that_two_critics_name_is_offered_once() -> None:
    """With both critics asked, the same words are put in at the same place only once."""
    with served(embedded_engine(critic="both")) as both:
        run = httpx.post(f"{both.root}/v1/runs", json=BODY).json()["id"]
        httpx.get(f"{both.root}/v1/runs/{run}/events")  # until it has ended
        result = httpx.get(f"{both.root}/v1/runs/{run}/result").json()["result"]
    edits = [(edit["start"], edit["end"], edit["edit"]) for edit in result["rounds"][0]["critique"]["edits"]]
    assert len(edits) >= 2 and len(set(edits)) == len(edits)


browsing = [pytest.mark.browser, pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")]


@pytest.mark.parametrize(
    ("width", "dark"), [pytest.param(390, True, marks=browsing), pytest.param(1280, False, marks=browsing)]
)
def test_each_edit_is_accepted_or_rejected(tab: Browser, server: Served, width: int, dark: bool) -> None:
    """By keyboard and by pointer; the text follows each choice, and every choice is told by more than a colour."""
    tab.complaints.clear()
    tab.screen(width=width, height=900, dark=dark)
    edits = reviewed(tab, server, BODY)
    assert len(edits) >= 2
    text, everything = "document.getElementById('edited').textContent", set(range(len(edits)))
    assert tab.read(text) == wanted(edits, everything)

    tab.read("document.querySelector('ol.edits').previousElementSibling.lastChild.focus()")
    tab.press("Tab")  # Accept of the first
    tab.press("Tab")
    assert tab.read("document.activeElement.textContent") == "Reject"
    tab.press("Enter")
    tab.wait_for(f"{text} === {json.dumps(wanted(edits, everything - {0}))}")
    assert tab.read("document.activeElement.getAttribute('aria-pressed')") == "true"
    told = "document.getElementById('edits-told').textContent"
    assert tab.read(told) == f"{len(edits) - 1} of {len(edits)} edits accepted."
    tab.press("Tab", shift=True)
    tab.press(" ")
    tab.wait_for(f"{text} === {json.dumps(wanted(edits, everything))}")

    tab.read("document.querySelector('ol.edits li:last-child').scrollIntoView({block: 'center'})")
    at = tab.read("""(() => { const box = document.querySelector('ol.edits li:last-child [data-accepts=false]')
        .getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()""")
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
    tab.wait_for(f"{text} === {json.dumps(wanted(edits, everything - {len(edits) - 1}))}")

    names = [name for role, name in tab.named() if role == "group" and name.startswith("Edit ")]
    assert len(names) == len(edits)
    assert all(WORDS[edit["kind"]] in name for edit, name in zip(edits, names, strict=True))
    marks = tab.read("[...document.querySelectorAll('ol.edits mark.finding')].map((it) => it.textContent)")
    for edit, mark in zip(edits, marks, strict=True):  # told by a letter and, to a screen reader, in words
        word = WORDS[edit["kind"]]
        assert mark == f"[{word}: {edit['old']}{word.removeprefix('an ')[0].upper()}]"
    assert tab.read("document.documentElement.scrollWidth") <= width
    assert [(round(r, 2), what) for r, what in tab.read(CONTRASTS) if r < 4.5] == []
    assert tab.complaints == []


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_edited_text_is_copied_or_sent_on(tab: Browser, server: Served) -> None:
    """Copying gives the text that is shown, or selects it where there is no clipboard; it can be refined again."""
    edits = reviewed(tab, server, BODY)
    tab.read("""navigator.clipboard.writeText = async (text) => { window.copied = text; };
        [...document.querySelectorAll('button')].find((it) => it.textContent === 'Copy the text').click()""")
    tab.wait_for("window.copied")
    assert tab.read("window.copied") == wanted(edits, set(range(len(edits))))
    tab.read("""navigator.clipboard.writeText = async () => { throw new Error('no'); };
        [...document.querySelectorAll('button')].find((it) => it.textContent === 'Copy the text').click()""")
    tab.wait_for("document.getElementById('edits-told').textContent.includes('Ctrl+C')")
    assert tab.read("String(getSelection())") == tab.read("window.copied")
    tab.read("[...document.querySelectorAll('button')].find((it) => it.textContent.startsWith('Use it')).click()")
    assert tab.read("document.getElementById('answer').value") == tab.read("window.copied")
