"""What the pairwise judge makes of a rewrite, in a terminal and on a page: a line, and never as markup."""

from __future__ import annotations

import io

from rich.console import Console

from eirene.core.records import Record
from eirene.core.scores import PairJudgement, Unscored
from eirene.views.facts import compared_texts
from eirene.views.report import render_page
from eirene.views.terminal import render
from tests.views.records import record

NASTY = "</details><script>alert(1)</script> \x1b[31m {{ 7*7 }}"


def compared(first: float | Unscored, second: float | Unscored, *, votes: int = 0) -> Record:
    made = record("accepted")
    found = PairJudgement.of(first, second, judge="m", votes=votes)
    rounds = (made.rounds[0].model_copy(update={"pairwise": found}), *made.rounds[1:])
    return made.model_copy(update={"rounds": rounds})


def test_the_probability_is_told_with_what_it_was_counted_on_and_the_liking_for_the_first() -> None:
    (token,), (votes,) = (compared_texts(made) for made in (compared(0.5, 1.7), compared(1.0, 1.0, votes=6)))
    assert token.summary == (
        "pairwise, round 1: the rewrite is better with probability 0.75; "
        "log-odds +0.6 for the text shown first, whichever it is"
    )
    assert "0.73, by 6 votes; log-odds +0.0" in votes.summary and votes.replies == ()


def test_where_it_was_not_asked_there_is_nothing_to_tell() -> None:
    assert compared_texts(record("accepted")) == ()


def test_page_and_terminal_say_why_it_is_unscored_as_text_and_no_markup() -> None:
    made = compared(Unscored(unscored=NASTY), 1.0)
    page = render_page(made)
    part = page.partition("pairwise, round 1")[2].partition("\n</details>")[0]
    assert "unscored" in part and "&lt;script&gt;alert(1)" in part and "<script" not in part and "\x1b" not in part
    screen = io.StringIO()
    Console(width=300, file=screen).print(render(made))
    assert "pairwise, round 1: unscored" in screen.getvalue() and "\x1b" not in screen.getvalue()
