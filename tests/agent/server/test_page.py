"""The page in a real browser against a real server: a whole run by keyboard, on a phone and a desk, light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import eirene
from eirene.core.records import STATUSES, Item, Record
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import TextReply
from eirene.views.report import render_page
from tests.agent.server.chromium import BROWSER, Browser, browser
from tests.agent.server.serving import QUESTION, SIDES, Served, chat_engine, embedded_engine, served
from tests.axe import violations_of, why_not
from tests.rows import each

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine"),
    pytest.mark.usefixtures("loopback"),
]


def render(record: Record, item: Item) -> str:
    """The page of a run as the command makes it."""
    return render_page(record, item=item)


ENDED = "document.getElementById('status').textContent.startsWith('Ended')"
RESULT = "document.getElementById('result').innerText"
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


def run_of(status: str, row: dict[str, Any]) -> dict[str, Any]:
    """A finished run as the file of runs holds it: the example's, with another outcome."""
    item = Item.model_validate(row)
    record = eirene.refine(item).model_dump(mode="json")
    if status != "accepted":
        record |= {"status": status, "answer": record["original"], "why": f"it was {status}"}
        record["rounds"] = [] if status in ("abstained", "not_checked", "failed") else record["rounds"]
        record["rounds"] = [{**r, "decision": "reject"} for r in record["rounds"]]
    if status == "failed":
        record["error"] = {"kind": "UnreachableError", "message": "no answer"}
    return {"id": "run-kept", "created": 1, "model": "m", "mode": "fine-grained", "question": item.question,
            "status": status, "records": [record], "items": [item.model_dump(mode="json")], "why": [""]}  # fmt: skip


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


@each("width, height", [(390, 844), (1280, 900)])
@each("dark", [False, True])
def test_a_whole_run_goes_by_keyboard_on_any_screen(tab: Browser, width: int, height: int, dark: bool) -> None:
    """Every step is shown, nothing is wider than the screen, every text can be read, nothing comes from elsewhere."""
    tab.complaints.clear()
    tab.asked_for.clear()
    tab.screen(width=width, height=height, dark=dark)
    with served(embedded_engine(), render=render) as server:
        ask_by_keyboard(tab, server)
        titles = tab.read("[...document.querySelectorAll('#steps h3')].map((it) => it.textContent)")
        assert titles == [
            "The answer that is checked", "Round 1: readings", "Round 1: the critique", "Round 1: the rewrite",
            "Round 1: the scores", "Round 1: the decision",
        ]  # fmt: skip
        assert "20 of 20 readings" in tab.read("document.querySelector('#steps').textContent")
        assert tab.read("[...document.querySelectorAll('#result h3')].map((it) => it.textContent)") == [
            "The answer: a rewrite that passed", "What changed", "Why", "Details",
        ]  # fmt: skip
        assert "suffer" in tab.read("document.querySelector('#result ins').textContent")
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


@each("width, height", [(390, 844), (1280, 900)])
@each("dark", [False, True])
def test_scores_that_decide_nothing_stand_last_and_muted_here_and_on_the_runs_page(
    tab: Browser, width: int, height: int, dark: bool
) -> None:
    """The advisory rows have the page's dim colour, whatever they say; all of it can be read."""
    tab.screen(width=width, height=height, dark=dark)
    with served(embedded_engine(), render=render) as server:
        ask_by_keyboard(tab, server)
        tab.read("for (const it of document.querySelectorAll('#result details')) it.open = true")
        tables = tab.read(
            "[...document.querySelectorAll('#result table')].map((it) => [it.className, it.caption.innerText])"
        )
        assert [kind for kind, _ in tables] == ["gating", "advisory"]
        assert "decide nothing" in tables[1][1]
        advisory = tab.read("document.querySelector('#result table.advisory').innerText")
        assert all(name in advisory for name in ("rouge", "arrangement")) and "alignment" not in advisory
        change = "getComputedStyle(document.querySelector('.advisory .better, .advisory .worse'))"
        dim = "getComputedStyle(document.querySelector('.hint')).color"
        assert tab.read(f"{change}.color") == tab.read(dim)
        tab.tab_to("it.matches('#runs a')")
        tab.press("Enter")
        tab.wait_for("document.body?.textContent.includes('Advisory: shown, and decides nothing')")
        assert tab.read("document.documentElement.scrollWidth") <= width
        assert [(round(ratio, 2), what) for ratio, what in tab.read(CONTRASTS) if ratio < 4.5] == []


