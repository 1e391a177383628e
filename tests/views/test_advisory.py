"""What decides nothing is marked, stands apart and is not coloured; success is coloured where all was looked for."""

from __future__ import annotations

import json
import re
from typing import Any

import eirene
from eirene.agent.experiments.compare import CompareRow
from eirene.agent.experiments.compare_summary import summarise
from eirene.core.records import BeforeAfter, Record
from eirene.core.scores import ArgumentScore, Scores
from eirene.views.comparison.tables import comparison_table, render_comparison, sections
from eirene.views.facts import HOW_TO_GIVE, STATUS_WORDS, score_table
from eirene.views.record import view_of
from eirene.views.report import render_page, render_report
from tests.views.records import ANSWER, record
from tests.views.test_terminal import shown, text_of

PASSAGES: dict[str, Any] = {"question": "Q?", "answer": "Trams are quiet.", "context": ["Trams are quiet. So it is."]}


def scored(coverage: float) -> Scores:
    return Scores(hallucination=0.2, coverage=coverage, arguments=(ArgumentScore(group="pro", n=1, coverage=coverage),))


def with_adviser(**changes: Any) -> Record:
    """An accepted record whose advisory detector, named first, got worse."""
    made = record("accepted")
    sides = {
        side: {"adviser": scored(0.1 if side == "original" else 0.6), **getattr(made.scores, side)}
        for side in ("original", "final")
    }
    return made.model_copy(update={"scores": BeforeAfter(**sides), "advisory": ("adviser",), **changes})


def test_advisory_rows_stand_below_those_that_decide() -> None:
    rows = score_table(with_adviser()).rows
    assert [(row.detector, row.advisory) for row in rows] == [("scripted", False)] * 2 + [("adviser", True)] * 2


def test_on_a_terminal_they_are_marked_and_neither_red_nor_green() -> None:
    text, coloured = shown(with_adviser()), shown(with_adviser(), colour=True)
    assert "* Advisory: shown, and decides nothing." in text
    (line,) = [line for line in coloured.splitlines() if "+0.500 higher" in line]
    assert "adviser *" in line and not re.search(r"\x1b\[(?:\d+;)*3[12]m", line)
    assert "\x1b[32m" in next(line for line in coloured.splitlines() if "-0.700 better" in line)
    assert "Advisory" not in shown(record("accepted"))


def test_on_the_page_they_are_a_muted_group_with_a_name() -> None:
    page = render_page(with_adviser())
    groups = re.findall(r"<tbody[^>]*>.*?</tbody>", page, re.DOTALL)
    worse = [group for group in groups if "+0.500 higher" in group]
    assert len(worse) == 2  # the scores, and those of single arguments
    assert all(group.startswith('<tbody role="rowgroup" class="muted">') for group in worse)
    assert "Advisory: shown, and decides nothing" in worse[0]
    assert all("muted" not in group[:60] for group in groups if "scripted" in group)


def test_in_a_report_each_line_says_whether_it_decides() -> None:
    text = render_report([with_adviser()])
    (line,) = re.findall(r'<script type="application/json" id="details">(.*?)</script>', text, re.DOTALL)
    scores = json.loads(line)[8]
    assert [(name, advisory) for name, _, _, advisory in scores] == [("scripted", False)] * 2 + [("adviser", True)] * 2


def compared() -> dict[str, Any]:
    rows = []
    for n in range(8):
        for mode, made in (("improve", record("kept")), ("fine-grained", with_adviser())):
            own = made.model_copy(update={"id": f"i{n}", "mode": mode, "advisory": ("adviser",)})
            if mode == "improve":
                adviser = {"adviser": scored(0.1), **own.scores.original}
                own = own.model_copy(update={"scores": BeforeAfter(original=adviser, final=adviser)})
            rows.append(CompareRow(id=f"i{n}", mode=mode, seed=0, hash="h", given="perspectives", record=own))  # type: ignore[arg-type]  # a mode
    return summarise(rows, draws=300)


