"""`eirene.batch`, `compare`, `score` and `check`: many rows from Python, as the commands take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eirene
from eirene.agent.many import Comparison
from eirene.core.errors import InputError
from tests.rows import each

ROWS: list[dict[str, Any]] = [
    {"id": "year", "question": "When?", "answer": "It was opened in 1899.", "context": "It was opened in March 1890."},
    {"id": "none", "question": "Why?", "answer": "Because."},
]


def test_a_batch_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    """Rows as mappings, as items and in a file are one and the same; a row that is there is not made again."""
    out, made = tmp_path / "refined.jsonl", list[str]()
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    for data in (ROWS[0], [eirene.Item(**row) for row in ROWS], ROWS, str(file)):
        status = eirene.batch(data, out=out, samples=4, on_row=lambda record: made.append(record.id))
    assert (made, status.totals.rows) == (["year", "none"], 2)
    assert {name: n for name, n in status.totals.statuses.items() if n} == {"accepted": 1, "not_checked": 1}
    assert str(status).startswith("rows") and "no run holds this journal" in repr(status)
    assert repr(status.totals) == "Totals(rows=2, accepted=1, not_checked=1)"
    with pytest.raises(eirene.InputError, match=r"samples: 4 there, 5 now; .* replace_changed=True in Python"):
        eirene.batch(ROWS, out=out, samples=5)
    assert eirene.batch(ROWS, out=out, samples=5, replace_changed=True).totals.rows == 2
    with out.open("ab") as journal:
        journal.write(b'{"id": "year", "cut')
    assert eirene.batch(ROWS, out=out, samples=5).totals.rows == len(out.read_bytes().splitlines())


def test_modes_are_compared_and_answers_scored(tmp_path: Path) -> None:
    figures = eirene.compare(ROWS, out=tmp_path / "compared", modes=["generic", "fine-grained"], samples=4)
    assert (figures["rows"], list(figures["per_mode"])) == (4, ["generic", "fine-grained"])
    with_passages, alone = eirene.score(ROWS, detectors=["rouge", "alignment"])
    assert isinstance(with_passages["alignment"].hallucination, float)
    assert isinstance(alone["alignment"].hallucination, eirene.Unscored)
    assert str(figures).startswith("No difference in hallucination") and "Mean errors" in str(figures)
    assert str(eirene.score(ROWS, detectors="alignment")).splitlines()[1:3] == [
        "row 1", f"alignment: hallucination {with_passages['alignment'].hallucination:.3f}, coverage 0.000",
    ]  # fmt: skip
    (usual,) = eirene.score(ROWS[0])
    assert list(usual) == ["rouge", "verifier"] and eirene.score(eirene.Item(**ROWS[0])) == [usual]


def test_answers_are_checked_against_a_baseline(tmp_path: Path) -> None:
    """It is written where no condition holds; what got worse since is reported, and changes nothing on disk."""
    good, kept = [{**ROWS[0], "answer": "It was opened in March 1890."}], str(tmp_path / "baseline.jsonl")
    assert eirene.check(ROWS[0], fail_if="contradicted > 0", write_baseline=kept).state == "holds"
    assert not Path(kept).exists()
    passed = eirene.check(good, fail_if=["contradicted > 0"], write_baseline=kept)
    assert (passed.state, passed.notes) == ("passed", (f"wrote a baseline of 1 answers to {kept}",))
    assert str(passed).endswith("passed: 1 answer; 1 condition") and "unsupported" in repr(passed)
    assert str(eirene.verify(**{key: ROWS[0][key] for key in ("answer", "context")})).startswith("Outcome\n  0 of 1")
    report = eirene.check(ROWS[0], baseline=kept, fail_if="worse > 2%")
    assert (report.state, [row.counted for row in report.rows]) == ("holds", [("worse", "contradicted")])
    assert eirene.check(ROWS[1], fail_if="contradicted > 0").state == "unmeasured"
    with pytest.raises(eirene.InputError, match=r"exists"):
        eirene.check(good, write_baseline=kept)


@each(
    "data, message",
    [
        ("none.jsonl", "none.jsonl: no such file"),
        ([{"question": "Why?"}], "data, row 1: 'answer' is missing"),
        ([ROWS[0], 5], "data, row 2: a row must be a JSON object"),
        (["id"], "data, row 1: a row must be a JSON object"),
        ({"question": "Why?"}, "data, row 1: 'answer' is missing"),
        (5, "data must be the name of a file or rows, got the number 5"),
    ],
)
def test_data_that_is_none_is_refused_in_one_line(data: Any, message: str) -> None:
    with pytest.raises(eirene.InputError, match=message):
        eirene.score(data)


def test_rows_of_one_id_and_results_that_are_not_whole_are_told_as_they_are() -> None:
    with pytest.raises(InputError, match="the id 'year' is taken by"):
        eirene.check([ROWS[0], {**ROWS[0], "answer": "It was opened in 1890."}])
    assert repr(Comparison({})) == "{}"
