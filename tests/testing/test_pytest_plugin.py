"""The pytest plugin in a project of its own: an empty folder, other processes, async tests, bad settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
from eirene.testing import assert_refined, assert_supported

PASSAGES = ["The zoo of Basel was opened in March 1874. It keeps 7,000 animals."]
ANSWER = "The zoo of Basel opened in 1874."

def test_supported():
    assert_supported(ANSWER, PASSAGES)

def test_not_supported():
    assert_supported(f"{ANSWER} It was opened in 1899.", PASSAGES)

async def test_refined(eirene_loop):
    assert eirene_loop.settings.samples == 4 and eirene_loop.settings.max_rounds == 1
    assert_refined(question="When did the zoo of Basel open?", answer=ANSWER, context=PASSAGES, loop=eirene_loop)
"""


PLUGINS = (
    *(f"-p{name}" for name in ("eirene.testing.pytest_plugin", "xdist.plugin", "pytest_asyncio.plugin")),
    *("-o", "asyncio_mode=auto"),
)
"""Pytest's own flags: the plugin by name, as an installed one may be older than this tree."""


def in_project(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in another process, in a folder where pytest loads no plugin that is not named."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("processes", ["2", pytest.param("0", marks=pytest.mark.slow)])
def test_a_project_of_one_file_passes_and_fails_with_sentence_and_evidence(tmp_path: Path, processes: str) -> None:
    (tmp_path / "test_answers.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\neirene_settings =\n    samples = 4\n    max-rounds = 3\n")
    flags = ("-n", processes, "--eirene-setting", "max_rounds=1")
    result = in_project(tmp_path, "-m", "pytest", *PLUGINS, *flags)
    assert "1 failed, 2 passed" in result.stdout, result.stdout + result.stderr
    assert (
        "2. contradicted: It was opened in 1899.\nE            evidence: The zoo of Basel was opened" in result.stdout
    )
    assert "assertions.py" not in result.stdout  # the frames that a reader sees are their own


def test_a_setting_that_cannot_be_used_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Each of three runs of one process fails."""
    (tmp_path / "test_loop.py").write_text("def test_it(eirene_loop):\n    pass\n", encoding="utf-8")
    runs = """
import sys, pytest
for told in ("samples", "samples=two", "no_such=1"):
    assert pytest.main([*sys.argv[1:], "--eirene-setting", told]) == 1
"""
    result = in_project(tmp_path, "-c", runs, *PLUGINS)
    assert result.returncode == 0, result.stdout + result.stderr
    for said in ("a setting must be KEY=VALUE", "'samples' must be a valid integer", "unknown setting 'no_such'"):
        assert f"UsageError: eirene: {said}" in result.stdout


def test_a_project_that_does_not_use_it_loads_nothing_heavy() -> None:
    heavy = "numpy pydantic langgraph langchain_core onnxruntime typer rich"
    code = f"import sys, eirene.testing.pytest_plugin; print(*set('{heavy}'.split()) & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert found.stdout.strip() == ""
