"""Every page that is written, opened in Chromium with all texts in it, and what terminals are sent.

A text acts where a script of it ran (`window.injected`), where the page has an element or a link of it, where anything
was asked of the network, or where the browser complains, as it does of what a policy blocks.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.injection.attacks import Attack, joined
from eirene.cli import main
from eirene.core.records import Item
from eirene.testing.loopback import LoopbackServer
from eirene.views.comparison.page import render_blind_page
from eirene.views.report import render_page, render_report
from tests.agent.server.chromium import Browser, browser
from tests.agent.server.serving import chat_engine, served
from tests.views.comparisons import compared_rows, page_of
from tests.views.records import ANSWER, record

_ACTED = """(() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const row of document.querySelectorAll("[data-n], tbody button, .open")) row.click();
  const bad = "[data-injected], iframe, object, embed, base, img, [href*='evil.example'], [href^='javascript:'], "
    + "[href^='data:text'], [src*='evil.example'], [onerror], [onload], svg [onload], form[action*='evil']";
  return [window.injected ?? 0, document.querySelectorAll(bad).length];
})()"""
_RAW = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")
"""What acts on a terminal: controls but tab and line feed, C1, and what turns the direction of writing."""


def with_text(text: str, made: BaseModel) -> Any:
    """The same with a text in the place of every `HERE`."""
    return type(made).model_validate_json(made.model_dump_json().replace("HERE", json.dumps(text)[1:-1]))


def pages(texts: Sequence[Attack], folder: Path) -> Iterator[tuple[str, int, str]]:
    """What each is, how many texts are in it, and its HTML."""
    turns = [{"role": "user", "content": "HERE"}, {"role": "assistant", "content": "HERE"}]
    sides = [{"name": "pro HERE", "arguments": ["HERE"]}]
    row = {"question": "HERE", "answer": f"{ANSWER} HERE.", "history": turns, "perspectives": sides}
    made, item = record("accepted", item=row, reason="HERE", better="HERE Better."), Item.model_validate(row)
    compared, records, items, rows = compared_rows(1, question="HERE"), [], {}, []
    for text, n in joined(texts):
        own = with_text(text, made).model_copy(update={"id": f"{len(items)} {text}"})
        records.append(own)
        items[own.id] = with_text(text, item)
        for one in (with_text(text, row) for row in compared):
            new = {"id": own.id, "record": one.record.model_copy(update={"id": own.id})}
            rows.append(one.model_copy(update=new))
        yield "refine --html", n, render_page(own, item=items[own.id])
        silent("verify", *flags(text), "--html", str(folder / "verified.html"), "--force")
        yield "verify --html", n, (folder / "verified.html").read_text("utf-8")
        yield "blind", n, render_blind_page([(own.id, items[own.id], text, text)])
    yield "report", len(texts), render_report(records, title=text, items=items)
    yield "compare", len(texts), page_of(rows, title=text)


def flags(text: str) -> list[str]:
    """A row with the text in all of it."""
    return ["--question", f"What is {text}", "--answer", f"{ANSWER} {text}", "--context", f"It says: {text}"]


def silent(*arguments: str) -> str:
    """What a command sends to a terminal, both streams."""
    sent = io.StringIO()
    with redirect_stdout(sent), redirect_stderr(sent):
        main(arguments)
    return sent.getvalue()


def acted(tab: Browser) -> list[str]:
    """What the page in the tab has of a text beside words."""
    ran, elements = tab.read(_ACTED)
    elsewhere = [a for a in tab.asked_for if not a.startswith(("file:", "http://127.0.0.1:", "data:", "blob:"))]
    # The page of a server that has ended still asks it for its own runs.
    said = [one for one in tab.complaints if not ("ERR_CONNECTION_REFUSED" in one and "'http://127.0.0.1:" in one)]
    found = [*said, *elsewhere, *(["a script ran"] if ran else []), *(["an element"] if elements else [])]
    tab.complaints.clear()
    tab.asked_for.clear()
    return found


def in_browser(texts: Sequence[Attack]) -> Iterator[tuple[str, int, list[str]]]:
    """Each page's name, how many texts are in it, and what acted."""
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder) / "profile") as tab:
        for name, n, page in pages(texts, Path(folder)):
            file = Path(folder) / "page.html"
            file.write_text(page, "utf-8")
            tab.open("about:blank")
            tab.open(file.as_uri())
            yield name, n, acted(tab)
        for text, n in joined(texts):
            with (
                LoopbackServer(f"Zoos {text} teach.") as up,
                served(chat_engine(up, mode="improve", max_rounds=1)) as server,
            ):
                tab.open(f"{server.root}/")
                asked = json.dumps({"question": text, "answer": f"It is {text}"})
                tab.read(f"for (const [id, text] of Object.entries({asked})) document.getElementById(id).value = text")
                tab.read("document.getElementById('go').click()")
                tab.wait_for("document.getElementById('status').textContent.startsWith('Ended')")
                tab.wait_for("document.querySelector('#runs a')")
                yield "serve", n, acted(tab)


def at_terminals(texts: Sequence[Attack]) -> Iterator[tuple[str, int, list[str]]]:
    """Each command, how many texts it was given, and what raw control characters it sent."""
    for text, n in joined(texts):
        yield "verify, at a terminal", n, _RAW.findall(silent("verify", *flags(text)))
        yield "refine, at a terminal", n, _RAW.findall(silent("refine", *flags(text)))
        yield "an error, at a terminal", n, _RAW.findall(silent("refine", "--mode", text, *flags(text)))
