"""The benchmark beside other frameworks: real clients do the job, and the gate keeps bad rows out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT


@pytest.mark.slow
def test_contenders_make_their_rows_and_stand_in_the_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    command = [sys.executable, str(ROOT / "benchmarks" / "peers" / "run.py"), "--rows", "5", "--latency", "0.01"]
    command += ["--concurrency", "2", "--only", "langchain", "--only", "Eirene", "--markdown", str(page)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["runs"]
    by_name = {name: runs[0] for name, runs in found.items()}
    assert {name: run["became"] for name, run in by_name.items()} == {
        "Eirene": {"accepted": 4, "kept": 1},
        "Eirene, no detectors, no checks": {"accepted": 5},
        "Eirene, mode improve": {"accepted": 4, "kept": 1},
        "LangChain by hand": {"changed": 5},
    }
    assert [run["requests_a_row"] for run in by_name.values()] == [2, 2, 1, 2]
    assert all(run["cpu_ms_a_row"] > 0 and run["resident_mib"] > 0 for run in by_name.values())
    assert all(f"| {name} |" in page.read_text("utf-8") for name in by_name)
