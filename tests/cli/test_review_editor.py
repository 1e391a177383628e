"""The editor of an interactive review: what a person is shown, what is changed, and what comes of it."""

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
from eirene.cli.review import LeftError, ask, check_terminal
from eirene.core.critique import FeedbackNote, Review, Sample
from eirene.core.errors import InputError
from eirene.core.records import Item
from tests.scripted_parts import scripted_parts

FAULTY = Sample(tags=("Incomplete", "Complete"), reasons=("Pollution is missing.", None))
SPOTLESS = Sample(tags=("Complete", "Complete"), reasons=(None, None))
ITEM: dict[str, Any] = {
    "question": "Trams or buses?",
    "answer": "Trams are quiet. Buses are cheap.",
    "perspectives": [{"name": "trams", "arguments": ["Trams pollute less."]}],
}
Ask = Callable[..., tuple[Review, list[str]]]
EDITOR = """
import json, pathlib, sys
log, file = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
seen, edits = json.loads(log.read_text("utf-8"))
text = file.read_text("utf-8")
fails, (old, new) = edits[0][0] == "fail", edits[0][-2:]
log.write_text(json.dumps([[*seen, text], edits[1:]]), "utf-8")
file.write_bytes((new if old == "all" else text.replace(old, new)).encode("latin-1" if old == "2 Latin" else "utf-8"))
sys.exit(fails)
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Asks about a scripted critique; the editor makes one of `edits` each time it is opened. Also what it saw."""
    import json

    monkeypatch.delenv("VISUAL", raising=False)
    script, log = tmp_path / "editor.py", tmp_path / "log.json"
    script.write_text(EDITOR, encoding="utf-8")
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script), str(log)]))

    def run(
        *edits: tuple[str, ...], sample: Sample = FAULTY, draft: Any = None, unchecked: str | None = None, **more: Any
    ) -> tuple[Review, list[str]]:
        options = {k: more.pop(k) for k in ("mode",) if k in more}
        item = Item(**{**ITEM, **more})
        question = _question(item, sample, **options)
        question["critique"] |= {"unchecked": unchecked} if unchecked else {}
        log.write_text(json.dumps([[], edits]), encoding="utf-8")
        review = ask({**question, "draft": draft}, item, hint="A hint.")
        return review, json.loads(log.read_text("utf-8"))[0]

    return run


def _question(item: Item, sample: Sample, **options: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        parts = scripted_parts(samples=[sample] * 20)
        run = ReviewedRun(item, parts=parts, settings=Settings.of(**options), checkpointer=InMemorySaver())
        await run.begin()
        assert run.question is not None
        return run.question

    return asyncio.run(run())


SAME = ("x", "x")


def test_the_file_shows_the_critique_and_what_may_be_done(asked: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    decision, (shown,) = asked(SAME)
    assert (decision, capsys.readouterr().out) == (Review(action="go on"), "")  # standard output is for the record
    for part in (
        "# Question: Trams or buses?", '# "Trams are quiet." (incomplete, 20/20)', "The fraction:", "# A hint.",
        "1 Incomplete: Pollution is missing.", "2 Complete", "keep the original", "has not been rewritten",
    ):  # fmt: skip
        assert part in shown


def test_what_is_written_is_the_decision(asked: Ask) -> None:
    decision, _ = asked(("2 Complete", "2 Incomplete: Not at night."))
    assert decision.replace == (FeedbackNote(sentence=2, reason="Not at night."),)
    assert asked(("2 Complete", "Keep the Original"))[0] == Review(action="stop")


def test_text_that_cannot_be_read_is_opened_again_with_the_reason(asked: Ask) -> None:
    """The reason names lines as they stand then; the last one is put right."""
    decision, shown = asked(
        ("2 Complete", "2 Perhaps"), ("2 Perhaps", "2 Possibly"), ("2 Possibly", "2 Incomplete: Mine.")
    )
    for n, word in ((1, "Perhaps"), (2, "Possibly")):
        said, *lines = shown[n].splitlines()
        number = lines.index(f"2 {word}") + 2
        assert said.startswith(f"# Not read: line {number} is no entry: '2 {word}'")
    assert decision.replace == (FeedbackNote(sentence=2, reason="Mine."),)


@pytest.mark.parametrize(
    ("edits", "said", "kept"),
    [
        ([("2 Complete", "my words"), SAME], "not read: line", "my words"),
        ([("fail", "2 Complete", "2 Incomplete: Mine.")], "the editor failed", "Mine."),
        ([("2 Complete", "2 Latin é"), ("2 Latin", "2 Incomplete:")], "is not UTF-8", "2 Incomplete: é"),
        ([("fail", "x", "x")], "the editor failed", None),
        ([("all", " \n")], "the file is empty: nothing was decided", None),
    ],
)
def test_who_leaves_decides_nothing_and_loses_no_text(
    asked: Ask, capsys: pytest.CaptureFixture[str], edits: list[tuple[str, ...]], said: str, kept: str | None
) -> None:
    with pytest.raises(LeftError):
        asked(*edits)
    told = capsys.readouterr().err
    assert said in told and ("your text is in" in told) == (kept is not None)
    if kept is not None:
        assert kept in Path(told.rpartition("your text is in ")[2].strip()).read_bytes().decode("latin-1")


def test_edits_that_were_saved_before_are_there_again(asked: Ask) -> None:
    before = {"action": "save", "add": [{"sentence": 2, "reason": "Dear."}]}
    decision, (shown,) = asked(SAME, draft=before)
    assert decision == Review(action="go on", replace=(FeedbackNote(sentence=2, reason="Dear."),))
    assert "2 Incomplete: Dear." in shown and "changes that you made before" in shown
    assert asked(("2 Incomplete: Dear.", "2 Complete"), draft=before)[0] == Review(action="go on")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sample": SPOTLESS}, "Nothing was found incomplete. If"),
        ({"sample": SPOTLESS, "unchecked": "whether it rains"}, "incomplete. Whether it rains was not checked. If"),
        ({"sample": Sample(invalid="refusal")}, "No usable critique"),
        ({"mode": "human"}, "Nobody has judged these sentences yet"),
    ],
)
def test_why_there_is_a_question_is_said(asked: Ask, more: dict[str, Any], said: str) -> None:
    assert said in " ".join(asked(SAME, **more)[1][0].replace("\n#", "").split())


def test_nothing_that_anyone_wrote_acts_on_the_terminal(asked: Ask) -> None:
    evil = "\x1b[2J\x07 [bold]x[/bold] \u202e"
    sample = Sample(tags=("Incomplete", "Complete"), reasons=(f"Pollution {evil}", None))
    _, (shown,) = asked(SAME, sample=sample, question=f"Trams {evil}?")
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
