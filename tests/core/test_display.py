"""How a record shows itself: at a terminal, in a notebook, by `repr`, as a diff."""

from __future__ import annotations

import io

import pytest
import rich
from rich.console import Console

import eirene
from eirene.core.display import sentence_diff
from eirene.core.records import Record
from eirene.views.terminal import render
from tests.rows import each


@pytest.fixture(scope="module")
def record() -> Record:
    """An accepted run with one argument added."""
    return eirene.refine(
        question="Should school uniforms be <compulsory>?",
        answer="Supporters say that uniforms make pupils more equal. Opponents say that they limit freedom.",
        perspectives={
            "pro": ["Uniforms make pupils more equal.", "Uniforms save families money."],
            "con": "Uniforms limit pupils' freedom of expression.",
        },
    )


def printed(value: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(value)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_show_and_rich_print_what_the_command_prints(record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Console(file=io.StringIO(), width=100)
    record.show(shown)
    assert isinstance(shown.file, io.StringIO)
    assert shown.file.getvalue() == printed(render(record)) == printed(record)
    record.show()
    assert "ACCEPTED" in capsys.readouterr().out
    rich.print(record)
    assert "ACCEPTED" in capsys.readouterr().out


def test_a_notebook_gets_the_page_in_a_frame_that_nothing_breaks_out_of(record: Record) -> None:
    html = record._repr_html_()
    assert html.startswith("<iframe") and html.count("<") == 2  # the frame, opened and closed: all else is escaped
    assert "&amp;lt;compulsory&amp;gt;" in html
    assert 'sandbox="allow-scripts allow-downloads"' in html


def test_the_repr_is_a_line(record: Record) -> None:
    assert record.status == "accepted"
    assert repr(record) == f"Record(id={record.id!r}, status='accepted', answer={record.answer[:60] + '...'!r})"
    short = record.model_copy(update={"answer": "Yes."})
    assert repr(short) == f"Record(id={record.id!r}, status='accepted', answer='Yes.')"


def test_the_diff_and_the_edits_are_what_changed(record: Record) -> None:
    first, added, last = record.diff.splitlines()
    assert (first[:2], added[:2], last[:2]) == ("  ", "+ ", "  ")
    assert added[2:] in record.answer and added[2:] not in record.original
    (edit,) = record.edits
    assert edit.taken and edit.new == added[2:]


def test_what_stands_as_it_was_has_no_diff() -> None:
    kept = eirene.refine(question="Is homework useful?", answer="It depends.")
    assert (kept.diff, kept.edits) == ("", ())


@each(
    "old, new, diff",
    [
        ("", "", ""),
        ("One. Two.", "One.\n\nTwo.", "  One.\n  Two."),  # another layout of the same sentences
        ("", "One.", "+ One."),
        ("One. Two.", "Two.", "- One.\n  Two."),
        ("It is red.", "It is blue.", "- It is red.\n+ It is blue."),
        ("Why? Really.", "Yes. Really.", "- Why?\n+ Yes.\n  Really."),
        ("A cat sat. It rained. We left.", "It rained. We left. A cat sat.", "  It rained.\n  We left.\n> A cat sat."),
        ("- One.\n- Two.", "- One.\n- Three.", "  One.\n- Two.\n+ Three."),
    ],
)
def test_a_diff_has_a_line_a_sentence(old: str, new: str, diff: str) -> None:
    assert sentence_diff(old, new) == diff


def test_what_is_shown_is_no_part_of_what_is_written(record: Record) -> None:
    assert not {"diff", "edits"} & set(record.model_dump())
    assert Record.model_validate_json(record.to_json()) == record
