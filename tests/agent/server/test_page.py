"""The page in a real browser against a real server: a whole run by keyboard, on a phone and a desk, light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from eirene.core.records import Item, Record
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import TextReply
from eirene.views.report import render_page
from tests.agent.server.chromium import BROWSER, Browser, browser
from tests.agent.server.serving import QUESTION, Served, chat_engine, embedded_engine, served

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine"),
    pytest.mark.usefixtures("loopback"),
]


def render(record: Record, item: Item) -> str:
    """The page of a run as the command makes it."""
    return render_page(record, item=item)


ENDED = "document.getElementById('status').textContent.startsWith('Ended')"
ANSWER = "Supporters say that zoos teach children about animals."
# The ratio of WCAG 2 for every text on the page, against the nearest ground that is painted behind it.
CONTRASTS = """(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!(says || element.value) || !element.checkVisibility() || element.disabled) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(ground(element))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.tagName + "." + element.className]);
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser; its tests share it, for it takes longer to start than they take."""
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


def fill_in(page: Browser) -> None:
    """Types question, answer and both sides' arguments, from field to field by Tab."""
    page.tab_to("it.id === 'question'")
    page.type(QUESTION)
    page.press("Tab")
    page.type(ANSWER)
    for text in ("Zoos teach children about animals.", "Cages make animals suffer."):
        page.tab_to("it.id.startsWith('arguments-')")
        page.type(text)


def ask_by_keyboard(page: Browser, server: Served) -> None:
    page.open(f"{server.root}/")
    fill_in(page)
    page.tab_to("it.id === 'go'")
    page.press("Enter")
    page.wait_for(ENDED)
    page.wait_for("document.querySelector('#runs a')")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
@pytest.mark.parametrize("dark", [False, True])
def test_a_whole_run_goes_by_keyboard_on_any_screen(tab: Browser, width: int, height: int, dark: bool) -> None:
    """Every step is shown, nothing is wider than the screen, every text can be read, nothing comes from elsewhere."""
    tab.complaints.clear()
    tab.asked_for.clear()
    tab.screen(width=width, height=height, dark=dark)
    with served(embedded_engine(), render=render) as server:
        ask_by_keyboard(tab, server)
        titles = tab.read("[...document.querySelectorAll('#steps h3')].map((it) => it.textContent)")
        assert titles == [
            "The answer so far", "Round 1: votes", "Round 1: the critique", "Round 1: the rewrite",
            "Round 1: the scores", "The gate", "The answer: a rewrite that passed",
        ]  # fmt: skip
        assert "20 of 20 critiques drawn" in tab.read("document.querySelector('#steps').textContent")
        assert "suffer" in tab.read("document.querySelector('#steps ins').textContent")
        assert tab.read("document.documentElement.scrollWidth") <= width
        low = [(round(ratio, 2), what) for ratio, what in tab.read(CONTRASTS) if ratio < 4.5]
        assert low == []
        assert tab.read("document.activeElement.id") == "watch"  # a reader goes on where the news is
        tab.tab_to("it.matches('#runs a')")
        tab.press("Enter")
        tab.wait_for("location.pathname.startsWith('/runs/run-') && document.body?.textContent.includes('accepted')")
        elsewhere = [a for a in tab.asked_for if not a.startswith(("http://127.0.0.1:", "data:"))]
        assert elsewhere == []
    assert tab.complaints == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900)])
@pytest.mark.parametrize("dark", [False, True])
def test_scores_that_decide_nothing_stand_last_and_muted_here_and_on_the_runs_page(
    tab: Browser, width: int, height: int, dark: bool
) -> None:
    """The advisory rows have the page's dim colour, whatever they say; all of it can be read."""
    tab.screen(width=width, height=height, dark=dark)
    with served(embedded_engine(), render=render) as server:
        ask_by_keyboard(tab, server)
        rows = tab.read("[...document.querySelectorAll('#steps tbody tr')].map((it) => [it.className, it.innerText])")
        assert [kind for kind, text in rows if "(advisory)" in text] == ["muted"] * 4
        assert [kind for kind, _ in rows][-4:] == ["muted"] * 4 and rows[0][0] == ""
        change = "getComputedStyle([...document.querySelectorAll('.muted .better, .muted .worse')][0] || document.body)"
        dim = "getComputedStyle(document.querySelector('.hint')).color"
        assert tab.read(f"{change}.color") == tab.read(dim)
        tab.tab_to("it.matches('#runs a')")
        tab.press("Enter")
        tab.wait_for("document.body?.textContent.includes('Advisory: shown, and decides nothing')")
        assert tab.read("document.documentElement.scrollWidth") <= width
        assert [(round(ratio, 2), what) for ratio, what in tab.read(CONTRASTS) if ratio < 4.5] == []


