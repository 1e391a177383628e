"""Reports of a check: what is compared, what is left out and said, and the figures' counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eirene.agent.check.baseline import Baseline
from eirene.agent.check.report import make_report, parse_condition
from eirene.core.errors import InputError
from eirene.core.quality import Figure, QualityReport, QualityRow

from .quality_rows import faulty, row


def report(
    rows: Sequence[QualityRow], before: Sequence[QualityRow] | None, *conditions: str, tolerance: float = 0.2
) -> QualityReport:
    baseline = None if before is None else Baseline("base.jsonl", {r.id: r for r in before})
    wanted = [parse_condition(c, ("alignment",), has_baseline=before is not None) for c in conditions]
    return make_report(
        rows, wanted, detectors=("alignment",), versions={"eirene": "1"}, baseline=baseline, tolerance=tolerance
    )


def figure(found: QualityReport, name: str) -> Figure:
    return next(f for f in found.figures if f.quantity == name)


def test_an_argument_that_is_lost_is_worse_and_one_that_is_won_is_better() -> None:
    before = [row("a", 0.1), row("b", 0.9), row("c", 0.1)]
    found = report([row("a", 0.9), row("b", 0.1), row("c", 0.2)], before, "worse > 0")
    assert [figure(found, name).rows for name in ("worse", "better", "net")] == [1, 1, 0]
    assert (found.state, [r.id for r in found.rows]) == ("holds", ["a"])
    assert found.rows[0].why == "missing content 0.10 -> 0.90 (by alignment)"
    assert "1 worse against 1 better: p = 1 by the sign test" in found.notes


def test_the_tolerance_is_how_much_worse_a_row_may_get() -> None:
    before, now = [row("a", 0.55)], [row("a", 0.7)]
    assert figure(report(now, before), "worse").rows == 0
    assert figure(report(now, before, tolerance=0.1), "worse").rows == 1
    with pytest.raises(InputError, match="'tolerance' must be"):
        report(now, before, tolerance=1.5)


def test_unscored_rows_are_neither_good_nor_bad_and_are_said() -> None:
    before = [row("a", 0.1), row("b", None), row("c", 0.1)]
    found = report([row("a", None), row("b", 0.1), row("c", 0.9)], before, "worse > 50%")
    worse = figure(found, "worse")
    assert (worse.rows, worse.n, worse.left_out) == (1, 1, 2)
    assert figure(found, "unscored").rows == 1
    assert "1 row unscored: alignment: in French" in found.notes
    assert "1 row not compared: in the baseline: alignment: in French" in found.notes
    assert "1 row lost, scored in the baseline and not now: not judged any more: alignment: in French" in found.notes
    assert (figure(found, "lost").rows, figure(found, "lost").n) == (1, 3)
    assert (found.rows[0].id, found.rows[0].counted) == ("a", ("lost", "unscored"))


def test_another_question_or_given_text_is_not_compared() -> None:
    found = report([row("a", 0.9, given="other"), row("b")], [row("a", 0.1), row("b")], "worse > 0")
    assert (figure(found, "worse").n, found.state) == (1, "passed")
    assert "1 row not compared: the question or the given text is another" in found.notes


def test_other_ids_leave_nothing_to_compare_which_is_no_pass() -> None:
    found = report([row("x")], [row("a"), row("b")], "worse > 0", "missing > 50%", "new > 5")
    assert found.state == "unmeasured"
    assert [outcome.state for outcome in found.outcomes] == ["unmeasured", "holds", "passed"]
    assert "their ids are not in it" in (found.outcomes[0].why or "")
    assert "2 rows of the baseline missing: a, b" in found.notes


def test_faults_count_rows_of_which_they_can_be_told() -> None:
    rows = [faulty("a", "contradicted", "unsupported"), faulty("b", "weakest"), row("c"), row("d", None, claims=0)]
    found = report(rows, None, "contradicted > 50%", "unsupported > 1")
    counts = {f.quantity: (f.rows, f.n, f.left_out) for f in found.figures}
    assert counts["contradicted"] == (1, 2, 2)  # not of those with perspectives
    assert counts["unsupported"] == (1, 3, 1)
    assert counts["incomplete"] == (0, 2, 2)
    assert found.state == "passed"
    assert "worse" not in counts


def test_faults_that_are_new_stand_first() -> None:
    found = report([faulty("a", "contradicted", "unsupported")], [faulty("a", "contradicted")], "unsupported > 0")
    assert [f.kind for f in found.rows[0].faults] == ["unsupported", "contradicted"]
    assert found.rows[0].new == 1


def test_a_mean_has_an_interval_and_the_same_rows_give_the_same_report() -> None:
    rows = [row(str(n), n / 40) for n in range(40)]
    found = report(rows, rows, "alignment.coverage > 0.4")
    mean = figure(found, "alignment.coverage")
    assert mean.value == pytest.approx(0.4875)
    assert mean.low is not None and mean.high is not None and mean.low < 0.4875 < mean.high
    assert found.state == "holds"
    assert report(rows, rows, "alignment.coverage > 0.4") == found