@each("dark", [False, True])
def test_what_was_looked_at_in_part_is_not_shown_as_a_success(tab: Browser, dark: bool) -> None:
    tab.screen(width=390, height=844, dark=dark)
    whole = {"question": QUESTION, "answer": "Zoos teach children.", "context": ["Zoos teach children. Entry is free."]}
    with served(embedded_engine(), render=render) as server:
        run = httpx.post(f"{server.root}/v1/runs", json=whole).json()
        httpx.get(f"{server.root}/v1/runs/{run['id']}/events")  # until it has ended
        tab.open(f"{server.root}/runs/{run['id']}")
        tab.wait_for("document.querySelector('.badge.no_fault_found')")
        assert tab.read("document.querySelectorAll('.badge.accepted').length") == 0
        green = tab.read("getComputedStyle(document.documentElement).getPropertyValue('--accepted')")
        assert tab.read("getComputedStyle(document.documentElement).getPropertyValue('--complete')") != green
        assert "whether something of the passages is missing was not checked" in tab.read("document.body.innerText")
        assert [(round(ratio, 2), what) for ratio, what in tab.read(CONTRASTS) if ratio < 4.5] == []


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_axe_finds_nothing_before_a_run_and_after_it(tab: Browser) -> None:
    """Both themes, both widths: the empty page, a form with errors, and a result with every part unfolded."""
    with served(embedded_engine(), render=render) as server:
        assert violations_of(tab, f"{server.root}/") == []
        assert (
            violations_of(tab, f"{server.root}/", lambda page: page.read("document.getElementById('go').click()")) == []
        )

        def with_result(page: Browser) -> None:
            page.read("document.getElementById('example').click()")
            page.wait_for(f"{ENDED} && document.querySelector('#runs a')")
            page.read("for (const it of document.querySelectorAll('details')) it.open = true")

        assert violations_of(tab, f"{server.root}/", with_result) == []


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
        assert said.startswith("Ended: not_checked. there is nothing to compare with")
        assert "Fill in arguments or passages" in tab.read(RESULT)
        assert "gate" not in tab.read("document.getElementById('steps').textContent")  # it had nothing to decide


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
        for _ in range(5):
            tab.press("Tab")
            reached.append(tab.read("document.activeElement.className || document.activeElement.id"))
        assert reached[:5] == ["skip", "primary", "question", "answer", "side-name"]