@pytest.mark.parametrize("dark", [False, True])
def test_what_was_looked_at_in_part_is_not_shown_as_a_success(tab: Browser, dark: bool) -> None:
    tab.screen(width=390, height=844, dark=dark)
    whole = {"question": QUESTION, "answer": "Zoos teach children.", "context": ["Zoos teach children. Entry is free."]}
    with served(embedded_engine(), render=render) as server:
        run = httpx.post(f"{server.root}/v1/runs", json=whole).json()
        httpx.get(f"{server.root}/v1/runs/{run['id']}/events")  # until it has ended
        tab.open(f"{server.root}/runs/{run['id']}")
        tab.wait_for("document.querySelector('.badge.plain')")
        assert tab.read("[...document.querySelectorAll('.badge')].map((it) => it.className)") == ["badge plain"] * 2
        assert "whether something of the passages is missing was not checked" in tab.read("document.body.innerText")
        assert [(round(ratio, 2), what) for ratio, what in tab.read(CONTRASTS) if ratio < 4.5] == []


def test_an_abstention_names_the_fields_to_fill_in(tab: Browser) -> None:
    """With nothing to compare with, the page says which of its own fields would help."""
    with served(embedded_engine(), render=render) as server:
        tab.open(f"{server.root}/")
        tab.tab_to("it.id === 'question'")
        tab.type(QUESTION)
        tab.press("Tab")
        tab.type(ANSWER)
        tab.read("document.getElementById('go').click()")
        tab.wait_for(ENDED)
        said = tab.read("document.getElementById('status').textContent")
        assert said.startswith("Ended: abstained. there is nothing to compare with")
        assert "Fill in “Arguments” or “Passages”" in tab.read("document.getElementById('steps').textContent")
        titles = tab.read("[...document.querySelectorAll('#steps h3')].map((it) => it.textContent)")
        assert "The gate" not in titles  # it had nothing to decide


def test_every_control_has_a_name_and_news_is_announced(tab: Browser) -> None:
    """A screen reader is told what each field is for, and hears status and problems when they change."""
    with served(embedded_engine()) as server:
        ask_by_keyboard(tab, server)
        controls = {"button", "textbox", "combobox", "link", "progressbar", "group"}
        assert [role for role, name in tab.named() if role in controls and not name] == []
        roles = tab.read("[...document.querySelectorAll('[role]')].map((it) => it.id + ' ' + it.getAttribute('role'))")
        assert {"status status", "problem alert"} <= set(roles)
        assert tab.read("document.documentElement.lang") == "en"
        # The order of Tab is the order on the page.
        tab.open(f"{server.root}/")
        reached = []
        for _ in range(6):
            tab.press("Tab")
            reached.append(tab.read("document.activeElement.className || document.activeElement.id"))
        assert reached[:4] == ["skip", "question", "answer", "side-name"]


def test_votes_come_in_one_by_one(tab: Browser) -> None:
    """While the model is asked, the page counts the critiques that are there."""
    script = '["Complete"]'
    with (
        LoopbackServer(lambda request, _: script, n="refuses", latency_s=0.15) as up,
        served(chat_engine(up, calls=2, samples=9, max_rounds=1)) as server,  # so that they come in waves
    ):
        tab.open(f"{server.root}/")
        tab.read("""window.seen = []; new MutationObserver(() => {
            const count = document.querySelector('.count');
            if (count) window.seen.push(count.textContent.split(' ')[0]);
        }).observe(document.getElementById('steps'), {childList: true, subtree: true, characterData: true}); 1""")
        fill_in(tab)
        tab.tab_to("it.id === 'go'")
        tab.press("Enter")
        tab.wait_for("/^(Ended|Nothing)/.test(document.getElementById('status').textContent)")
        seen = list(map(int, tab.read("window.seen")))
        assert seen == sorted(seen)
        assert len(set(seen)) > 2
        assert max(seen) == 9


