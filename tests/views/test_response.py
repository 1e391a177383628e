"""An NPOV response at a terminal: what is to be checked in sight."""

from __future__ import annotations

import io

from rich.console import Console

from eirene.npov import load_topics, respond
from eirene.views.terminal import notes_of, render_response
from tests.cli.run import EXAMPLES


def test_what_is_perhaps_missing_or_added_is_named() -> None:
    found = respond("Should private cars be kept out of city centres?", load_topics(str(EXAMPLES / "topics.jsonl")))
    item = found.item()
    facts = item.meta["npov"]
    assert isinstance(facts, dict) and item.perspectives is not None
    check = {"missing": [facts["argument_ids"][1][0]], "unsupported": ["Bees like it."]}  # type: ignore[index]
    checked = item.model_copy(update={"meta": {"npov": {**facts, "check": check}}})
    notes = notes_of(checked)
    missing = item.perspectives[1].arguments[0]
    assert notes == [f"Perhaps not said: {missing}", "Perhaps not among the arguments: Bees like it."]
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render_response(checked))
    shown = console.export_text()
    assert all(line in shown for line in ("To be checked", *notes))
