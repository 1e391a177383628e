"""Hallucinations in the views: by letter, line and words, not by colour alone; and nothing of the text is lost."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from eirene.core.critique import Critique, Finding, FindingKind, FindingVote, TaggedSentence
from eirene.core.records import BeforeAfter, Record, Round
from eirene.core.usage import Usage
from eirene.views.faults import marked_spans
from eirene.views.report import render_page, render_report
from eirene.views.terminal import render

TEXT = "Built in <1899>, it is ugly."


def record() -> Record:
    found = (
        Finding(kind="entity", start=9, end=15, reason="Wrong year.", edit="<1890>"),
        Finding(kind="subjective", start=17, end=28, reason="An opinion.", edit=""),
    )
    sentence = TaggedSentence(n=1, text=TEXT, start=0, end=28, tag="Incomplete", reason="Two faults.", findings=found)
    vote = FindingVote(agreement=0.9, tag_consistency=0.8, n_kept=2, n_found=3, n_drawn=20, n_valid=20, n_requested=20)
    critique = Critique(
        sentences=(sentence,), tag_consistency=0.8, reason_consistency=0.9, n_drawn=20, n_valid=20, n_requested=20,
        hallucination=vote,
    )  # fmt: skip
    round_ = Round(critique=critique, candidate=None, scores={}, decision="reject", why="w")
    return Record(
        id="r", question="q", original=TEXT, answer=TEXT, status="kept", why="w", mode="edit", backend="b", seed=0,
        signature="s", rounds=(round_,), scores=BeforeAfter(original={}, final={}), usage=Usage(),
    )  # fmt: skip


@given(st.text(max_size=30), st.data())
def test_spans_joined_are_the_sentence(text: str, data: st.DataObject) -> None:
    """Whatever the findings, overlapping or outside of the sentence, its text is shown whole and in order."""
    start = data.draw(st.integers(0, 5))
    findings = []
    for kind in data.draw(st.lists(st.sampled_from(get_args(FindingKind)), max_size=4)):
        a = data.draw(st.integers(0, start + len(text) + 3))
        b = data.draw(st.integers(a, start + len(text) + 5))
        findings.append(Finding(kind=kind, start=a, end=b, reason="r"))
    sentence = TaggedSentence(
        n=1, text=text, start=start, end=start + len(text), tag="Complete", findings=tuple(findings)
    )
    spans = marked_spans(sentence)
    assert not spans or "".join(s.text for s in spans) == text


def test_the_terminal_shows_kind_and_better_words_without_colour() -> None:
    """Without any style the letter, the better words and the legend still say what was found."""
    console = Console(width=100, no_color=True, record=True)
    console.print(render(record()))
    shown = " ".join(console.export_text().split())
    assert "<1899>[C: <1890>], it is ugly.[O: -]" in shown
    assert "C contradicted, O an opinion" in shown and "2 of 3 findings kept, agreement 0.90" in shown


def test_the_page_and_the_report_mark_findings_and_explain_them() -> None:
    """The page escapes what it marks; its legend names the words that occur and no others."""
    page = render_page(record())
    assert '<mark class="finding f-contradicted"><span class="unseen">[contradicted: </span>&lt;1899&gt;<b ' in page
    assert "<ins>&lt;1890&gt;</ins>" in page
    for text in (page, render_report([record()])):
        legend = text.partition('class="dim legend"')[2].partition("</p>")[0]
        assert 'f-opinion">an opinion</strong>' in legend and "unsupported" not in legend
