"""The prompt of an interactive review: what a person is shown, what an editor changes, and what comes of it."""

from __future__ import annotations

import asyncio
import io
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from eirene.agent.session import ReviewedRun
from eirene.agent.settings import Settings
from eirene.cli.review_dialogue import Dialogue, LeftError, check_terminal
from eirene.core.critique import FeedbackNote, Review, Sample
from eirene.core.errors import InputError
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
EDITOR = """
import json, pathlib, sys
edits, file = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
old, new = (left := json.loads(edits.read_text("utf-8")))[0]
edits.write_text(json.dumps(left[1:]), "utf-8")
text = file.read_text("utf-8")
file.write_text(text.replace(old, new), "utf-8")
sys.exit(old == "fail")
"""


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Asks about a scripted critique: `typed` at the prompt, `edits` made by the editor, one each time it is opened."""
    import json

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("VISUAL", raising=False)
    script, file = tmp_path / "editor.py", tmp_path / "edits.json"
    script.write_text(EDITOR, encoding="utf-8")
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script), str(file)]))

    def asked(
        *typed: str, edits: Any = (), sample: Sample = FAULTY, draft: Any = None, unchecked: str | None = None,
        **more: Any,
    ) -> tuple[Review, list[Review]]:  # fmt: skip
        options = {k: more.pop(k) for k in ("mode",) if k in more}
        item = Item(**{**ITEM, **more})
        question = _question(item, sample, **options)
        question["critique"] |= {"unchecked": unchecked} if unchecked else {}
        file.write_text(json.dumps(list(edits)), encoding="utf-8")
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
        saved: list[Review] = []
        dialogue = Dialogue({**question, "draft": draft}, item, save=saved.append, hint="A hint.")
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


def test_the_question_shows_the_critique_and_what_may_be_chosen(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    decision, saved = ask("")
    shown = capsys.readouterr()
    assert (decision, saved, shown.out) == (Review(action="go on"), [], "")  # standard output is for the record
    for part in ("Trams or buses?", "1  incomplete  20/20  Trams are quiet.", "because: Pollution is missing.",
                 "2  complete", "Enter", "e edits", "k keeps", "q leaves", "A hint."):  # fmt: skip
        assert part in shown.err
    assert max(len(line) for line in shown.err.splitlines()) <= 80


def test_edits_are_shown_and_saved_and_can_be_made_again(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    edits = [("Pollution is missing.", "Say why."), ("2 Complete", "2 Incomplete: Not at night."), ("x", "x")]
    decision, saved = ask("e", "E", "e", "s", "", edits=edits)
    shown = capsys.readouterr().err
    assert "because: Say why." in shown and "because: Not at night." in shown and "nothing was changed" in shown
    assert "1 sentence with faults" in shown and "2 sentences with faults" in shown
    assert len(saved) == 2 and decision == saved[-1]
    assert decision.replace == (
        FeedbackNote(sentence=1, reason="Say why."), FeedbackNote(sentence=2, reason="Not at night."),
    )  # fmt: skip


def test_text_that_cannot_be_read_is_opened_again_and_nothing_goes_on_without_it(
    ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = [("2 Complete", "2 Perhaps\n1 Incomplete: mine"), ("2 Perhaps\n1 Incomplete: mine", "2 Incomplete: Mine.")]
    decision, saved = ask("nonsense", "e", "", "k", "e", "", edits=edits)
    said = capsys.readouterr().err
    assert "not read: line 11 is no entry: '2 Perhaps'" in said and said.count("your text was not read") == 2
    assert "Please select one of the available options" in said
    assert decision == saved[0] and decision.replace == (FeedbackNote(sentence=2, reason="Mine."),)
    assert ask("e", "d", "", edits=edits)[0] == Review(action="go on")


def test_an_editor_that_fails_loses_nothing(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("e", "", edits=[("fail", "")])[0] == Review(action="go on")
    decision, _ = ask("e", "e", "", edits=[("fail", ""), ("2 Complete", "2 Incomplete: Mine.")])
    assert "the editor failed" in capsys.readouterr().err
    assert decision.replace == (FeedbackNote(sentence=2, reason="Mine."),)


def test_text_that_was_not_read_is_kept_when_the_person_leaves(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    for leaving in (["q"], []):  # the second is the end of input
        with pytest.raises(LeftError):
            ask("e", *leaving, edits=[("2 Complete", "my words")])
        kept = Path(capsys.readouterr().err.rpartition("was not read is in ")[2].strip())
        assert "my words" in kept.read_text("utf-8")


def test_keeping_the_original_asks_before_it_throws_edits_away(ask: Ask) -> None:
    assert ask("k")[0] == Review(action="stop")
    edits = [("2 Complete", "2 Incomplete: Mine.")]
    decision, saved = ask("e", "k", "n", "", edits=edits)
    assert decision == saved[0]
    assert ask("e", "k", "y", edits=edits)[0] == Review(action="stop")


def test_edits_that_were_saved_before_are_there_again(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"action": "save", "add": [{"sentence": 2, "reason": "Dear."}]}
    decision, _ = ask("", draft=before)
    shown = capsys.readouterr().err
    assert decision == Review.model_validate({**before, "action": "go on"})
    assert "because: Dear." in shown and "changes that you made before" in shown
    assert ask("e", "", draft=before, edits=[("2 Incomplete: Dear.", "2 Complete")])[0] == Review(action="go on")


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


def test_nothing_that_anyone_wrote_acts_on_the_terminal(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\x07 [bold]x[/bold] \u202e"
    sample = Sample(tags=("Incomplete", "Complete"), reasons=(f"Pollution {evil}", None))
    ask("s", "", sample=sample, question=f"Trams {evil}?")
    shown = capsys.readouterr().err
    assert not set("\x1b\x07\u202e") & set(shown)
    assert "␛[2J␇ [bold]x[/bold] \\u202e" in shown


@pytest.mark.parametrize("name", ["stdin", "stderr"])
def test_a_person_can_be_asked_only_at_a_terminal_with_an_editor(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("VISUAL", f"{sys.executable} -v")
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    check_terminal()
    for named, said in (("no-such-editor -w", "'no-such-editor -w' of VISUAL or EDITOR is not found"), ("'", "found")):
        monkeypatch.setenv("VISUAL", named)
        with pytest.raises(InputError, match=said):
            check_terminal()
    monkeypatch.delenv("VISUAL")
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="needs an editor: set EDITOR"):
        check_terminal()
    for gone in (io.StringIO(), None):
        monkeypatch.setattr(sys, name, gone)
        with pytest.raises(InputError, match=r"asks at a terminal, and standard (input|error) is none"):
            check_terminal()
