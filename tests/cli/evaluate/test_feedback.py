"""`eirene evaluate feedback`: which rows of HaluQuestQA's published file are measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.data.haluquestqa import PUBLISHED_ROWS
from tests.cli.run import Run, assert_error, write

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
