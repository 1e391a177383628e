"""The page of an NPOV response: both sides beside each other, what is to be checked in sight, readable by everybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from eirene.core.records import Item
from eirene.npov import load_topics, respond
from eirene.views.response import render_response_page
from tests import axe
from tests.agent.server.chromium import browser
from tests.cli.run import EXAMPLES


@pytest.fixture(scope="module")
def item() -> Item:
    """A response whose check finds an argument that is not said and a sentence that nobody gave."""
    base = load_topics(str(EXAMPLES / "topics.jsonl"))
    found = respond("Should private cars be kept out of city centres?", base).item()
    facts = found.meta["npov"]
    assert isinstance(facts, dict)
    missing = facts["argument_ids"][1][0]  # type: ignore[index]
    check = {"missing": [missing], "unsupported": ["Bees like it."]}
    return found.model_copy(update={"meta": {"npov": {**facts, "check": check}}})


def test_an_argument_that_is_not_said_is_marked_where_it_stands_and_named_above(item: Item) -> None:
    page = render_response_page(item)
    assert item.perspectives is not None
    text = item.perspectives[1].arguments[0]
    assert f'{text} <strong class="fault f-missing">missing</strong>' in page
    assert page.count('f-missing">missing') == 1
    assert page.index(f"Perhaps not said: {text}") < page.index("Arguments it was made from")
    assert "Perhaps not among the arguments: Bees like it." in page


@pytest.mark.browser
@pytest.mark.skipif(axe.why_not() is not None, reason=axe.why_not() or "")
def test_nothing_keeps_anybody_from_reading_it(item: Item, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_response_page(item), encoding="utf-8")
    unfold = "document.querySelectorAll('details').forEach((it) => { it.open = true; })"
    with browser(tmp_path / "profile") as tab:
        assert axe.violations_of(tab, path, lambda page: page.read(unfold)) == []
        assert tab.complaints == []
        tab.screen(width=1280, height=900, dark=False)
        tops = tab.read("[...document.querySelectorAll('.both > div')].map((it) => it.getBoundingClientRect().top)")
        assert len(tops) == 2 and len(set(tops)) == 1