def test_an_answer_that_was_not_refined_is_shown_as_it_was(tab: Browser) -> None:
    """A draft that was cut off has no record; it is the answer all the same."""
    with (
        LoopbackServer(lambda request, _: TextReply("Zoos teach", "length")) as up,
        served(embedded_engine(up)) as server,
    ):
        tab.open(f"{server.root}/")
        tab.tab_to("it.id === 'question'")
        tab.type(QUESTION)
        tab.read("document.getElementById('go').click()")
        tab.wait_for(ENDED)
        assert "cut off" in tab.read("document.getElementById('status').textContent")
        assert tab.read("document.querySelector('.answer').textContent") == "The answer: as it wasZoos teach"


def test_what_a_model_writes_is_never_markup(tab: Browser) -> None:
    """A question, an answer and a rewrite full of HTML are shown as they are, and none of it runs."""
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script></p><b>bold</b>"
    with LoopbackServer(f"Zoos {evil} teach.") as up, served(chat_engine(up, mode="improve", max_rounds=1)) as server:
        tab.open(f"{server.root}/")
        asked: dict[str, Any] = {"question": f"{evil}?", "answer": f"It is {evil}."}
        tab.read(f"""Object.entries({json.dumps(asked)}).forEach(([id, text]) => {{
            document.getElementById(id).value = text; }}); document.getElementById('go').click()""")
        tab.wait_for(ENDED)
        tab.wait_for("document.querySelector('#runs li')")
        assert tab.read("document.title") == "Eirene"
        assert tab.read("document.querySelectorAll('#watch img, #watch script, #watch b, #runs img').length") == 0
        assert evil in tab.read("document.querySelector('#steps').textContent")


@pytest.mark.parametrize(("critic", "edits"), [("completeness", []), ("hallucination", ["edit"])])
def test_the_page_offers_the_modes_that_the_server_serves(tab: Browser, critic: str, edits: list[str]) -> None:
    """Mode edit can be chosen where the server's critic names edits, and nowhere else."""
    with served(embedded_engine(critic=critic)) as server:
        tab.open(f"{server.root}/")
        modes = tab.read("[...document.getElementById('mode').options].map((it) => it.value)")
        assert modes == ["fine-grained", "generic", "improve", *edits]
        assert tab.read("document.getElementById('mode').value") == "fine-grained"


def test_a_problem_is_told_on_the_page_and_nothing_is_lost(tab: Browser) -> None:
    """Without a question the field gets the focus and a line says so; what the server refuses is told in its words."""
    with served(embedded_engine()) as server:
        tab.open(f"{server.root}/")
        tab.read("document.getElementById('go').click()")
        tab.wait_for("document.getElementById('problem').textContent === 'Give a question.'")
        assert tab.read("document.activeElement.id") == "question"
        tab.type(QUESTION)
        tab.read("document.getElementById('go').click()")
        tab.wait_for("document.getElementById('problem').textContent.includes('perspectives')")
        assert tab.read("document.getElementById('question').value") == QUESTION


def test_with_a_key_the_page_asks_for_it_and_then_works(tab: Browser, tmp_path: Path) -> None:
    """The wrong key is refused in words; with the right one the run goes through and its page opens."""
    with served(embedded_engine(), key="secret") as server:
        tab.open(f"{server.root}/")
        tab.tab_to("it.id === 'key'")
        tab.type("wrong")
        fill_in(tab)
        tab.tab_to("it.id === 'go'")
        tab.press("Enter")
        tab.wait_for("document.getElementById('problem').textContent.includes('key is wrong')")
        tab.read("document.getElementById('key').value = 'secret'; document.getElementById('go').click()")
        tab.wait_for(ENDED)
        tab.wait_for("document.querySelector('#runs a')")
        tab.read("document.querySelector('#runs a').click()")
        tab.wait_for("location.pathname.startsWith('/runs/run-') && document.body?.textContent.includes('accepted')")
        tab.picture(tmp_path / "page.png")
        assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