def test_votes_come_in_one_by_one(tab: Browser) -> None:
    """While the model is asked, the page counts the critiques that are there."""
    script = '["Complete"]'
    with (
        LoopbackServer(lambda request, _: script, n="refuses", latency_s=0.15) as up,
        served(chat_engine(up, calls=2, samples=9, stop="none", max_rounds=1)) as server,  # so that they come in waves
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
        assert tab.read("document.querySelector('.answer .text').textContent") == "Zoos teach"
        assert tab.read("document.querySelector('#result .badge').textContent") == "untouched"


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
        assert evil in tab.read("document.querySelector('#result .answer').textContent")


@each("critic, edits", [("completeness", []), ("hallucination", ["edit"])])
def test_the_page_offers_the_modes_that_the_server_serves(tab: Browser, critic: str, edits: list[str]) -> None:
    """Mode edit can be chosen where the server's critic names edits, and nowhere else."""
    with served(embedded_engine(critic=critic)) as server:
        tab.open(f"{server.root}/")
        modes = tab.read("[...document.getElementById('mode').options].map((it) => it.value)")
        assert modes == ["fine-grained", "generic", "improve", *edits]
        assert tab.read("document.getElementById('mode').value") == "fine-grained"


def test_a_problem_is_told_at_its_field_and_nothing_is_lost(tab: Browser) -> None:
    """Whether the page finds it or the server: the field says what is wrong, has the focus, and keeps its text."""
    error = "document.getElementById(document.activeElement.getAttribute('aria-describedby').split(' ').pop())"
    with served(embedded_engine()) as server:
        tab.open(f"{server.root}/")
        tab.read("document.getElementById('go').click()")
        assert tab.read("document.activeElement.id") == "question"
        assert tab.read(f"{error}.innerText") == "Give a question."
        assert tab.read("document.activeElement.ariaInvalid") == "true"
        assert tab.read("document.getElementById('answer-error').innerText").startswith("Give an answer")
        assert tab.read("document.getElementById('problem').innerText") == "2 fields need a change. Give a question."
        tab.type(QUESTION)
        assert (
            tab.read("document.querySelectorAll('#question[aria-invalid], #question-error:not([hidden])').length") == 0
        )

        tab.read("write(at('answer'), 'Zoos teach.'); document.querySelector('.side-name').value = ''; 1")
        tab.read("write(document.querySelector('.side textarea'), 'They teach.'); at('go').click()")
        assert tab.read("document.activeElement.className") == "side-name"
        assert "name" in tab.read(f"{error}.innerText")

        # What only the server knows: a name that is too long for it.
        tab.read("write(document.querySelector('.side-name'), 'n'.repeat(1001)); at('go').click()")
        tab.wait_for("document.querySelector('.side [aria-invalid]')")
        assert "got 1001" in tab.read(f"{error}.innerText")
        assert tab.read("at('question').value") == QUESTION
        assert tab.read("at('watch').dataset.state") == "idle"


def test_the_example_is_the_first_thing_to_do_and_runs(tab: Browser) -> None:
    """The first button fills in the form and runs it; what it replaced can be put back."""
    with served(embedded_engine()) as server:
        tab.open(f"{server.root}/")
        assert tab.read("[...document.querySelectorAll('button')][0].innerText") == "Try the example"
        tab.read("write(at('answer'), 'A text of mine.'); 1")
        tab.tab_to("it.id === 'example'")
        tab.press("Enter")
        tab.wait_for(ENDED)
        assert tab.read("document.querySelector('#result .badge').textContent") == "accepted"
        tab.read("at('restore').click()")
        assert tab.read("at('answer').value") == "A text of mine."
        assert tab.read("at('restore').hidden")


def test_fields_grow_with_their_text(tab: Browser) -> None:
    """A long text can be read as a whole, without scrolling in a small box."""
    with served(embedded_engine()) as server:
        tab.screen(width=1280, height=2000, dark=False)
        tab.open(f"{server.root}/")
        for field in ("question", "answer", "passages"):
            before = tab.read(f"at('{field}').clientHeight")
            tab.read(f"write(at('{field}'), 'A line.\\n'.repeat(12)); 1")
            assert tab.read(f"at('{field}').clientHeight") > before
            assert tab.read(f"at('{field}').scrollHeight <= at('{field}').clientHeight + 1")


def test_what_is_missing_is_no_fault_of_the_sentence_before_it(tab: Browser) -> None:
    """No fault is found in the sentence; what is missing has a line of its own, with the place and the votes."""
    with served(embedded_engine()) as server:
        ask_by_keyboard(tab, server)
        lines = tab.read("[...document.querySelectorAll('#result ol.sentences > li')].map((it) => it.innerText)")
        assert len(lines) == 2
        assert lines[0].startswith("no fault found") and "critiques" not in lines[0]
        assert "missing after sentence 1" in lines[1] and "Cages make animals suffer" in lines[1]
        assert "found in 20 of 20 draws" in lines[1]


def test_a_run_can_be_stopped_and_opened_again(tab: Browser) -> None:
    """Stop ends the run at once, the answer stands; each past run of this tab opens again from the list."""
    script = '["Complete"]'
    with (
        LoopbackServer(lambda request, _: script, n="refuses", latency_s=0.3) as up,
        served(chat_engine(up, calls=1, samples=20, max_rounds=1)) as server,
    ):
        tab.open(f"{server.root}/")
        tab.read("sessionStorage.clear()")
        tab.read(f"fillForm({json.dumps({'question': QUESTION, 'answer': ANSWER, 'perspectives': SIDES})}); 1")
        tab.tab_to("it.id === 'go'")
        tab.press("Enter")
        assert not tab.read("at('progress').hidden")  # from the first moment
        assert tab.read("at('doing').textContent")
        tab.wait_for("document.querySelector('.count')")
        assert tab.read("document.querySelector('#stages [aria-current=step]').textContent") == "Critique"
        assert "of 20" in tab.read("at('doing').textContent")
        tab.tab_to("it.id === 'stop'")
        tab.press("Enter")
        tab.wait_for(ENDED)
        asked = len(up.requests)
        assert tab.read("document.activeElement.id") == "watch"  # the button is gone, and the focus not lost
        assert tab.read("document.querySelector('#result .badge').textContent") == "stopped"
        assert tab.read("document.querySelector('#result .answer .text').textContent") == ANSWER
        assert asked < 20
        tab.wait_for("document.querySelector('#runs .badge')?.textContent === 'stopped'")

        httpx.post(f"{server.root}/v1/runs", json={"question": "Whose?", "answer": ANSWER})  # somebody else's
        tab.read("at('reload').click()")
        tab.wait_for("!at('others').hidden")
        assert tab.read("document.querySelectorAll('#runs .open').length") == 1
        assert "Whose?" in tab.read("at('other-runs').textContent")
        tab.read("at('result').replaceChildren()")
        tab.tab_to("it.matches('#runs .open')")
        tab.press("Enter")
        tab.wait_for(f"{ENDED} && document.querySelector('#result .badge')")
        assert tab.read("document.querySelector('#result .answer .text').textContent") == ANSWER


@pytest.mark.parametrize("status", STATUSES)
def test_every_outcome_has_its_word_and_colour_and_opens_again(tab: Browser, tmp_path: Path, status: str) -> None:
    """Also of a run that was read back from the file: the answer first, and the form filled from it on demand."""
    base: dict[str, Any] = json.loads(
        (Path(__file__).parents[3] / "examples" / "dropped-argument.json").read_text("utf-8")
    )
    record = run_of(status, base)
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    with served(embedded_engine(), render=render, runs=str(path)) as server:
        tab.open(f"{server.root}/")
        tab.wait_for("document.querySelector('#other-runs .open')")
        tab.read("at('others').open = true; document.querySelector('#other-runs .open').click()")
        tab.wait_for(ENDED)
        assert tab.read("document.querySelector('#result .badge').className") == f"badge {status}"
        assert tab.read("document.querySelector('#other-runs .badge').className") == f"badge {status}"
        assert tab.read("document.querySelector('#result .answer .text').textContent") == record["records"][0]["answer"]
        assert tab.read("document.querySelectorAll('#result h3').length") == 4
        tab.read(
            "[...document.querySelectorAll('#result button')].find((it) => it.textContent.startsWith('Fill')).click()"
        )
        assert tab.read("at('answer').value") == base["answer"]
        assert [(round(ratio, 2), what) for ratio, what in tab.read(CONTRASTS) if ratio < 4.5] == []


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
