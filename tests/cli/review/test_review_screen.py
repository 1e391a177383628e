"""The dialogue at the question: what a person is shown, line by line, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from eirene.agent.session import ReviewedRun
from eirene.agent.settings import Settings
from eirene.cli.review.dialogue import LeftError
from eirene.cli.review.screen import Dialogue
from eirene.core.critique import FeedbackNote, Review, Sample
from eirene.core.records import Item
from eirene.testing.parts import scripted_parts

FAULTY = Sample(tags=("Incomplete", "Complete"), reasons=("Pollution is missing.", None))
SPOTLESS = Sample(tags=("Complete", "Complete"), reasons=(None, None))
ITEM: dict[str, Any] = {
    "question": "Trams or buses?",
    "answer": "Trams are quiet. Buses are cheap.",
    "perspectives": [{"name": "trams", "arguments": ["Trams pollute less."]}],
}
Ask = Callable[..., tuple[Review, list[Review]]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks about a scripted critique while these lines are typed: the decision, and what was saved on the way."""
    monkeypatch.setenv("COLUMNS", "80")

    def asked(
        *lines: str, sample: Sample = FAULTY, saved_before: Any = None, unchecked: str | None = None, **more: Any
    ) -> tuple[Review, list[Review]]:
        options = {k: more.pop(k) for k in ("mode",) if k in more}
        item = Item(**{**ITEM, **more})
        question = _question(item, sample, **options)
        question["critique"] |= {"unchecked": unchecked} if unchecked else {}
        saved: list[Review] = []
        typed = iter(lines)

        def read() -> str:
            for line in typed:
                return line
            raise LeftError

        dialogue = Dialogue(
            {**question, "draft": saved_before}, item, save=saved.append, leaving="leaves", hint="A hint.", read=read
        )
        return dialogue.ask(), saved

    return asked


def _question(item: Item, sample: Sample, **options: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        parts = scripted_parts(samples=[sample] * 20)
        run = ReviewedRun(item, parts=parts, settings=Settings.of(**options), checkpointer=InMemorySaver())
        await run.begin()
        assert run.question is not None
        return run.question

    return asyncio.run(run())


def test_the_question_shows_the_critique_and_what_may_be_typed(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    decision, saved = ask("")
    shown = capsys.readouterr()
    assert (decision, saved, shown.out) == (Review(action="go on"), [], "")  # standard output is for the record
    for part in ("Trams or buses?", "1  [Incomplete]  20/20  Trams are quiet.", "because: Pollution is missing.",
                 "2  [Complete]", "Enter", "1 TEXT", "+1 TEXT", "-1", "q ", "? ", "A hint."):  # fmt: skip
        assert part in shown.err
    assert max(len(line) for line in shown.err.splitlines()) <= 80


def test_each_edit_is_shown_and_saved_before_the_next_line(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    decision, saved = ask("1 Say why.", "+2 Not at night.", "-1", "undo", "")
    shown = capsys.readouterr().err
    assert "because: Say why." in shown and "because: Not at night." in shown and "1  [Complete]" in shown
    assert "2 sentences to be mended" in shown and "1 sentence to be mended" in shown
    assert [review.has_edits for review in saved] == [True] * 4
    assert decision == saved[-1] == saved[1]
    assert decision.replace == (FeedbackNote(sentence=1, reason="Say why."),)


def test_a_mistake_costs_nothing(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    decision, saved = ask("banana", "9 x", "-2", "undo", "+1", "1 Say why.", "5", "")
    assert (len(saved), decision) == (1, saved[0])
    said = capsys.readouterr().err
    for part in ("not understood", "there is no sentence 9", "2 is complete already", "nothing to undo", "say what"):
        assert part in said


@pytest.mark.parametrize(("typed", "action"), [("q", "stop"), ("all complete", "all complete")])
def test_what_would_throw_edits_away_wants_to_be_typed_twice(
    ask: Ask, capsys: pytest.CaptureFixture[str], typed: str, action: str
) -> None:
    assert ask(typed)[0] == Review.model_validate({"action": action})
    decision, saved = ask("1 Say why.", typed, "")
    assert decision == saved[0]
    assert f"{typed} once more" in capsys.readouterr().err
    assert ask("1 Say why.", typed, "2", typed, typed)[0].action == action


def test_edits_that_were_saved_before_are_there_again_and_can_be_undone(
    ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {"action": "save", "replace": [{"sentence": 2, "reason": "Dear."}], "add": [], "drop": []}
    decision, _ = ask("", saved_before=before)
    shown = capsys.readouterr().err
    assert decision == Review.model_validate({**before, "action": "go on"})
    assert "because: Dear." in shown and "changes that you made before" in shown
    assert ask("undo", "", saved_before=before)[0] == Review(action="go on")


def test_help_given_and_show_decide_nothing(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    decision, saved = ask("?", "given", "show", "2", "")
    shown = capsys.readouterr().err
    assert (decision, saved) == (Review(action="go on"), [])
    for part in ("all complete", "undo", "Ctrl-C", "Trams pollute less."):
        assert part in shown
    assert shown.count("1  [Incomplete]  20/20") == 2
    ask("given", "", perspectives=None, context=["A passage."])
    assert "1. A passage." in capsys.readouterr().err
    ask("given", "", perspectives=None)
    assert "Nothing was given" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "has not been rewritten yet"),
        ({"sample": SPOTLESS}, "Nothing was found incomplete. If"),
        ({"sample": SPOTLESS, "unchecked": "whether it rains"}, "incomplete. Whether it rains was not checked. If"),
        ({"sample": Sample(invalid="refusal")}, "No usable critique"),
        ({"mode": "human"}, "Nobody has judged these sentences yet"),
    ],
)
def test_why_there_is_a_question_is_said(
    ask: Ask, capsys: pytest.CaptureFixture[str], more: dict[str, Any], said: str
) -> None:
    ask("", **more)
    shown = capsys.readouterr().err
    assert said in " ".join(shown.split())
    assert ("ends here: no sentence is incomplete" in shown) == bool(more)
    assert ("+1 TEXT" in shown) == (not more)  # there is no reason yet that could be added to


def test_nothing_that_anyone_wrote_acts_on_the_terminal(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\x07 [bold]x[/bold] \u202e"
    sample = Sample(tags=("Incomplete", "Complete"), reasons=(f"Pollution {evil}", None))
    ask("show", "given", f"{evil}", "", sample=sample, question=f"Trams {evil}?",
        perspectives=[{"name": f"t {evil}", "arguments": [f"quiet {evil}"]}])  # fmt: skip
    shown = capsys.readouterr().err
    assert not set("\x1b\x07\u202e") & set(shown)
    assert "␛[2J␇ [bold]x[/bold] \\u202e" in shown


def test_every_sentence_of_a_long_answer_is_shown_with_its_number(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    n = 30
    sample = Sample(tags=("Complete",) * n, reasons=(None,) * n)
    ask("", sample=sample, answer=" ".join(f"Sentence {i} is here." for i in range(1, n + 1)))
    shown = capsys.readouterr().err
    assert all(f"Sentence {i} is here." in shown for i in range(1, n + 1))


def test_going_away_is_no_answer(ask: Ask) -> None:
    with pytest.raises(LeftError):
        ask("1 Say why.")
