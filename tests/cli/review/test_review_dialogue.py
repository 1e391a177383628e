"""What is typed at the question of `eirene refine --interactive`, and what it makes of the critique."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.agent.review import reviewed
from eirene.cli.review.dialogue import Command, edited, parse
from eirene.core.critique import Critique, Finding, Review, TaggedSentence
from eirene.core.errors import InputError

FINDING = Finding(kind="unsupported", start=0, end=2, reason="Old.", edit="")
CRITIQUE = Critique(
    sentences=(
        TaggedSentence(n=1, text="A.", start=0, end=2, tag="Incomplete", reason="Old.", findings=(FINDING,)),
        TaggedSentence(n=2, text="B.", start=3, end=5, tag="Complete"),
        TaggedSentence(n=3, text="C.", start=6, end=8, tag="Incomplete", reason="Older."),
    ),
    tag_consistency=1.0,
    reason_consistency=1.0,
    n_drawn=3,
    n_valid=3,
    n_requested=3,
)


def after(*lines: str) -> Critique:
    """The critique after these lines, each of them an edit."""
    review = Review(action="go on")
    for line in lines:
        review = edited(CRITIQUE, review, parse(line))
    return reviewed(CRITIQUE, review)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("", Command("go on")),
        ("   ", Command("go on")),
        ("Go on", Command("go on")),
        ("q", Command("stop")),
        ("?", Command("help")),
        ("HELP", Command("help")),
        ("undo", Command("undo")),
        ("show", Command("show")),
        ("given", Command("given")),
        ("All  Complete", Command("all complete")),
        ("2", Command("show", (2,))),
        ("2 reason text", Command("set", (2,), "reason text")),
        ("  2.  reason\ttext  ", Command("set", (2,), "reason text")),
        ("2: q", Command("set", (2,), "q")),
        ("2) -3", Command("set", (2,), "-3")),
        ("2 3 of 4 are missing", Command("set", (2,), "3 of 4 are missing")),
        ("+2 too", Command("add", (2,), "too")),
        ("+ 2 too", Command("add", (2,), "too")),
        ("-2", Command("drop", (2,))),
        ("- 2", Command("drop", (2,))),
        ("\u22122", Command("drop", (2,))),
        ("\u20132", Command("drop", (2,))),
        ("-1 2, 3", Command("drop", (1, 2, 3))),
        ("1 Fehlt: „Straßenbahn“ 🚋 東京", Command("set", (1,), "Fehlt: „Straßenbahn“ 🚋 東京")),
        ("1 [Complete] {\"a\": 1}", Command("set", (1,), "[Complete] {\"a\": 1}")),
        ("1 " + "very long " * 20_000, Command("set", (1,), ("very long " * 20_000).strip())),
    ],
)  # fmt: skip
def test_a_line_is_understood(line: str, command: Command) -> None:
    assert parse(line) == command


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("banana", "not understood: 'banana'"),
        ("x" * 500, "not understood: '" + "x" * 40 + "…'"),
        ("2.5 percent is wrong", "not understood"),
        ("2nd sentence is wrong", "not understood"),
        ("1234567890 x", "not understood"),
        ("+2", "+2 adds to a reason; say what"),
        ("-2 because", "-2 drops a reason and takes no text"),
        ("quit", "q keeps the original and ends here; Ctrl-C leaves"),
        ("exit", "q keeps the original and ends here; Ctrl-C leaves"),
        ("2 \x1b[A", "control character (U+001B)"),
        ("2 \udce9", "not in the terminal's encoding"),
        ("\x00", "control character (U+0000)"),
    ],
)
def test_a_line_that_means_nothing_says_what_may_be_typed(line: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse(line)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 250


@given(st.text(st.characters(codec=None, categories=None)) | st.from_regex(r"[+-]?[0-9]{1,2}[ .]*.*"))
def test_any_line_is_understood_or_refused(line: str) -> None:
    try:
        command = parse(line)
        if command.word in ("set", "add", "drop"):
            reviewed(CRITIQUE, edited(CRITIQUE, Review(action="go on"), command))
    except InputError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("lines", "reasons"),
    [
        (["1 New."], ["New.", None, "Older."]),
        (["2 New."], ["Old.", "New.", "Older."]),
        (["1 New.", "1 Newer."], ["Newer.", None, "Older."]),
        (["+1 And.", "+1 Also."], ["Old. And. Also.", None, "Older."]),
        (["+2 And."], ["Old.", "And.", "Older."]),
        (["1 New.", "+1 And."], ["New. And.", None, "Older."]),
        (["+1 And.", "1 New."], ["New.", None, "Older."]),
        (["-1"], [None, None, "Older."]),
        (["-1 3"], [None, None, None]),
        (["-1 1"], [None, None, "Older."]),
        (["-1", "1 Back."], ["Back.", None, "Older."]),
        (["-1", "+1 Back."], ["Back.", None, "Older."]),
        (["2 New.", "-2"], ["Old.", None, "Older."]),
        (["+1 And.", "-1"], [None, None, "Older."]),
    ],
)
def test_edits_add_up(lines: list[str], reasons: list[str | None]) -> None:
    critique = after(*lines)
    assert [s.reason for s in critique.sentences] == reasons
    assert [s.tag for s in critique.sentences] == ["Incomplete" if r else "Complete" for r in reasons]


@pytest.mark.parametrize("line", ["-2", "0 x", "4 x", "+4 x", "-9", "-1 4"])
def test_an_edit_of_what_is_not_there_is_refused(line: str) -> None:
    with pytest.raises(InputError, match=r"there is no sentence|is complete already"):
        after(line)
    with pytest.raises(InputError, match="sentence 1 is complete already"):
        after("-1", "-1")


def test_findings_go_with_a_reason_that_is_replaced_or_dropped_and_stay_with_one_that_is_added_to() -> None:
    """A refiner acts on findings: those of a reason that the person took away must not be carried out."""
    for line, findings in (("1 New.", ()), ("-1", ()), ("+1 And.", (FINDING,))):
        assert after(line).sentences[0].findings == findings
