"""`--detectors` of `refine` and `compare`: the named ones score and decide."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.run import EXAMPLES, Run, assert_error


def test_refine_and_compare_gate_by_the_named_ones(run: Run, tmp_path: Path) -> None:
    refined = run("refine", EXAMPLES / "dropped-argument.json", "--detectors", "alignment", "--json", "--samples", "4")
    assert refined.code == 0, refined.err
    assert list(refined.record["scores"]["final"]) == ["alignment"]
    assert "|detectors:alignment|" in refined.record["signature"]
    out = ("--out", tmp_path, "--modes", "improve", "--limit", "2", "--samples", "4")
    assert run("compare", EXAMPLES / "npov.jsonl", "--detectors", "alignment", *out).code == 0
    rows = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert all("|detectors:alignment|" in row["record"]["signature"] for row in rows)


def test_a_detector_without_its_model_is_one_clear_line(run: Run, tmp_path: Path) -> None:
    said = "the detector 'salience' needs a local model: name one with --local-model"
    assert_error(run("refine", EXAMPLES / "dropped-argument.json", "--detectors", "salience"), said)
    assert_error(run("compare", EXAMPLES / "npov.jsonl", "--out", tmp_path / "o", "--detectors", "salience"), said)
