"""The conversation before a question on pages: whole on a run's, the last turns in a report of many."""

from __future__ import annotations

from eirene.core.history import HistoryTurn
from eirene.views.record import LAST_TURNS, LONGEST_TURN, shown_conversation
from eirene.views.report import render_page, render_report
from tests.views.records import record
from tests.views.test_html import NASTY
from tests.views.test_report import data


def turns(count: int, text: str = "Turn") -> list[HistoryTurn]:
    return [HistoryTurn(role="user" if n % 2 else "assistant", content=f"{text} {n}") for n in range(1, count + 1)]


def test_a_short_conversation_is_shown_whole() -> None:
    found = shown_conversation(turns(3), bounded=True)
    assert found is not None and (found.title, found.note) == ("The conversation before it: 3 turns", "")
    assert found.turns == (("user", "Turn 1"), ("assistant", "Turn 2"), ("user", "Turn 3"))
    assert shown_conversation(None) is None and shown_conversation([]) is None


def test_of_a_long_one_the_last_turns_are_shown_and_the_page_says_so() -> None:
    long = turns(LAST_TURNS + 5, "x" * LONGEST_TURN)
    found = shown_conversation(long, bounded=True)
    assert found is not None and len(found.turns) == LAST_TURNS
    assert found.note == "Shown are the last 20, the first 1,000 characters of each; the record holds all."
    assert found.turns[-1] == ("user", "x" * LONGEST_TURN + "…")
    whole = shown_conversation(long)
    assert whole is not None and [content for _, content in whole.turns] == [turn.content for turn in long]


def test_both_pages_show_it_and_nothing_in_it_is_markup() -> None:
    made = record("accepted", item={"history": [{"role": "user", "content": NASTY}]})
    page = render_page(made)
    assert "The conversation before it: 1 turn<" in page and "<img" not in page
    text = render_report([made, record("kept")])
    before = [line[0][6] for line in data(text, "details")]
    assert before[0][0] == "The conversation before it: 1 turn"
    assert before[0][2][0][0] == "user" and before[0][2][0][1].startswith("</script><script>alert(1)")
    assert before[1] is None
    assert "<script>alert" not in text
