"""`eirene evaluate feedback`: which rows of HaluQuestQA's published file are measured."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from eirene.data.haluquestqa import PUBLISHED_ROWS
from tests.cli.run import EXAMPLES, Run, assert_error, write

ROWS = [
    {
        "id": str(n),
        "question": "Is homework useful?",
        "answer": "It helps some pupils. It depends on the teacher.",
        "sentences": [
            {"text": "It helps some pupils.", "tag": "Complete"},
            {"text": "It depends on the teacher.", "tag": "Incomplete", "reason": "Names no condition."},
        ],
    }
    for n in range(PUBLISHED_ROWS)
]


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_sample_is_taken_of_the_split(run: Run, tmp_path: Path, split: str) -> None:
    data, out = write(tmp_path / "data.jsonl", *ROWS), tmp_path / "rows.jsonl"
    small = ("--samples", "3", "--sample", "2", "--draws", "20", "--json")
    result = run("evaluate", "feedback", data, "--split", split, *small, "--out", str(out))
    assert result.code == 0, result
    assert json.loads(result.out)["counts"]["answers"] == len(out.read_text("utf-8").splitlines()) == 2


def test_a_split_of_another_file_is_refused(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "data.jsonl", *ROWS[:3])
    assert_error(run("evaluate", "feedback", data, "--split", "test"), "one of 509 rows, the file has 3")


def test_seeds_share_a_file_of_rows_and_have_their_mean_and_spread(run: Run, tmp_path: Path) -> None:
    out = str(tmp_path / "rows.jsonl")
    small = (
        "evaluate",
        "feedback",
        EXAMPLES / "marked.jsonl",
        "--samples",
        "3",
        "--draws",
        "20",
        "--out",
        out,
        "--json",
    )
    first = json.loads(run(*small, "--seeds", "0").out)
    n = first["counts"]["answers"]
    result = run(*small, "--seeds", "0,1,2")
    assert f"{n} of {3 * n} rows were in" in result.err
    report = json.loads(result.out)
    assert first == {"signature": first["signature"], **report["by_seed"][0]}
    assert "|seed:0,1,2|" in report["signature"] and report["counts"]["answers"] == 3 * n
    found, own = (
        report["answers"]["any_fault"]["auc"],
        [part["answers"]["any_fault"]["auc"] for part in report["by_seed"]],
    )
    assert found["value"] == fmean(found["values"]) and found["values"] == [part["value"] for part in own]
    assert "±" in run(*small[:-1], "--seeds", "0,1,2").out
    assert_error(run(*small, "--seeds", "a"), "such as 0,1,2, got 'a'")
