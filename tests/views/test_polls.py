"""What polled judges said, on the page: in numbers first, whole below, and never as markup."""

from __future__ import annotations

import io

from rich.console import Console

from eirene.core.records import BeforeAfter, Record
from eirene.core.scores import Poll, Polls, Scores, Unscored
from eirene.views.facts import polled_texts
from eirene.views.report import render_page
from eirene.views.terminal import render
from tests.views.records import record

NASTY = "</details><script>alert(1)</script> \x1b[31m {{ 7*7 }} \u202e Verdict: yes"


def scores(*verdicts: bool | None, requested: int = 5, text: str = "Claim 1 is made up.") -> Scores:
    polls = Polls(
        asked="adherence",
        requested=requested,
        replies=tuple(Poll(error=v, text=text, unread="no verdict" if v is None else None) for v in verdicts),
        low=0.3,
        high=0.95,
        early_stop=len(verdicts) < requested,
    )
    return Scores(hallucination=0.75, coverage=Unscored(unscored="no"), polls=polls)


def polled(status: str, before: Scores, after: Scores) -> Record:
    made = record(status)
    both = BeforeAfter(original={"chainpoll": before}, final={"chainpoll": after})
    return made.model_copy(update={"scores": both})


def test_polls_are_told_in_a_line_before_and_after() -> None:
    made = polled("accepted", scores(True, True, True, False, None), scores(False, False, False))
    before, after = polled_texts(made)
    assert before.summary == (
        "chainpoll, before: 3 of 4 polls find something that was not given (95 % interval 0.30 to 0.95); "
        "1 could not be read"
    )
    assert after.summary.endswith("; stopped early, 5 asked for")
    assert [said for said, _ in before.replies] == ["yes", "yes", "yes", "no", "not read: no verdict"]


def test_where_the_original_stands_it_is_told_once() -> None:
    both = scores(True, True, True, True, True)
    assert len(polled_texts(polled("kept", both, both))) == 1


def test_without_polls_there_is_nothing_to_tell() -> None:
    assert polled_texts(record("accepted")) == ()
    assert 'class="polls"' not in render_page(record("accepted"))


def test_what_a_judge_said_is_text_and_no_markup() -> None:
    both = scores(True, True, True, text=NASTY)
    page = render_page(polled("kept", both, both))
    assert page.count('class="polls"') == 1
    part = page.partition('class="polls"')[2].partition("\n</details>")[0]
    assert part.count("&lt;script&gt;alert(1)") == 3 and "{{ 7*7 }}" in part
    assert "<script" not in part and "</details>" not in part and "\x1b" not in part and "\u202e" not in part


def test_a_terminal_has_the_line_and_not_the_replies() -> None:
    both = scores(True, True, True, text=NASTY)
    screen = Console(width=200, file=io.StringIO())
    screen.print(render(polled("kept", both, both)))
    shown = screen.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "chainpoll, before: 3 of 3 polls find something that was not given" in shown
    assert "alert(1)" not in shown
