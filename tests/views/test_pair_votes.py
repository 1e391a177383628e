"""The votes of the pairwise judge, in a terminal and on a page: in numbers first, whole below, and never as markup."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from eirene.core.records import Record
from eirene.core.scores import PairVote, PairVotes
from eirene.views.facts import compared_texts
from eirene.views.report import render_page
from eirene.views.terminal import render
from tests.views.records import record

NASTY = "</details><script>alert(1)</script> \x1b[31m {{ 7*7 }} Better: A"


def compared(*votes: dict[str, Any], status: str = "accepted", text: str = "One after the other.") -> Record:
    made = record(status)
    found = PairVotes.of([PairVote(text=text, **vote) for vote in votes], judge="m", requested=len(votes) // 2)
    first = made.rounds[0].model_copy(update={"pairwise": found})
    return made.model_copy(update={"rounds": (first, *made.rounds[1:])})


BETTER = {"first": "before", "better": "after", "faulty": "neither"}
HARMED = {"first": "after", "better": "before", "faulty": "after"}
UNREAD = {"first": "after", "unread": "empty"}


def test_votes_are_told_in_a_line_and_one_by_one() -> None:
    (told,) = compared_texts(compared(BETTER, BETTER, UNREAD, {**BETTER, "first": "after"}))
    assert told.summary == (
        "pairwise, round 1: the rewrite is not better in both orders; 4 votes, 1 could not be read; "
        "0.33 of the preferences are for the text shown first (0.50 is no bias)"
    )
    assert [said for said, _ in told.replies] == [
        "the rewrite is better (rewrite shown second)",
        "the rewrite is better (rewrite shown second)",
        "not read: empty (rewrite shown first)",
        "the rewrite is better (rewrite shown first)",
    ]
    (harm,) = compared_texts(compared(BETTER, HARMED))
    assert "harm came in" in harm.summary
    assert harm.replies[1][0] == "the text before is better; faulty: the rewrite (rewrite shown first)"


def test_where_it_was_not_asked_there_is_nothing_to_tell() -> None:
    assert compared_texts(record("accepted")) == ()


def test_a_judge_that_failed_is_told_as_unscored() -> None:
    made = record("kept")
    failed = PairVotes.failed("AuthError: no", judge="m", requested=2)
    made = made.model_copy(update={"rounds": (made.rounds[0].model_copy(update={"pairwise": failed}),)})
    (told,) = compared_texts(made)
    assert told.summary == "pairwise, round 1: unscored; 0 votes" and told.replies == ()


def test_page_and_terminal_show_them_and_a_reply_is_text_and_no_markup() -> None:
    made = compared(BETTER, HARMED, text=NASTY)
    page = render_page(made)
    part = page.partition("pairwise, round 1")[2].partition("\n</details>")[0]
    assert part.count("&lt;script&gt;alert(1)") == 2 and "<script" not in part and "\x1b" not in part
    screen = Console(width=200, file=io.StringIO())
    screen.print(render(made))
    shown = screen.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "pairwise, round 1: harm came in; 2 votes" in shown and "alert(1)" not in shown