def test_in_a_comparison_they_are_labelled_last_and_muted() -> None:
    summary = compared()
    labels = [score["label"] for score in summary["per_mode"]["improve"]["scores"].values()]
    assert labels[0].startswith("scripted: ") and labels[-1] == "adviser: coverage (advisory)"
    assert "| coverage error (adviser) |" in comparison_table(summary).partition("### Advisory scores")[2]
    for section in sections(summary):
        shown = [group for table in section.tables for group in table.groups]
        assert not any(group.muted or "adviser" in str(group) for group in shown)
    folded = {section.id: section.folded for section in sections(summary)}
    for name in ("differences", "before-after"):
        assert folded[name][0].title == "Advisory scores: shown, and decide nothing"
        assert all(group.muted for group in folded[name][0].tables[0].groups)
    (line,) = [row for row in folded["differences"][0].tables[0].groups[0].rows if row[0] == "coverage error (adviser)"]
    assert line[3] == '<span class="worse">worse</span>'


def test_a_difference_that_decides_nothing_is_not_coloured_on_a_terminal() -> None:
    coloured = text_of(render_comparison(compared()), width=120, colour=True)
    (line,) = [line for line in coloured.splitlines() if "worse" in line and "adviser" in line]
    assert "\x1b[31m" not in line


def test_a_summary_from_before_there_were_advisory_marks_can_be_shown() -> None:
    summary = compared()
    for score in summary["per_mode"]["improve"]["scores"].values():
        del score["advisory"]
    for difference in summary["pairs"][0]["differences"]:
        del difference["advisory"]
    assert list(sections(summary)) and render_comparison(summary)


def test_each_outcome_has_its_colour_and_only_a_rewrite_that_passed_is_green() -> None:
    """On the pages by the class of its name, whose colours are those of `design.css`."""
    for status, colour in [
        ("accepted", "1;32"),
        ("complete", "1"),
        ("kept", "1;33"),
        ("abstained", "1"),
        ("failed", "1;31"),
    ]:
        found = record(status)
        assert f"\x1b[{colour}m{status.upper()}" in shown(found, colour=True)
        assert f'<strong class="badge {status}">{status}</strong>' in render_page(found)
        assert f'<strong class="badge {status}">{status}</strong>' in render_report([found])


def test_without_a_fault_by_passages_it_is_said_what_was_not_checked() -> None:
    found = eirene.refine(PASSAGES)
    assert found.status == "no_fault_found"
    for text in (" ".join(shown(found).split()), render_page(found)):
        assert "no sentence was found unsupported by the passages; whether something of the passages is missing" in text
        assert "Not checked: whether something of the passages is missing." in text


def test_a_round_without_a_rewrite_shows_none() -> None:
    """A blank reply is no rewrite that took everything out, and the text again none that was rejected."""
    for useless in ["", " \n", ANSWER, ANSWER + " "]:
        made = record("kept")
        rounds = tuple(r.model_copy(update={"candidate": useless, "why": "no rewrite"}) for r in made.rounds)
        found = made.model_copy(update={"rounds": rounds})
        assert view_of(found).diff == ()
        assert [r.candidate for r in view_of(found).rounds] == [None, None]
        assert "Round 1: nothing rewritten: no rewrite" in shown(found) and "not accepted" not in shown(found)


def test_the_words_of_an_outcome_claim_nothing_but_what_is_shown() -> None:
    """No rewrite that was turned down was worse for certain: why is the record's to say."""
    assert "gate" not in STATUS_WORDS["kept"] and "missing" not in STATUS_WORDS["no_fault_found"]


def test_at_a_terminal_an_abstention_for_want_of_anything_given_names_the_flags() -> None:
    found = eirene.refine({"question": "Q?", "answer": "Trams are quiet."})
    text = " ".join(shown(found).split())
    assert HOW_TO_GIVE in text and "--backend provider:model" in HOW_TO_GIVE
    assert HOW_TO_GIVE not in " ".join(shown(record("abstained")).split())
    assert "--backend" not in found.why
